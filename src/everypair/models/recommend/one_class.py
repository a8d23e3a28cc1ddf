"""OneClassMF: matrix factorization over every pair, the observed ones and all the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from numpy.typing import ArrayLike

from everypair import check
from everypair.data.pairs import Pairs
from everypair.data.weighting import DegreeWeighting
from everypair.distribute.answering.sharded_model import ShardedModel
from everypair.distribute.solving.train import check_keeper
from everypair.models.estimator import FittedAttribute
from everypair.models.recommend.clustered import fit_on_cluster, gathered_state
from everypair.models.recommend.defaults import auto_negative_weight, auto_rank, auto_reg, checked_rank
from everypair.models.recommend.factorization import check_rank, learnt_fields
from everypair.models.recommend.growth import GrowingModel
from everypair.models.recommend.naming import align_side_information, fits
from everypair.models.recommend.side_information import SideOptions, informed_sides
from everypair.models.recommend.state import OneClassState
from everypair.parallel import resolve_threads
from everypair.problem.layout import Layout
from everypair.problem.losses import Loss, get_loss
from everypair.problem.negatives import Negatives, Scheme, Value, check_scheme, resolve_value
from everypair.problem.objective import Objective
from everypair.problem.outside import OUTSIDE
from everypair.problem.ridge import Ridge
from everypair.solvers.alternating import SIDE_METHODS
from everypair.solvers.choose import check_solver, solver_maker
from everypair.solvers.loop import Callback, StopRules, checked_callbacks
from everypair.training.start import warm_start
from everypair.training.train import train
from everypair.training.validation import make_validator
from everypair.training.warm_up import sweep_on_two_pairs


class OneClassMF(GrowingModel):
    """Factorize a matrix of positives so that every pair counts: F = Σ_Ω c ℓ(y, s) + ½ Σ_{∉Ω} p_i q_j (ỹ − s)² + ridge.

    Parameters
    ----------
    rank : number of factors k; ``"auto"`` is the power of 2 at or below √(users + items), counting those that have
        events, from 16 to 256: better than 64 on large sparse data, where it takes longer.
    loss : on stored pairs: ``"logistic"``, ``"squared"``, ``"squared_hinge"`` or a
        :class:`~everypair.problem.losses.Loss`.
    negative_weight : mean weight p_i q_j of a pair that is not stored; ``"auto"`` is a multiple of the density.
    negative_scheme : shape of those weights: ``"constant"``, ``"left-count"``, ``"right-rarity"``,
        ``("popularity", β)`` or arrays ``(p, q)``.
    negative_value : the score ỹ they are pulled to: a number, matrices ``(Ũ, Ṽ)`` with ỹ = Ũ Ṽᵀ, or ``"auto"``: −1,
        and 0 for the squared loss.
    negative_loss : ``"squared"``, or ``"same"`` for the loss itself on every pair, Σ_{∉Ω} p_i q_j ℓ(ỹ, s): O(mnk) a
        sweep, for small data and comparison.
    reg, reg_exponent : ridge λ (or a (left, right) pair, or ``"auto"``: by the number of entities) and the power ν of a
        row's total weight that scales it, or ``"count"`` for λ·max(1, |Ω_i⁺|).
    weighting : ``("degree", γ)`` multiplies the weight of a stored pair by (d_i d_j)^−γ, of mean 1, where d_i and d_j
        count the stored pairs of its user and its item.
    biases : learn a bias for every user and every item.
    own_vectors, feature_reg : where a side has features X its factors are T + XW: whether every entity has an own
        vector t_i besides (otherwise XW alone), and the ridge λ_f of W (``"auto"``: by the size of X and the ridge of
        own vectors). These and the next four take one value or a (left, right) pair.
    normalize, fit_intercept : scale every row of the features to length 1, then append a constant 1.
    graph_reg, normalize_graph : weight λ_g of ½ λ_g tr(UᵀLU) where a side has a graph, and whether L is normalised by
        the nodes' degrees.
    solver : ``"newton"`` solves rows by Newton–CG, and a side with features or a graph by trust-region Newton
        (``"tron"``); ``"auto"`` is that with both sides balanced and momentum between sweeps;
        ``"tron"``, ``"newton-linesearch"`` and ``"gradient"`` move all parameters of a side together; ``"block"``,
        ``"als"``, ``"cd"``, ``"sg-reform"``, ``"sg-bsearch"`` and ``"sg-dense"`` are there to be compared (see
        :mod:`everypair.solvers.choose`).
    max_iter, tol, patience, time_limit : stop after so many sweeps, at a relative decrease of the objective below
        ``tol``, after ``patience`` sweeps without a better validation nDCG@10, or after so many seconds of training.
    cg_steps : conjugate-gradient steps of a row in each half-sweep of ``"newton"``.
    random_state : seed of the start; the same seed gives the same bits on any number of threads.
    n_threads : threads to use, all cores by default; on a cluster left out, where workers have threads of their own.
    dtype : ``"float32"`` or ``"float64"``.
    verbose : show progress.

    Attributes
    ----------
    left_factors_, right_factors_ : U (m × k) and V (n × k); with ``biases`` two more columns each, [W, b, 1] and
        [H, 1, b̄].
    history_ : one dict per sweep: ``"objective"``, cumulative ``"seconds"`` and validation metrics.
    objective_, status_ : the last objective and a sentence on why training stopped.
    user_ids_, item_ids_ : :class:`~everypair.data.Ids` of a model fitted on events, else ``None``.
    left_feature_weights_, right_feature_weights_ : W (d × k) of a side with features, else ``None``.
    negative_weight_, reg_, feature_reg_ : the mean negative weight and the (left, right) ridges that were used.

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

    state_: OneClassState
    sharded_: ShardedModel
    negative_weight_ = FittedAttribute()

    def __init__(
        self,
        rank: int | str = 64,
        loss: str | Loss = "logistic",
        negative_weight: float | str = "auto",
        negative_scheme: Scheme = "constant",
        negative_value: Value | str = "auto",
        negative_loss: str = "squared",
        reg: float | tuple[float, float] | str = "auto",
        reg_exponent: float | str = 0.75,
        weighting: tuple[str, float] | None = None,
        biases: bool = False,
        own_vectors: bool | tuple[bool, bool] = True,
        feature_reg: float | str | tuple[float | str, float | str] = "auto",
        normalize: bool | tuple[bool, bool] = False,
        fit_intercept: bool | tuple[bool, bool] = False,
        graph_reg: float | tuple[float, float] = 0.1,
        normalize_graph: bool | tuple[bool, bool] = False,
        solver: str = "auto",
        max_iter: int = 50,
        tol: float = 3e-4,
        cg_steps: int = 2,
        patience: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        dtype: str = "float32",
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.loss = loss
        self.negative_weight = negative_weight
        self.negative_scheme = negative_scheme
        self.negative_value = negative_value
        self.negative_loss = negative_loss
        self.reg = reg
        self.reg_exponent = reg_exponent
        self.weighting = weighting
        self.biases = biases
        self.own_vectors = own_vectors
        self.feature_reg = feature_reg
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.graph_reg = graph_reg
        self.normalize_graph = normalize_graph
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.cg_steps = cg_steps
        self.patience = patience
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_threads = n_threads
        self.dtype = dtype
        self.verbose = verbose

    @fits
    def fit(
        self,
        interactions: Any,
        left_features: Any = None,
        right_features: Any = None,
        left_graph: Any = None,
        right_graph: Any = None,
        *,
        targets: Any = None,
        validation: Any = None,
        callbacks: Iterable[Callback] = (),
        start: Any = None,
        client: Any = None,
    ) -> Self:
        """Learn both sides' factors from interactions: events with ids, or a matrix (users × items).

        Events are what :func:`everypair.data.read_events` returns, a file or a data frame that it reads without
        options, or a frame of numbers with a column per item; the model is then asked by id. Features in a data frame
        are matched to users and items by its index or a column of ids, and those that come later by the names of their
        columns; arrays are in the order of the ids. ``validation`` may be events too.

        In a matrix a positive stored value is the weight of a positive, a negative value −w a dislike of weight w;
        ``targets`` (of the same pattern) overrides their targets. ``left_features`` and ``right_features`` have a row
        per user or item, sparse or dense, or are dicts of named groups of such matrices. ``left_graph`` and
        ``right_graph`` are square matrices of similarities ≥ 0 (see :func:`everypair.features.knn_graph`).
        ``validation``, held-out positives of the same users, is measured after each sweep and stops the training if
        ``patience`` is set. A callback gets a :class:`~everypair.solvers.loop.Sweep` and stops the training by
        returning ``True``. Ctrl-C keeps what was learnt. ``start``, a fitted model of the same users and items and of
        any rank, is where training begins instead of at random.

        ``client``, a ``distributed.Client`` or a :class:`~everypair.distribute.Cluster`, trains on a Dask cluster:
        interactions may then be a folder of event files or a Dask data frame too, and the factors have the same
        bits (with features, which are matched to ids here, the same objective). They stay on the workers
        (``sharded_``) and are brought here too where they are small, or by ``gather()``.
        """
        rules = StopRules.checked(self.max_iter, self.tol, self.patience, self.time_limit)
        rank, biases = checked_rank(self.rank), check.flag("biases", self.biases)
        cg_steps = check.integer("cg_steps", self.cg_steps)
        threads = resolve_threads(self.n_threads)
        dtype = check.float_dtype(self.dtype)
        random = check.generator(self.random_state)
        callbacks = checked_callbacks(callbacks)
        check_keeper(callbacks, client)
        check_scheme(self.negative_scheme)
        loss = get_loss(self.loss)
        options = SideOptions.both(self)
        given = (left_features, right_features, left_graph, right_graph)
        check_negative_loss(self.negative_loss, self.solver)
        check_solver(self.solver, loss, self.negative_loss == "same" or any(part is not None for part in given))
        value = resolve_value(self.negative_value, loss)
        self.__dict__.pop("sharded_", None)
        if client is not None:
            if any(part is not None for part in (left_graph, right_graph, start)) or self.negative_loss == "same":
                raise ValueError(
                    'on a cluster there are no graphs, start= or negative_loss="same": fit on one machine.'
                )

            for name, part in (("left_features", left_features), ("right_features", right_features)):
                if hasattr(part, "to_delayed"):
                    raise TypeError(f"{name} are matched to ids in this process: give {name}.compute().")

            def inform(shape: tuple[int, int], known: Any) -> tuple[Any, Any]:
                told = {"left_features": left_features, "right_features": right_features}
                if known is not None:
                    align_side_information(told, known)
                return informed_sides(options, shape, told["left_features"], told["right_features"], None, None, dtype)

            self.sharded_, here = fit_on_cluster(
                self, interactions, client, rank, loss, value, rules, random, dtype, targets=targets,
                validation=validation, callbacks=callbacks, inform=inform,
                featured=(left_features is not None, right_features is not None),
            )  # fmt: skip
            self.__dict__.pop("state_", None)
            return self.gather() if here else self
        stored = Pairs.from_matrix(interactions, targets, dtype, n_threads=threads)
        layout = Layout(auto_rank(stored.to_csr()) if rank is None else rank, biases)
        check_rank(layout.rank, stored.shape)
        weight = auto_negative_weight(self.negative_weight, stored, loss)
        negatives = Negatives.from_scheme(stored, weight, self.negative_scheme, value)
        ridge = Ridge.checked(auto_reg(self.reg, stored, loss), self.reg_exponent)
        weighting = DegreeWeighting.of(self.weighting, stored)
        pairs = stored if weighting is None else weighting.weighted(stored)
        seen = None if validation is None else stored.to_csr()
        validate = make_validator(seen, validation, self.patience, threads)
        informed, maps = informed_sides(options, pairs.shape, *given, dtype)
        objective = Objective(
            pairs, loss, negatives, ridge, layout=layout, dtype=dtype, n_threads=threads, side_information=informed,
            negative_loss=self.negative_loss,
        )  # fmt: skip
        begin = warm_start(objective, layout, random, start)
        make_solver = solver_maker(self.solver, layout.columns, cg_steps, int(random.integers(2**31)))
        outcome = train(
            make_solver(objective), begin, rules, validate=validate, callbacks=callbacks, verbose=self.verbose,
            warm_up=sweep_on_two_pairs(make_solver, objective, layout.columns),
            identity=(self, pairs, informed, validation, None if start is None else begin),
        )  # fmt: skip
        self.state_ = OneClassState(
            interactions=stored.to_csr(), targets=stored.targets, ridge=ridge, negative_weight=weight,
            weighting=weighting, **learnt_fields(objective, outcome, layout, maps),
        )  # fmt: skip
        return self

    def recommend(
        self,
        users: ArrayLike | None = None,
        n: int = 10,
        exclude_seen: bool = True,
        allow: Any = None,
        block: Any = None,
        *,
        interactions: Any = None,
        features: Any = None,
        targets: Any = None,
    ) -> tuple[Any, Any]:
        """Return the ``n`` best items of each user and their scores: see :meth:`FactorModel.recommend`.

        Where the factors are on a cluster, that is asked for these users.
        """
        new = any(part is not None for part in (interactions, features, targets))
        if "state_" not in vars(self) and "sharded_" in vars(self) and not new:
            if users is None:
                raise ValueError(
                    "this model is on the cluster: name users, write the lists of everybody to files with "
                    "sharded_.recommend_all(folder), or bring the model here with gather()."
                )
            return self.sharded_.recommend(users, n, exclude_seen, allow, block)
        return super().recommend(
            users, n, exclude_seen, allow, block, interactions=interactions, features=features, targets=targets
        )

    def gather(self) -> Self:
        """Bring a model that was trained on a cluster here, with its factors, interactions and ids."""
        if not hasattr(self, "sharded_"):
            raise ValueError("there is nothing to gather: this model was not trained on a cluster.")
        self.state_ = gathered_state(self.sharded_)
        return self


def check_negative_loss(name: str, solver: str) -> None:
    """Refuse what cannot be done outside Ω."""
    if name not in OUTSIDE:
        raise ValueError(f'negative_loss must be "squared" or "same", got {name!r}.')
    if name == "same" and solver not in ("auto", *SIDE_METHODS):
        raise ValueError(
            f'negative_loss="same" needs solver="auto" or one of {", ".join(map(repr, SIDE_METHODS))}, not {solver!r}.'
        )
