"""``OneClassMF.fit(…, client=…)``: the same model, trained on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from everypair.data.pairs import Pairs
from everypair.data.weighting import DegreeWeighting, degree_exponent
from everypair.distribute.answering.sharded_model import ShardedModel
from everypair.distribute.cluster import GATHERED_BYTES, Cluster
from everypair.distribute.feature_rows import rows_here
from everypair.distribute.reading.degree_weights import degree_weighted
from everypair.distribute.sharded_pairs import ShardedPairs
from everypair.distribute.solving.set_up import ShardTerms
from everypair.distribute.solving.train import train_on_cluster
from everypair.distribute.tasks import Tasks
from everypair.models.recommend.defaults import auto_negative_weight, auto_reg, rank_for
from everypair.models.recommend.factorization import check_rank
from everypair.models.recommend.state import OneClassState
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.objective import BothSides
from everypair.problem.ridge import Ridge
from everypair.solvers.half_step import RowSteps
from everypair.solvers.loop import StopRules

METHODS = ("auto", "newton")


def fit_on_cluster(
    model: Any,
    source: Any,
    client: Any,
    rank: int | None,
    loss: Loss,
    value: Any,
    rules: StopRules,
    random: np.random.Generator,
    dtype: Any,
    *,
    targets: Any,
    validation: Any,
    callbacks: Any,
    featured: tuple[bool, bool],
    inform: Callable[[tuple[int, int], Any], tuple[BothSides, Any]],
) -> tuple[ShardedModel, bool]:
    """Train on a cluster; return the model there, and whether it should be brought here.

    ``featured``: which sides have features. ``inform`` tells what is known of both sides, and the maps of later
    features, for data of a shape and (of files, the sides with features) ids.
    """
    cluster = Cluster.of(client)
    if model.n_threads is not None:
        raise ValueError(
            "on a cluster every worker uses the threads it was started with (dask worker --nthreads): leave n_threads "
            "out."
        )
    if model.solver not in METHODS:
        raise ValueError(f'on a cluster solver must be "auto" or "newton", got {model.solver!r}.')
    tasks = cluster.tasks()
    known: dict[str, Any] = {"interactions": None, "targets": None, "weighting": None}  # of pairs that are here

    def weigh(pairs: Pairs) -> Pairs:
        weighting = DegreeWeighting.of(model.weighting, pairs)
        known.update(interactions=pairs.to_csr(), targets=pairs.targets, weighting=weighting)
        return pairs if weighting is None else weighting.weighted(pairs)

    exponent = degree_exponent(model.weighting)
    if validation is None and rules.patience is not None:
        raise ValueError("patience needs validation data: fit(interactions, validation=held_out).")
    pairs = cluster.pairs(tasks, source, targets, dtype, weigh)
    layout = Layout(rank_for(pairs.n_active, pairs.shape) if rank is None else rank, model.biases)
    check_rank(layout.rank, pairs.shape)
    weight = auto_negative_weight(model.negative_weight, pairs, loss)
    negatives = Negatives.from_scheme(pairs, weight, model.negative_scheme, value)
    ridge = Ridge.checked(auto_reg(model.reg, pairs, loss), model.reg_exponent)
    informed, maps = inform(pairs.shape, None if pairs.ids is None else _ids_of(tasks, pairs, featured))
    terms = ShardTerms(loss, negatives, ridge, layout, dtype, rows_here(informed))
    validator = None
    if validation is not None:
        validation = ShardedModel(tasks, pairs, [], [], ()).held_out(validation, "validation")

        def validator(sides: Any) -> Any:
            return lambda state: ShardedModel(tasks, pairs, state.left, state.right, sides).ranked(validation, (10,))

    trained = pairs
    if exponent is not None and known["weighting"] is None:  # pairs that are here are weighted before they are cut
        trained, known["weighting"] = degree_weighted(tasks, pairs, exponent)
    outcome, sides = train_on_cluster(
        tasks, trained, terms, RowSteps(cg=model.cg_steps), rules, random, accelerate=model.solver == "auto",
        validator=validator, callbacks=callbacks, verbose=model.verbose,
        identity=(model, informed, known["interactions"], known["targets"], validation),
    )  # fmt: skip
    fields = {
        "rank": layout.rank, "layout": layout, "history": outcome.history, "objective": outcome.state.objective,
        "status": outcome.status, "loss": loss, "negatives": negatives, "negative_loss": "squared",
        "feature_maps": maps, "feature_reg": tuple(side.features and side.features.ridge for side in sides),
        "own_vectors": tuple(side.features is None or side.features.own for side in sides), "graphs": (False, False),
        "ridge": ridge, "negative_weight": weight,
        **known,
    }  # fmt: skip
    size = sum(pairs.shape) * layout.columns * np.dtype(dtype).itemsize + pairs.nnz * 8
    here = size <= GATHERED_BYTES if cluster.gather == "auto" else bool(cluster.gather)
    weights = outcome.state.left_parameters, outcome.state.right_parameters
    return ShardedModel(tasks, pairs, outcome.state.left, outcome.state.right, sides, fields, weights), here


def _ids_of(tasks: Tasks, pairs: ShardedPairs, wanted: tuple[bool, bool]) -> tuple[Any, Any]:
    """The ids of the sides that are asked for, here."""
    there = ShardedModel(tasks, pairs, [], [], ())
    return there.user_ids if wanted[LEFT] else None, there.item_ids if wanted[RIGHT] else None


def gathered_state(sharded: ShardedModel) -> OneClassState:
    """The state of the model with everything brought here."""
    left, right = sharded.gather()
    learnt = dict(sharded.learnt)
    if learnt["interactions"] is None:
        learnt["interactions"] = sharded.interactions()
    return OneClassState(
        left_factors=left,
        right_factors=right,
        feature_weights=sharded.feature_weights(),
        user_ids=sharded.user_ids,
        item_ids=sharded.item_ids,
        **learnt,
    )
