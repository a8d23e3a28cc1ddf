"""A place to train that is a Dask cluster: the same plan, its pairs in shards, the factors on the workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from everypair.data.weighting import DegreeWeighting, degree_exponent
from everypair.distribute.answering.sharded_factors import ShardedFactors
from everypair.distribute.cluster import GATHERED_BYTES, Cluster
from everypair.distribute.feature_rows import rows_here
from everypair.distribute.reading.degree_weights import degree_weighted
from everypair.distribute.sharded_pairs import ShardedPairs
from everypair.distribute.solving.set_up import ShardTerms
from everypair.distribute.solving.train import train_on_cluster
from everypair.models.recommend.cluster_factors import ClusterFactors
from everypair.models.recommend.cold import learnt_newcomers
from everypair.models.recommend.factorization import OneClassState
from everypair.models.recommend.places import FitArguments, trained_fields
from everypair.models.recommend.plan import Plan
from everypair.models.recommend.side import SideData, read_sides
from everypair.models.recommend.training_data import aligned_features
from everypair.parallel import resolve_threads
from everypair.problem.layout import LEFT, RIGHT
from everypair.solvers.choose import Newton
from everypair.solvers.half_step import RowSteps
from everypair.solvers.state import Factors
from everypair.training.train import check_keeper


@dataclass(frozen=True)
class DataThere:
    """Pairs on the workers, as they were stored and as they are weighted, and what is known of both sides here.

    ``here`` are fields of the fitted value that this process has: interactions, targets and weighting of pairs that it
    was given.
    """

    stored: ShardedPairs
    pairs: ShardedPairs
    sides: tuple[SideData, SideData]
    validation: Any
    here: dict[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> ShardedPairs:
        """What rules need to know of the pairs."""
        return self.stored


class There:
    """The workers of a Dask cluster."""

    def __init__(self, client: Any, model: Any) -> None:
        self.cluster = Cluster.of(client)
        if model.n_threads is not None:
            raise ValueError(
                "on a cluster every worker uses the threads it was started with (dask worker --nthreads): leave "
                "n_threads out."
            )
        if Newton.of(model.solver) is None:
            raise ValueError(f'on a cluster solver must be "auto" or "newton", got {model.solver!r}.')
        self.tasks = self.cluster.tasks()

    def read(self, arguments: FitArguments, values: SimpleNamespace) -> DataThere:
        """Bring the pairs to the workers; features are matched to ids here."""
        check_keeper(tuple(arguments.callbacks), sharded=True)
        if any(part is not None for part in (*arguments.graphs, arguments.start)):
            raise ValueError("on a cluster there are no graphs or start=: fit on one machine.")
        for name, features in zip(("user_features", "item_features"), arguments.features):
            if hasattr(features, "to_delayed"):
                raise TypeError(f"{name} are matched to ids in this process: give {name}.compute().")
        if arguments.validation is None and values.patience is not None:
            raise ValueError("patience needs validation data: fit(interactions, validation=held_out).")
        stored, pairs, here = self._pairs(arguments, values)
        features = arguments.features
        if not all(side.joint for side, given in zip((values.users, values.items), features) if given is not None):
            raise ValueError("on a cluster features take part in training: leave joint of that Side at True.")
        if stored.id_runs is not None and any(one is not None for one in features):
            ids: Any = [None if part is None else stored.ids(side) for side, part in enumerate(features)]
            features = aligned_features(features, ids)
        sides = read_sides((values.users, values.items), stored.shape, features, (None, None), values.dtype)
        validation = arguments.validation
        if validation is not None:
            validation = stored.held_out(validation, "validation")
        return DataThere(stored, pairs, sides, validation, here)

    def _pairs(
        self, arguments: FitArguments, values: SimpleNamespace
    ) -> tuple[ShardedPairs, ShardedPairs, dict[str, Any]]:
        """Pairs as they were stored and as they are weighted, and what this process has of them."""
        source = self.cluster.read_here(arguments.interactions, arguments.targets, values.dtype)
        if source is None:
            exponent = degree_exponent(values.weighting)
            stored = self.cluster.read_there(self.tasks, arguments.interactions, values.dtype)
            pairs, weighting = (stored, None) if exponent is None else degree_weighted(stored, exponent)
            return stored, pairs, {"interactions": None, "targets": None, "weighting": weighting}
        weighting = DegreeWeighting.of(values.weighting, source.pairs)
        here = {"interactions": source.pairs.to_csr(), "targets": source.pairs.targets, "weighting": weighting}
        if weighting is not None:
            source = source._replace(pairs=weighting.weighted(source.pairs))
        stored = self.cluster.cut(self.tasks, source)
        return stored, stored, here

    def train(self, plan: Plan, data: DataThere, arguments: FitArguments, model: Any) -> OneClassState | ClusterFactors:
        """Minimise the plan's objective; small factors are brought here, others stay."""
        information = (data.sides[LEFT].information, data.sides[RIGHT].information)
        terms = ShardTerms(plan.loss, plan.negatives, plan.ridge, plan.layout, plan.dtype, rows_here(information))
        newton = Newton.of(plan.solver)
        assert newton is not None

        def validate(state: Factors) -> dict[str, float]:
            return ShardedFactors(data.stored, state.left, state.right).ranked(data.validation, (10,))

        outcome, sides = train_on_cluster(
            data.pairs, terms, RowSteps(cg=newton.cg_steps), plan.rules, plan.random,
            accelerate=newton.momentum, validate=None if data.validation is None else validate,
            callbacks=tuple(arguments.callbacks), verbose=model.verbose,
            identity=(model, information, data.here["interactions"], data.here["targets"], data.validation),
        )  # fmt: skip
        fields = {
            **trained_fields(outcome, plan.layout, data.sides), **data.here,
            "loss": plan.loss, "negatives": plan.negatives, "negative_loss": plan.negative_loss, "ridge": plan.ridge,
            "negative_weight": plan.negative_weight, "graphs": (False, False),
            "feature_reg": tuple(side.features and side.features.ridge for side in sides),
            "own_vectors": tuple(side.features is None or side.features.own for side in sides),
        }  # fmt: skip
        state = outcome.state
        weights = state.left_parameters, state.right_parameters
        there = ClusterFactors(ShardedFactors(data.stored, state.left, state.right), sides, weights, fields)
        size = sum(data.stored.shape) * plan.layout.columns * plan.dtype.itemsize + data.stored.nnz * 8
        gather = self.cluster.gather
        if not (size <= GATHERED_BYTES if gather == "auto" else gather):
            return there
        return learnt_newcomers(there.gathered(), data.sides, resolve_threads(model.n_threads))
