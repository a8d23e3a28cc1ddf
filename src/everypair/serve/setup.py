"""What a service is started with, checked before anything is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from everypair.serve.gate import Gate, read_token
from everypair.serve.service import checked_shares
from everypair.store.layout import MAGIC


class Served(NamedTuple):
    """A model file, its name in answers, logs and meters, and the share of users who get it."""

    path: Path
    name: str
    share: float


@dataclass(frozen=True)
class Setup:
    """The files of a service, who may ask it, and how it runs."""

    models: tuple[Served, ...]
    items: Path | None
    gate: Gate
    workers: int
    watch: bool
    log: Path | None
    log_users: bool

    @property
    def files(self) -> tuple[Path, ...]:
        """What is read, and watched."""
        return (*(model.path for model in self.models), *(() if self.items is None else (self.items,)))


def served_models(texts: Sequence[str]) -> tuple[Served, ...]:
    """Model files as they are typed, the second with its share: ``a.ep b.ep=10%``."""
    typed = [_typed(text) for text in texts]
    shares = checked_shares([share for _, share in typed])
    paths = [path for path, _ in typed]
    for path in paths:
        check_model_file(path)
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        names = [f"{path.resolve().parent.name}/{path.stem}" for path in paths]
    if len(set(names)) < len(names):
        raise ValueError("two models need two names: call the files otherwise.")
    return tuple(map(Served, paths, names, shares))


def check_model_file(path: Path) -> None:
    """Refuse what is no model file by its first bytes."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give the model file that `fit` or `save` wrote.")
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}: give the model file that `fit` or `save` wrote.") from None
    if start != MAGIC:
        raise ValueError(f"{path} is no model file: give one that `fit` or `save` wrote.")


def check_readable(*paths: Path | None) -> None:
    """Refuse files that cannot be read."""
    for path in paths:
        if path is not None:
            with path.open("rb"):
                pass


def check_log(log: Path | None, log_users: bool) -> None:
    """Refuse a place for the log that cannot be written."""
    if log is None:
        if log_users:
            raise ValueError("--log-users says what --log writes: give --log a file, or - for standard output.")
    elif str(log) != "-":
        with log.open("ab"):
            pass


def gate_of(token_file: Path | None, no_token: bool, loopback: bool) -> Gate:
    """Who may ask. What others can reach needs a token, or the word that it needs none."""
    if token_file is not None and no_token:
        raise ValueError("--token-file and --no-token exclude each other: leave one out.")
    if token_file is None and not (loopback or no_token):
        raise ValueError(
            "others can reach this address: give --token-file, a file with a secret that requests must have, "
            "or say --no-token where something in front of the service decides who may ask."
        )
    return Gate(None if token_file is None else read_token(token_file), local=loopback and not no_token)


def _typed(text: str) -> tuple[Path, float | None]:
    """A file and perhaps its share.

    >>> _typed("b.ep=10%"), _typed("b.ep=0.25")[1], _typed("a.ep")[1]
    ((PosixPath('b.ep'), 0.1), 0.25, None)
    """
    name, equals, share = text.rpartition("=")
    if not equals or Path(text).exists():
        return Path(text), None
    try:
        return Path(name), float(share.rstrip("%")) / (100 if share.endswith("%") else 1)
    except ValueError:
        raise ValueError(f"{share!r} in {text} is no share of the users: write it as 10%.") from None
