"""What two towers have learnt: their parameters, and the factors that these give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from everypair.models.codec import storable
from everypair.models.recommend.factorization import FactorizationState, check_description
from everypair.models.recommend.fitted import Answer, Newcomers
from everypair.models.recommend.growth import grown_fields, known_with, refreshed_users
from everypair.neural.fold_in import folded_rows
from everypair.neural.functions import REGISTERED, PureTower
from everypair.neural.inputs import Inputs
from everypair.neural.layers import Layers
from everypair.neural.sides import SidePlan
from everypair.neural.towers import Perceptron
from everypair.problem.layout import LEFT, RIGHT
from everypair.solvers.fold_in import solve_to_optimum
from everypair.types import Array


@storable
@dataclass(frozen=True, kw_only=True)
class TwoTowerState(FactorizationState):
    """Parameters of both towers, the fields of :class:`Layers`, and the names of towers brought along.

    ``id_reg`` are the ridges of rows of ids that networks read; with ``linear_path`` rows of ids are factors.
    ``functions`` are those towers themselves where they have no name: such a value cannot be written down.
    """

    negative_weight: float
    theta: tuple[Any, Any]
    layers: tuple[Any, ...]
    towers: tuple[str | None, str | None]
    functions: Any = None
    id_reg: tuple[float, float] = (0.0, 0.0)
    linear_path: bool = False

    def new_factors(self, side: int, rows: Any, new: Newcomers, targets: Any, n_threads: int) -> Array:
        """Features go through the tower; events find the row of ids that training would have given."""
        if self.linear_path:
            return super().new_factors(side, rows, new, targets, n_threads)
        check_description(rows, new)
        plan, theta = self._plan(side, n_threads), self.theta[side]
        if new.features is not None:
            self.map_of(side)
        if rows is None:
            count = self.map_of(side)(new.features, None, plan.dtype).shape[0]
            return plan.tower(count, new.features, with_ids=False).at(theta).factors
        problem = self.row_problem(side, rows, self.aligned_targets(rows, targets), new.weights, new.values)
        other = self.item_factors if side == LEFT else self.user_factors
        if plan.function is not None:
            if new.features is not None:
                raise ValueError("with towers of your own describe new entities by interactions or by features.")
            return solve_to_optimum(problem, other, n_threads)
        centers = new.centers
        if centers is None:
            centers = plan.centers(theta, rows.shape[0], new.features)
        tower = Perceptron(Inputs(len(centers)), plan.layers, plan.dtype)
        return folded_rows(tower, theta, centers, problem, other, self.id_reg[side], n_threads)

    def grown(self, side: int, newcomers: Newcomers, n_threads: int) -> TwoTowerState:
        """The same with new users or items, whose embeddings are folded in."""
        fold = self.folded_users if side == LEFT else self.folded_items
        grown: TwoTowerState = grown_fields(self, side, fold(newcomers, n_threads), newcomers, n_threads)
        return grown

    def with_events(self, users: NDArray[Any], rows: Any, n_threads: int) -> Answer:
        """Scores of known users if they had these events."""
        return self.described(known_with(self, users, rows), n_threads)

    def refreshed(self, interactions: Any, users: NDArray[Any], n_threads: int) -> TwoTowerState:
        """The same with further events of users, whose rows of ids are found anew."""
        refreshed: TwoTowerState = refreshed_users(self, interactions, users, n_threads)
        return refreshed

    def centers_of(self, features: Any, count: int | None, n_threads: int) -> Array:
        """What features say of users: the first product of their tower, or their factors."""
        return self.from_features(LEFT, features, count, n_threads)

    def from_features(self, side: int, features: Any, count: int | None, n_threads: int) -> Array:
        """What features alone say of new entities."""
        count = self.map_of(side)(features, count, self.item_factors.dtype).shape[0]
        return self._plan(side, n_threads).centers(self.theta[side], count, features)

    @property
    def pure_towers(self) -> tuple[PureTower | None, PureTower | None]:
        """The towers brought along, by name or themselves."""
        named, own = checked_towers(self.towers), checked_towers(self.functions)
        return named[LEFT] or own[LEFT], named[RIGHT] or own[RIGHT]

    def _plan(self, side: int, n_threads: int) -> SidePlan:
        return SidePlan(
            side, Layers(*self.layers), self.pure_towers[side], self.own_vectors[side], self.feature_maps[side],
            self.item_factors.dtype, n_threads, self.linear_path,
        )  # fmt: skip


def checked_towers(towers: Any) -> tuple[PureTower | None, PureTower | None]:
    """The towers of users and items brought along, by themselves or by name; ``None`` is the built-in one."""
    both = (towers, towers) if towers is None or isinstance(towers, str | PureTower) else towers
    if not isinstance(both, tuple | list) or len(both) != 2:
        raise ValueError(
            f"towers must be a PureTower, a registered name, a (users, items) pair or None, got {towers!r}."
        )
    found: list[PureTower | None] = []
    for one in both:
        if isinstance(one, str):
            if one not in REGISTERED:
                known = ", ".join(map(repr, REGISTERED)) or "none yet"
                raise ValueError(f"no tower is registered as {one!r} (registered: {known}); see register_tower.")
            one = REGISTERED[one]
        elif one is not None and not isinstance(one, PureTower):
            raise ValueError(f"a tower must be a PureTower, a registered name or None, got {one!r}.")
        found.append(one)
    return found[LEFT], found[RIGHT]


def tower_names(towers: Any) -> tuple[str | None, str | None]:
    """The names of registered towers."""
    both = (towers, towers) if towers is None or isinstance(towers, str | PureTower) else towers
    left, right = (one if isinstance(one, str) else None for one in both)
    return left, right
