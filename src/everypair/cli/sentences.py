"""Sentences of the library, written for Python, as the command line says the same thing.

missing='drop'  →  --missing drop          min_user_events=  →  --min-user-events
"""

from __future__ import annotations

import re

READING = ("user", "item", "weight", "time", "min_rating", "dislike_weight", "duplicates", "missing")
TEXT = ("min_user_events", "min_item_events", "ids", "delimiter", "header", "quote", "encoding", "absent", "extra")
TUNING = ("budget", "trials", "metric", "held_out", "since", "space", "search", "storage")
OPTIONS = frozenset(READING + TEXT + TUNING)
RENAMED = {"n_threads": "--threads"}
FOR_PYTHON = " Leave them out (test with `in`, or unknown='ignore' where that is), or fold them in as new rows."
_ARGUMENT = re.compile(r"(?<![\w.\[])([a-z_]+)=(\"[^\"]*\"|'[^']*'|\[…\]|[\w.+-]*\w)?")
_NAME = re.compile(r"\b(min_user_events|min_item_events|min_rating|dislike_weight|n_threads|test_share)\b")
_SPELLED = {  # values that the command line writes in another way
    "header=True": "--header yes",
    "header=False": "--header no",
    "header=['user', 'item']": "--header user,item",
}
_DASHES = re.compile(r"--[a-z_]+")
_OF_MODELS = ("recommend", "similar", "explain")  # where --user and --item are ids
_YOURS = re.compile(r"Name yours with (user|item)=\.")
_THERE = frozenset(("weight", "min_rating"))


def as_options(sentence: str, arguments: list[str]) -> str:
    """Return a sentence with Python's arguments written as options.

    >>> as_options("missing='drop' leaves those events out, or weight=None does without.", ["fit"])
    '--missing drop leaves those events out, or --weight none does without.'
    >>> as_options("the rank=3 of OneClassMF", ["fit"]), as_options("name it with user=.", ["fit"])
    ('the rank=3 of OneClassMF', 'name it with --user.')
    >>> as_options("Lower min_user_events, or say delimiter=';'.", ["inspect"])
    "Lower --min-user-events, or say --delimiter ';'."
    >>> as_options("held_out='time' needs times", ["tune"])
    '--split time needs times'
    >>> as_options("n_threads must be a positive integer.", ["recommend"])
    '--threads must be a positive integer.'
    >>> as_options("No column looks like the user. Name yours with user=.", ["recommend"])
    "No column looks like the user. Call it 'user'."
    """
    for python, typed in {FOR_PYTHON: "", **_SPELLED}.items():
        sentence = sentence.replace(python, typed)
    asks = bool(arguments[:1]) and arguments[0] in _OF_MODELS
    known = _THERE if asks else OPTIONS
    if asks:
        sentence = _YOURS.sub(r"Call it '\1'.", sentence)

    def option(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if name not in known:
            return found[0]
        plain = "" if value is None else value.strip("\"'")
        shown = {"": "", "None": " none"}.get(plain, f" {plain}" if plain.isalnum() else f" {value}")
        return f"--{name}{shown}"

    named = _ARGUMENT.sub(option, sentence).replace("----", "--")
    named = _NAME.sub(lambda found: RENAMED.get(found[0], f"--{found[0]}"), named).replace("----", "--")
    return _DASHES.sub(lambda found: found[0].replace("_", "-"), named.replace("--held_out", "--split"))
