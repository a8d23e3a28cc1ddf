"""OneClassMF: matrix factorization over every pair, the observed ones and all the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import checked, estimator
from everypair.models.recommend.attributes import FactorizationAttributes
from everypair.models.recommend.factorization import OneClassState
from everypair.models.recommend.factorization_parameters import OneClassParameters
from everypair.models.recommend.places import FitArguments, Here, Place
from everypair.models.recommend.plan import Plan
from everypair.models.recommend.recommender import Recommender
from everypair.solvers.choose import check_solver
from everypair.solvers.loop import Callback, checked_callbacks


@estimator
class OneClassMF(OneClassParameters, FactorizationAttributes, Recommender):
    """Factorize a matrix of positives so that every pair counts: F = Σ_Ω c ℓ(y, s) + ½ Σ_{∉Ω} p_i q_j (ỹ − s)² + ridge.

    Attributes
    ----------
    user_factors_, item_factors_ : U (m × k) and V (n × k); with ``biases`` two more columns each, [W, b, 1] and
        [H, 1, b̄].
    history_ : one dict per sweep: ``"objective"``, cumulative ``"seconds"`` and validation metrics.
    objective_, status_ : the last objective and a sentence on why training stopped.
    user_ids_, item_ids_ : :class:`~everypair.data.Ids` of a model fitted on events, else ``None``.
    user_feature_weights_, item_feature_weights_ : W (d × k) of a side with features, else ``None``.
    negative_weight_, reg_, feature_reg_ : the mean negative weight and the (users, items) ridges that were used.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))  # two groups of users, two of items
    >>> blocks[0, 0] = 0                              # one event was not observed
    >>> model = OneClassMF(rank=2, random_state=0).fit(blocks)
    >>> items, scores = model.recommend([0], n=1)
    >>> int(items[0, 0])
    0
    """

    fitted_class: ClassVar[type] = OneClassState
    reads_features: ClassVar[tuple[bool, bool]] = (True, True)
    negative_weight_ = FittedAttribute()

    def fit(
        self,
        interactions: Any,
        *,
        user_features: Any = None,
        item_features: Any = None,
        user_graph: Any = None,
        item_graph: Any = None,
        targets: Any = None,
        validation: Any = None,
        callbacks: Iterable[Callback] = (),
        start: Any = None,
        client: Any = None,
    ) -> Self:
        """Learn both sides' factors from interactions: events with ids, or a matrix (users × items).

        Events are what :func:`everypair.read_events` returns, a file or a data frame that it reads without
        options, or a frame of numbers with a column per item; the model is then asked by id. Features in a data frame
        are matched to users and items by its index or a column of ids, and those that come later by the names of their
        columns; arrays are in the order of the ids. ``validation`` may be events too.

        In a matrix a positive stored value is the weight of a positive, a negative value −w a dislike of weight w;
        ``targets`` (of the same pattern) overrides their targets. ``user_features`` and ``item_features`` have a row
        per user or item, sparse or dense, or are dicts of named groups of such matrices. ``user_graph`` and
        ``item_graph`` are square matrices of similarities ≥ 0 (see :func:`everypair.features.knn_graph`).
        ``validation``, held-out positives of the same users, is measured after each sweep and stops the training if
        ``patience`` is set. A callback gets a :class:`~everypair.solvers.loop.Sweep` and stops the training by
        returning ``True``. Ctrl-C keeps what was learnt. ``start``, a fitted model of any rank, is where training
        begins instead of at random: last night's, whose items are matched by id (new ones begin at random), or one of
        a matrix of the same users and items.

        ``client``, a ``distributed.Client`` or a :class:`~everypair.distribute.Cluster`, trains on a Dask cluster:
        interactions may then be a folder of event files or a Dask data frame too, and the factors have the same
        bits (with features, which are matched to ids here, the same objective). They are brought here where they are
        small, or by ``gather()``.
        """
        arguments = FitArguments(
            interactions, (user_features, item_features), (user_graph, item_graph), targets, validation, start,
            checked_callbacks(callbacks),
        )  # fmt: skip
        self.state_ = fit_every_pair(self, arguments, client=client)
        return self

    def gather(self) -> Self:
        """Bring a model that was trained on a cluster here, with its factors, interactions and ids."""
        state = self._fitted()
        if isinstance(state, OneClassState):
            raise ValueError("there is nothing to gather: this model is not on a cluster.")
        self.state_ = state.gathered()
        return self


def fit_every_pair(
    model: Any, arguments: FitArguments, negative_loss: str = "squared", client: Any = None
) -> OneClassState:
    """Check the parameters, read what was given, plan, and train here or on a cluster: the fitted value."""
    values = checked(model)
    check_solver(values.solver, values.loss, negative_loss == "same" or arguments.structured)
    place = place_of(client, model)
    data = place.read(arguments, values)
    plan = Plan.of(values, data.counts, negative_loss)
    fitted: OneClassState = place.train(plan, data, arguments, model)
    return fitted


def place_of(client: Any, model: Any) -> Place:
    """Threads here, or the cluster that a client is connected to."""
    if client is None:
        return Here(model.n_threads)
    from everypair.models.recommend.clustered import There

    return There(client, model)
