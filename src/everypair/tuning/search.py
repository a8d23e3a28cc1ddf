"""``tune``: try parameters on held-out entries inside the training data, check the best, fit it on everything.

1. The defaults are fitted on the training part, to the end of their own stop rules: the reference, and what ``"auto"``
   stood for is the middle of the space.
2. Candidates are explored. Each starts from the nearest of a few good models before it where the estimator can (other
   ridge, other rank), and is stopped where it is behind the leader at the same sweep.
3. The finalists, the best of all users and of either half of them, are fitted from a cold start, as the model will be.
   What is best on one half of the users is judged on the other, both ways round: that is the gain, with its error.
4. The best finalist (where it beats the defaults by more than that error, otherwise the defaults) is fitted on
   everything, with as many sweeps as were best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from everypair import check
from everypair.data.events import Events
from everypair.data.matching import as_events
from everypair.data.pairs import Pairs
from everypair.data.splits import hold_out
from everypair.metrics.held_out import checked_metric
from everypair.metrics.patterns import positive_pattern, stored_pattern
from everypair.metrics.per_row import average_rows, rows_error
from everypair.metrics.ranking import split_repeats
from everypair.parallel import resolve_threads
from everypair.progress import Progress
from everypair.training.clock import Clock
from everypair.training.interruption import inner_fits, warn_interrupted, was_interrupted
from everypair.tuning.plain import PlainSearch
from everypair.tuning.result import Tuning
from everypair.tuning.space import Space, checked_space, derive_space, resolved, value_of, with_values
from everypair.tuning.trial import Trial, can_start_warm, run_trial
from everypair.tuning.users import HalvedUsers, Means
from everypair.tuning.with_optuna import OptunaSearch, import_optuna, open_study
from everypair.types import Array

TRIALS = 25  # without any budget
STARTS = 4  # models that are kept to start from
FINALISTS = 2  # by each mean
SEARCHES = ("plain", "optuna")


class JudgedTrial(NamedTuple):
    """The best finalist, and what choosing it gains on users it was not chosen on."""

    trial: Trial
    gain: float
    error: float

    @property
    def beats_default(self) -> bool:
        """Whether the gain is more than its standard error."""
        return self.gain > self.error


class TuningProgress:
    """A count of trials, or of the seconds of a budget, on standard error if ``verbose``, and the best so far."""

    def __init__(self, trials: int | None, clock: Clock, metric: str, verbose: bool) -> None:
        self.clock, self.metric, self.by_trials = clock, metric, trials is not None
        total = math.ceil(clock.seconds) if trials is None else trials
        unit = "trials" if self.by_trials else "seconds"
        at_most = self.by_trials and not math.isinf(clock.seconds)
        self._note = ""
        self.progress = Progress(total, unit, not verbose, at_most=at_most, last_line=True)

    def __enter__(self) -> TuningProgress:
        self.progress.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.by_trials and self._note:
            self.progress.reach(self._spent(), self._note)
        self.progress.__exit__(kind, error, trace)

    def show(self, trials: list[Trial], leader: Trial, stage: str = "") -> None:
        """Show what is finished, and what comes after the search by its ``stage``."""
        best = f"best {self.metric} {leader.means.all:.4f} ± {leader.error:.4f} (trial {leader.number})"
        self._note = f"{best}; {stage}" if stage else best
        self.progress.reach(len(trials) - 1 if self.by_trials else self._spent(), self._note)

    def _spent(self) -> int:
        return round(self.clock.seconds - self.clock.left())


def tune(
    model: Any,
    events: Any,
    budget: float | None = None,
    *,
    trials: int | None = None,
    metric: str = "ndcg@10",
    held_out: str = "random",
    test_share: float = 0.1,
    since: Any = None,
    times: Any = None,
    space: Mapping[str, Any] | None = None,
    search: str | None = None,
    storage: Any = None,
    random_state: int = 0,
    verbose: bool = False,
    **fit_arguments: Any,
) -> Tuning:
    """Find parameters of a recommender on entries held out of ``events``, and fit it with them on everything.

    Parameters
    ----------
    model : an unfitted recommender; the parameters that it was given other values than their defaults stay.
    events : a matrix (users × items), or events as ``fit`` takes them: the model then speaks their ids.
    budget, trials : seconds for the whole call, number of candidates (those in ``storage`` included), or both; 25
        candidates by default. With ``trials`` alone the same seed gives the same result.
    metric : what to maximise: ``"ndcg@10"`` or any metric of :func:`~everypair.evaluate.ranking_metrics` that each user
        has.
    held_out, test_share, since, times : ``"random"`` entries (a tenth, or another share), every user's ``"last"`` one,
        or the latest share by ``"time"``, or all from a moment on: like what the model is for. The latter two need the
        times of the stored pairs, which events may bring. What a user has already is not judged.
    space : parameters to search instead of those around the defaults: ``{"reg": (0.01, 1.0), "rank": [32, 64]}``, a
        pair of ends or a list of values.
    search, storage : ``"plain"``, or ``"optuna"`` (extra ``tune``), whose trials are kept in the SQLite file
        ``storage`` if there is one: the same call goes on where an earlier one has ended.
    random_state : seed of the held-out entries, of the search, and of a model that has none.
    verbose : show progress.
    fit_arguments : passed to every ``fit``: features, graphs.

    Ctrl-C ends the search, keeps the best so far and warns; a second one raises.

    Examples
    --------
    >>> from everypair import OneClassMF
    >>> random = np.random.default_rng(0)
    >>> blocks = np.kron(np.eye(3), np.ones((20, 10))) * (random.random((60, 30)) < 0.5)
    >>> result = tune(OneClassMF(rank=8), blocks, trials=4)
    >>> len(result.table), sorted(result.space), result.model.recommend([0], n=3)[0].shape
    (5, ['negative_weight', 'reg', 'weighting'], (1, 3))
    """
    clock = _checked_budget(budget, trials)
    checked_metric(metric)
    seed = check.integer("random_state", random_state, 0)
    method = _checked_search(search, storage)
    model = _prepared(model, fit_arguments, seed)
    table = as_events(events, "events", verbose=verbose)
    data: Any = Pairs.from_matrix(events, name="events").to_csr() if table is None else table
    matrix = data if table is None else table.matrix
    if table is not None and times is None:
        times = table.times
    train, test = hold_out(data, held_out, times, seed, test_share, since)
    seen, held = _matrix(train), positive_pattern(_matrix(test), "the held-out part")
    _, held, _ = split_repeats(stored_pattern(seen, "the training part"), held, "drop", "train", "the held-out part")
    halves = HalvedUsers(seen, held, metric, seed, resolve_threads(getattr(model, "n_threads", None)))
    wanted = None if space is None else checked_space(space, model)
    limit = TRIALS if trials is None and budget is None else trials
    study = None
    if method == "optuna":
        about = {"model": repr(model), "shape": list(matrix.shape), "entries": int(matrix.nnz), "metric": metric,
                 "held_out": held_out, "seed": seed}  # fmt: skip
        study = open_study(seed, None if storage is None else str(storage), about)
    tuner = Tuner(model, train, halves, clock, fit_arguments)
    with TuningProgress(limit, clock, metric, verbose) as progress:
        reference = tuner.defaults()
        if wanted is None:
            wanted, usual = derive_space(model, reference.model, max(matrix.shape))
        else:
            usual = {name: resolved(model, reference.model, name) for name in wanted}
        if not wanted:
            raise ValueError(
                f"{type(model).__name__} has no parameter at its default that tune knows: name some with space=."
            )
        reference.parameters = usual
        searcher: Any = PlainSearch(wanted, usual, seed)
        if study is not None:
            searcher = OptunaSearch(study, wanted, seed)
        interrupted, judged, fitted = False, None, None
        try:
            tuner.explore(searcher, limit, progress)
            judged = tuner.judge(progress)
            progress.show(tuner.trials, tuner.leader, "fitting on everything")
            chosen = _chosen_model(model, judged)
            with inner_fits():
                fitted = chosen.fit(data, **fit_arguments)
            interrupted = was_interrupted(fitted)
        except KeyboardInterrupt:
            interrupted = True
    result = _result(tuner, wanted, judged, fitted, metric, interrupted)
    if interrupted:
        warn_interrupted("the model is the best so far; result.verdict says what it is.")
    return result


class Tuner:
    """The trials of one search."""

    def __init__(self, model: Any, train: Any, users: HalvedUsers, clock: Clock, fit_arguments: dict[str, Any]) -> None:
        self.model, self.train, self.users, self.clock = model, train, users, clock
        self.fit_arguments = fit_arguments
        self.trials: list[Trial] = []
        self.finalists: list[Trial] = []
        self.starts: list[Trial] = []

    def defaults(self) -> Trial:
        """The model as it is given: the reference of every gain."""
        trial = self._run(0, {}, cold=True)
        if trial.state == "failed":
            raise ValueError(trial.problem)
        self.reference = trial
        self._measure_gain(trial)
        self.starts, self.leader = [trial], trial
        return trial

    def explore(self, searcher: Any, limit: int | None, progress: Any) -> None:
        """Try what the searcher proposes until the budget is spent, less what checking and the last fit will take."""
        searcher.tell(self.reference)
        self.trials = [self.reference, *searcher.earlier_trials]
        self.space: Space = searcher.space
        progress.show(self.trials, self.leader)
        while (limit is None or len(self.trials) <= limit) and self.clock.left() > self._reserve():
            trial = self._run(len(self.trials), searcher.propose(), cold=False)
            searcher.tell(trial)
            self.trials.append(trial)
            if trial.state == "complete":
                self._keep_start(trial)
            if trial.means.all > self.leader.means.all:
                self.leader = trial
            progress.show(self.trials, self.leader)

    def judge(self, progress: Any) -> JudgedTrial:
        """Fit the finalists from a cold start and judge the choice among them on users it was not made on."""
        self.finalists = [self.reference]
        chosen = self._finalists()
        for place, trial in enumerate(chosen, 1):
            if self._needs_cold_fit(trial):
                if self.clock.left() <= cold_seconds(trial) + cold_seconds(self.leader) and len(self.finalists) > 1:
                    break
                progress.show(self.trials, self.leader, f"checking finalist {place} of {len(chosen)}")
                trial = self._run(trial.number, trial.parameters, cold=True)
            if trial.state == "complete":
                self.finalists.append(trial)
        if len(self.finalists) == 1:
            return JudgedTrial(self.reference, math.nan, math.nan)
        best = max(self.finalists, key=lambda trial: trial.means.all)
        gains = crossed_gains(self.finalists, np.asarray(self.reference.final), self.users.in_first)
        return JudgedTrial(best, average_rows(gains), rows_error(gains))

    def _finalists(self) -> list[Trial]:
        """The best trials so far, by the mean of all users and by that of either half."""
        done = [trial for trial in self.trials[1:] if trial.state == "complete"]
        leaders: dict[int, Trial] = {}
        for which in Means._fields:
            ranked = sorted(done, key=lambda trial: (-getattr(trial.means, which), trial.number))
            leaders |= {trial.number: trial for trial in ranked[:FINALISTS]}
        return list(leaders.values())

    def _needs_cold_fit(self, trial: Trial) -> bool:
        return trial.model is None or can_start_warm(self.model) or not trial.bests

    def _reserve(self) -> float:
        """Seconds for fitting those who would be finalists now, and the leader on everything, from a cold start."""
        fits = [*filter(self._needs_cold_fit, self._finalists()), self.leader]
        return sum(map(cold_seconds, fits))

    def _run(self, number: int, parameters: dict[str, Any], *, cold: bool) -> Trial:
        start = None if cold or not can_start_warm(self.model) else self._nearest(parameters)
        trial = run_trial(
            number, self.model, parameters, self.train, self.users, self.clock, self.fit_arguments,
            leader=None if cold else self.leader, start=start,
        )  # fmt: skip
        if number and trial.state != "failed":
            self._measure_gain(trial)
        return trial

    def _measure_gain(self, trial: Trial) -> None:
        gains = trial.bests["all"] - self.reference.final
        trial.gain, trial.gain_error = average_rows(gains), rows_error(gains)

    def _nearest(self, parameters: dict[str, Any]) -> Any:
        places = {name: self.space[name].place(value) for name, value in parameters.items()}

        def distance(trial: Trial) -> float:
            return sum(abs(self.space[name].place(trial.parameters[name]) - place) for name, place in places.items())

        return min(self.starts, key=distance).model

    def _keep_start(self, trial: Trial) -> None:
        """Keep the models of the best few trials; those of the others are let go."""
        self.starts = sorted([*self.starts, trial], key=lambda one: -one.means.all)
        for one in self.starts[STARTS:]:
            one.model = None
        del self.starts[STARTS:]


def cold_seconds(trial: Trial) -> float:
    """About how long a trial takes from a cold start: the reference has had one, others take about twice as long."""
    return trial.seconds if trial.number == 0 else 2 * trial.seconds


def crossed_gains(finalists: list[Trial], reference: Array, in_first: NDArray[np.bool_]) -> Array:
    """What each user gains by the finalist that is best on the half of the users to which that user does not belong."""
    gains = np.empty_like(reference)
    for which, judged in (("first", ~in_first), ("second", in_first)):
        winner = max(finalists, key=lambda trial: getattr(trial.means, which))
        gains[judged] = winner.bests[which][judged] - reference[judged]
    return gains


def _chosen_model(model: Any, judged: JudgedTrial) -> Any:
    best = judged.trial
    chosen = with_values(model, best.parameters if judged.beats_default else {})
    stops_early = best.best_sweep is not None and best.sweeps is not None and best.best_sweep < best.sweeps
    if judged.beats_default and stops_early:
        chosen.set_params(max_iter=best.best_sweep)
    return chosen


def _result(
    tuner: Tuner, space: Space, judged: JudgedTrial | None, fitted: Any, metric: str, interrupted: bool
) -> Tuning:
    reference = tuner.reference
    best = tuner.leader if judged is None else judged.trial
    used = best.parameters if judged is not None and judged.beats_default else {}
    if fitted is None:
        fitted = tuner.leader.model
        used = tuner.leader.parameters
    parameters = {name: value_of(fitted, name) for name in sorted(used)}
    if used and getattr(fitted, "max_iter", None) != getattr(tuner.model, "max_iter", None):
        parameters["max_iter"] = fitted.max_iter
    return Tuning(
        model=fitted, parameters=parameters, best=best.parameters, metric=metric,
        default=average_rows(np.asarray(reference.final)), gain=math.nan if judged is None else judged.gain,
        standard_error=math.nan if judged is None else judged.error,
        table=[_row(trial, metric) for trial in tuner.trials or [reference]], space=dict(space),
        interrupted=interrupted and judged is None, history={"defaults": reference.curve, "best": best.curve},
    )  # fmt: skip


def _row(trial: Trial, metric: str) -> dict[str, Any]:
    return {
        "trial": trial.number, "state": trial.state, **trial.parameters, metric: trial.means.all,
        "standard_error": trial.error, "gain": trial.gain, "gain_standard_error": trial.gain_error,
        "sweeps": trial.sweeps, "best_sweep": trial.best_sweep, "seconds": trial.seconds, "problem": trial.problem,
    }  # fmt: skip


def _prepared(model: Any, fit_arguments: dict[str, Any], seed: int) -> Any:
    """A clone that has a seed and no stop rule that needs validation data."""
    if isinstance(model, type) or not all(hasattr(model, name) for name in ("fit", "score_users", "get_params")):
        raise TypeError(
            f"tune takes an unfitted recommender such as OneClassMF(), got {_kind(model)}; classifiers have "
            "scikit-learn's searches."
        )
    for name in ("validation", "callbacks", "start", "targets"):
        if name in fit_arguments:
            raise TypeError(f"tune holds out entries by itself and cannot pass {name} to fit: leave it out.")
    model = clone(model)
    own = model.get_params(deep=False)
    if own.get("random_state", 0) is None:
        model.set_params(random_state=seed)
    if own.get("patience") is not None:
        model.set_params(patience=None)
    if own.get("verbose"):
        model.set_params(verbose=False)
    return model


def _matrix(data: Any) -> Any:
    return data.matrix if isinstance(data, Events) else data


def _kind(model: Any) -> str:
    return f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__


def _checked_budget(budget: Any, trials: Any) -> Clock:
    if budget is not None and (not check.is_number(budget) or not 0 < budget < math.inf):
        raise ValueError(f"budget must be a positive number of seconds, got {budget!r}.")
    if trials is not None:
        check.integer("trials", trials)
    return Clock.start(budget)


def _checked_search(search: str | None, storage: Any) -> str:
    if search is not None and search not in SEARCHES:
        raise ValueError(f'search must be "plain" or "optuna", got {search!r}.')
    if search == "plain" and storage is not None:
        raise ValueError('storage is a file of optuna\'s: leave out search="plain".')
    method = search or ("plain" if storage is None else "optuna")
    if method == "optuna":
        import_optuna()
    return method
