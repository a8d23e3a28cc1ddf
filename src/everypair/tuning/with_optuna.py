"""The search by optuna's tree-structured Parzen estimator, kept in an SQLite file so that it can be resumed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from everypair.store.write import check_place
from everypair.tuning.space import Options, Space
from everypair.tuning.trial import Trial
from everypair.tuning.users import Means

STUDY = "everypair"
SQLITE = b"SQLite format 3"
COLUMNS = ("error", "sweeps", "best_sweep", "seconds", "problem", "gain", "gain_error")


def open_study(seed: int, storage: str | None, about: dict[str, Any]) -> Any:
    """A study of optuna's, in the SQLite file ``storage`` if there is one.

    ``about`` says what its trials are trials of: a file about something else is refused.
    """
    optuna = import_optuna()
    url = storage if storage is None or "://" in storage else f"sqlite:///{storage}"
    if storage is not None and url != storage:
        _check_file(Path(storage))
    study = optuna.create_study(
        study_name=STUDY, storage=url, load_if_exists=True, direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed),
    )  # fmt: skip
    earlier = study.user_attrs.get("about")
    if earlier is None:
        study.set_user_attr("about", about)
    elif earlier != about:
        other = ", ".join(f"{name} {earlier.get(name)!r} (now {about[name]!r})" for name in about
                          if earlier.get(name) != about[name])  # fmt: skip
        raise ValueError(f"storage {storage!r} holds the tuning of something else, by {other}: give another file.")
    return study


def _check_file(path: Path) -> None:
    """Refuse what SQLite could not open, before it tries: a new file needs a folder, an old one must be a database."""
    check_place(path)
    if path.exists():
        with path.open("rb") as file:
            start = file.read(len(SQLITE))
        if start and start != SQLITE:
            raise ValueError(f"storage {str(path)!r} is not a file of optuna's: name a new one.")


class OptunaSearch:
    """Proposes parameters; ``tell`` takes a finished trial and writes it down; ``earlier_trials`` are the study's."""

    def __init__(self, study: Any, space: Space, seed: int) -> None:
        optuna = import_optuna()
        self.study, self.space = study, space
        self._states = optuna.trial.TrialState
        finished = [trial for trial in self.study.trials if trial.state.is_finished() and "means" in trial.user_attrs]
        self.earlier_trials = [self._read(trial, 1 + number) for number, trial in enumerate(finished)]
        if self.earlier_trials:  # a resumed search must not propose what its seed has proposed before
            self.study.sampler = optuna.samplers.TPESampler(seed=seed + len(self.earlier_trials))
        self._open: Any = None

    def propose(self) -> dict[str, Any]:
        """The next parameters."""
        self._open = self.study.ask()
        values = {}
        for name, dimension in self.space.items():
            if isinstance(dimension, Options):
                known = {_written(value): value for value in dimension.values}
                values[name] = known[self._open.suggest_categorical(name, list(known))]
            else:
                raw = self._open.suggest_float(name, dimension.low, dimension.high, log=dimension.logarithmic)
                values[name] = float(f"{raw:.3g}")
        return values

    def tell(self, trial: Trial) -> None:
        """Write down a trial that was proposed; the defaults, which were not, are fitted in every run."""
        if self._open is None:
            return
        record, self._open = self._open, None
        for name in COLUMNS:
            value = getattr(trial, name)
            record.set_user_attr(name, None if isinstance(value, float) and math.isnan(value) else value)
        record.set_user_attr("means", [None if math.isnan(mean) else mean for mean in trial.means])
        record.set_user_attr("parameters", {name: _written(value) for name, value in trial.parameters.items()})
        if trial.state == "failed":
            self.study.tell(record, state=self._states.FAIL)
        elif trial.state == "pruned":
            record.report(trial.means.all, step=trial.sweeps or 0)
            self.study.tell(record, state=self._states.PRUNED)
        else:
            self.study.tell(record, trial.means.all)

    def _read(self, frozen: Any, number: int) -> Trial:
        kept = frozen.user_attrs
        states = {self._states.COMPLETE: "complete", self._states.PRUNED: "pruned"}
        parameters = {}
        for name, dimension in self.space.items():
            written = kept.get("parameters", {}).get(name)
            if isinstance(dimension, Options):
                known = {_written(value): value for value in dimension.values}
                parameters[name] = known.get(written, dimension.values[0])
            elif written is not None:
                parameters[name] = float(json.loads(written))
        means = Means(*(math.nan if mean is None else mean for mean in kept.get("means", [None] * 3)))
        trial = Trial(number, parameters, states.get(frozen.state, "failed"), means, math.nan)
        for name in COLUMNS:
            value = kept.get(name)
            setattr(trial, name, math.nan if value is None and name in ("error", "gain", "gain_error") else value)
        return trial


def _written(value: Any) -> str:
    return json.dumps(value)


def import_optuna() -> Any:
    """Optuna, quiet, or a sentence that names the extra."""
    try:
        import optuna
    except ImportError:
        raise ImportError(
            'storage and search="optuna" need optuna: pip install "everypair[tune]"; search="plain" needs nothing.'
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
