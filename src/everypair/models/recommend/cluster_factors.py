"""What a factorization has learnt while its factors are on a cluster: a fitted value of known users, in positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from numpy.typing import NDArray

from everypair.data.ids import Ids, named_filter
from everypair.distribute.answering.sharded_factors import ShardedFactors, ShardedScores, gathered_interactions
from everypair.distribute.solving.sides import Sides
from everypair.metrics.means import Metrics
from everypair.metrics.stream import KS
from everypair.models.recommend.factorization import OneClassState
from everypair.models.recommend.fitted import Answer
from everypair.problem.layout import LEFT, RIGHT
from everypair.types import Array


@dataclass(frozen=True)
class ClusterFactors:
    """Factors in shards on the workers, and what training decided besides, which is small and here.

    ``weights`` are futures of W of the sides with features. ``learnt`` are fields of the
    :class:`~everypair.models.recommend.factorization.OneClassState` that :meth:`gathered` makes, and attributes here;
    whatever else that value would do is refused with a sentence.
    """

    factors: ShardedFactors
    sides: Sides = field(repr=False)
    weights: tuple[Any, Any] = field(repr=False)
    learnt: Mapping[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        users, items = self.shape
        size = f"{users:,} users × {items:,} items in {len(self.factors.left)} and {len(self.factors.right)} shards"
        return f"ClusterFactors({size} on the cluster: gather() brings the model here)"

    def __getattr__(self, name: str) -> Any:
        value = vars(self).get("learnt", {}).get(name)
        if value is None and name not in OPTIONAL:
            raise AttributeError(f"{name} is on the cluster: gather() brings the model here.")
        return value

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        return self.factors.pairs.shape

    @property
    def user_ids(self) -> Ids | None:
        """Names of the users, which come here; ``None`` of a model fitted on a matrix."""
        return self.factors.pairs.user_ids

    @property
    def item_ids(self) -> Ids | None:
        """Names of the items."""
        return self.factors.pairs.item_ids

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""
        return len(self.learnt["history"])

    @property
    def reg(self) -> tuple[float, float]:
        """The ridges of users and items."""
        reg: tuple[float, float] = self.learnt["ridge"].reg
        return reg

    @property
    def biases(self) -> bool:
        """Whether the factors have bias columns."""
        return bool(self.learnt["layout"].biases)

    @property
    def user_feature_weights(self) -> Array | None:
        """W of the users' features, which comes here."""
        return self._weights(LEFT)

    @property
    def item_feature_weights(self) -> Array | None:
        """W of the items' features."""
        return self._weights(RIGHT)

    def known(self, users: NDArray[Any] | None) -> Answer:
        """Scores of users by position, ranked where the users are."""
        if users is None:
            raise ValueError(
                "the factors are on the cluster: name users, write the lists of everybody there with "
                "state_.recommend_all(folder), or bring the model here with gather()."
            )
        scores: Any = ShardedScores(self.factors, users)  # which ranks and lists them like Scores
        pairs: Any = self.factors.pairs  # which it takes in the place of rows
        return Answer(scores, pairs)

    def recommend_all(
        self, folder: Any, n: int = 10, *, exclude_seen: bool = True, allow: Any = None, block: Any = None
    ) -> list[str]:
        """Write the n best items of every user to a folder of Parquet files, a file per shard; return their paths.

        Columns are user, item, score and rank. The folder is any that the workers see (an fsspec path); its files are
        written under another name and renamed when they are whole.
        """
        if self.item_ids is not None and not (allow is None and block is None):
            allow, block = (named_filter(items, self.item_ids, "item") for items in (allow, block))
        return self.factors.write_lists(folder, n, exclude_seen, allow, block)

    def metrics(self, test: Any, ks: Sequence[int] = KS, average: str = "test") -> Metrics:
        """Ranking metrics of held-out positives, ranked shard by shard.

        They are events with ids where the model was fitted on files, else a matrix of the same shape.
        """
        return self.factors.ranked(self.factors.pairs.held_out(test, "test"), ks, average)

    def gathered(self) -> OneClassState:
        """The fitted value with everything brought here."""
        left, right = self.factors.gathered()
        fields = dict(self.learnt)
        if fields["interactions"] is None:
            fields["interactions"] = gathered_interactions(self.factors.pairs)
        return OneClassState(
            user_factors=left, item_factors=right, feature_weights=(self._weights(LEFT), self._weights(RIGHT)),
            user_ids=self.user_ids, item_ids=self.item_ids, **fields,
        )  # fmt: skip

    def without_ids(self) -> NoReturn:
        """Evaluation and the command line work in positions, on factors that are here."""
        raise ValueError(
            "the model is on the cluster: model.state_.metrics(test) ranks there, gather() brings it here."
        )

    def _weights(self, side: int) -> Array | None:
        future = self.weights[side]
        return None if future is None else self.factors.pairs.tasks.wait([future])[0]


OPTIONAL = ("targets", "weighting", "log", "item_table", "record")  # which may be None
