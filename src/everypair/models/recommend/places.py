"""Where a plan is trained: on this machine's threads, or on a cluster (:mod:`everypair.models.recommend.clustered`).

A place reads what ``fit`` was given, counts it, and trains the plan that follows from the counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol

from everypair.data.matching import IdPair, find_alike
from everypair.data.pairs import Counted, Pairs
from everypair.data.weighting import DegreeWeighting
from everypair.models.recommend.cold import learnt_newcomers
from everypair.models.recommend.factorization import OneClassState
from everypair.models.recommend.plan import Plan
from everypair.models.recommend.recommender import known_ids
from everypair.models.recommend.side import SideData, read_sides
from everypair.models.recommend.training_data import TrainingData, training_data
from everypair.parallel import resolve_threads
from everypair.problem.layout import Layout
from everypair.problem.objective import Objective
from everypair.solvers.choose import solver_maker
from everypair.solvers.loop import Callback, Outcome
from everypair.solvers.state import Factors
from everypair.training.start import warm_start
from everypair.training.train import check_keeper, train
from everypair.training.validation import make_validator
from everypair.training.warm_up import sweep_on_two_pairs


@dataclass(frozen=True)
class FitArguments:
    """What ``fit`` was given: pairs stand for (users, items)."""

    interactions: Any
    features: tuple[Any, Any] = (None, None)
    graphs: tuple[Any, Any] = (None, None)
    targets: Any = None
    validation: Any = None
    start: Any = None
    callbacks: Iterable[Callback] = ()

    @property
    def structured(self) -> bool:
        """Whether a side has features or a graph."""
        return any(part is not None for part in (*self.features, *self.graphs))


class Place(Protocol):
    """Where pairs are kept and factors learnt."""

    def read(self, arguments: FitArguments, values: SimpleNamespace) -> Any:
        """Bring the pairs to where they are trained on; what comes back has their ``counts``."""
        ...

    def train(self, plan: Plan, data: Any, arguments: FitArguments, model: Any) -> Any:
        """Return the fitted value of a plan."""
        ...


@dataclass(frozen=True)
class DataHere:
    """Pairs in memory, as they were stored and as they are weighted, and what is known of both sides."""

    source: TrainingData
    stored: Pairs
    weighting: DegreeWeighting | None
    pairs: Pairs
    sides: tuple[SideData, SideData]

    @property
    def counts(self) -> Counted:
        """What rules need to know of the pairs."""
        return self.stored


class Here:
    """The threads of this machine."""

    def __init__(self, n_threads: int | None) -> None:
        self.n_threads = resolve_threads(n_threads)

    def read(self, arguments: FitArguments, values: SimpleNamespace) -> DataHere:
        """Read events or a matrix, and check what is said of both sides."""
        check_keeper(tuple(arguments.callbacks), sharded=False)
        source = training_data(
            arguments.interactions,
            features=arguments.features,
            graphs=arguments.graphs,
            validation=arguments.validation,
        )
        stored = Pairs.from_matrix(source.matrix, arguments.targets, values.dtype, n_threads=self.n_threads)
        weighting = DegreeWeighting.of(values.weighting, stored)
        pairs = stored if weighting is None else weighting.weighted(stored)
        sides = read_sides((values.users, values.items), pairs.shape, source.features, arguments.graphs, values.dtype)
        return DataHere(source, stored, weighting, pairs, sides)

    def train(self, plan: Plan, data: DataHere, arguments: FitArguments, model: Any) -> OneClassState:
        """Minimise the plan's objective over these pairs."""
        interactions = data.stored.to_csr()
        validation = data.source.validation
        validate = make_validator(
            None if validation is None else interactions, validation, plan.rules.patience, self.n_threads
        )
        information = (data.sides[0].information, data.sides[1].information)
        objective = Objective(
            data.pairs, plan.loss, plan.negatives, plan.ridge, layout=plan.layout, dtype=plan.dtype,
            n_threads=self.n_threads, side_information=information, negative_loss=plan.negative_loss,
        )  # fmt: skip
        places = places_in(arguments.start, data.source.ids)
        begin = warm_start(objective, plan.layout, plan.random, arguments.start, places)
        make_solver = solver_maker(plan.solver, plan.layout.columns, int(plan.random.integers(2**31)))
        outcome = train(
            make_solver(objective), begin, plan.rules, validate=validate, callbacks=tuple(arguments.callbacks),
            verbose=model.verbose, warm_up=sweep_on_two_pairs(make_solver, objective, plan.layout.columns),
            identity=(model, data.pairs, information, validation, None if arguments.start is None else begin),
        )  # fmt: skip
        state = OneClassState(
            interactions=interactions, targets=data.stored.targets, ridge=plan.ridge,
            negative_weight=plan.negative_weight, weighting=data.weighting,
            **learnt_fields(objective, outcome, plan.layout, data.sides),
        )  # fmt: skip
        return data.source.named(learnt_newcomers(state, data.sides, self.n_threads))


def places_in(start: Any, ids: IdPair | None) -> Any:
    """Which of the items of a fitted model each item is, by id; None where one of them has no ids."""
    have = known_ids(start)
    if have is None or ids is None:
        return None
    places = find_alike(have.items, ids.items)
    if (places < 0).all():
        raise ValueError(
            f"start knows none of the {len(places)} items, such as {ids.items[0]!r}: it is another model's."
        )
    return places


def learnt_fields(
    objective: Objective, outcome: Outcome[Factors], layout: Layout, sides: tuple[SideData, SideData]
) -> dict[str, Any]:
    """Return the fields of a factorization that was trained here."""
    state, embeddings = outcome.state, objective.embeddings
    return {
        **trained_fields(outcome, layout, sides),
        "user_factors": state.left,
        "item_factors": state.right,
        "loss": objective.loss,
        "negatives": objective.negatives,
        "negative_loss": objective.negative_loss,
        "feature_weights": tuple(
            None if embedding.features is None else embedding.feature_part(state.parameters(side)).copy()
            for side, embedding in enumerate(embeddings)
        ),
        "feature_reg": tuple(embedding.feature_reg for embedding in embeddings),
        "own_vectors": tuple(embedding.own for embedding in embeddings),
        "graphs": tuple(embedding.graph is not None for embedding in embeddings),
    }


def trained_fields(outcome: Outcome[Factors], layout: Layout, sides: tuple[SideData, SideData]) -> dict[str, Any]:
    """Return the fields of a factorization that are the same wherever it was trained."""
    return {
        "rank": layout.rank,
        "layout": layout,
        "history": outcome.history,
        "objective": outcome.state.objective,
        "status": outcome.status,
        "feature_maps": tuple(side.feature_map for side in sides),
    }
