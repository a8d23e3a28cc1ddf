"""Sentences of the library, written for Python, as the command line says the same thing.

missing='drop'  →  --missing drop          min_user_events=  →  --min-user-events
"""

from __future__ import annotations

import re

READING = ("user", "item", "weight", "time", "threshold", "dislike_weight", "duplicates", "missing")
TEXT = ("min_user_events", "min_item_events", "ids", "delimiter", "header", "quote", "encoding", "absent", "extra")
OPTIONS = frozenset(READING + TEXT)
FOR_PYTHON = " Leave them out (test with `in`), or fold them in as new rows."
_ARGUMENT = re.compile(r"(?<![\w.\[])([a-z_]+)=(\"[^\"]*\"|'[^']*'|\[…\]|[\w.+-]*\w)?")
_NAME = re.compile(r"\b(min_user_events|min_item_events|dislike_weight)\b")
_DASHES = re.compile(r"--[a-z_]+")
_UNTRANSLATED = ("recommend", "similar", "explain")  # where --user and --item are ids


def as_options(sentence: str, arguments: list[str]) -> str:
    """Return a sentence with Python's arguments written as options.

    >>> as_options("missing='drop' leaves those events out, or weight=None does without.", ["fit"])
    '--missing drop leaves those events out, or --weight none does without.'
    >>> as_options("the rank=3 of OneClassMF", ["fit"]), as_options("name it with user=.", ["fit"])
    ('the rank=3 of OneClassMF', 'name it with --user.')
    >>> as_options("Lower min_user_events, or say delimiter=';'.", ["inspect"])
    "Lower --min-user-events, or say --delimiter ';'."
    """
    sentence = sentence.replace(FOR_PYTHON, "")
    if arguments[:1] and arguments[0] in _UNTRANSLATED:
        return sentence

    def option(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if name not in OPTIONS:
            return found[0]
        plain = "" if value is None else value.strip("\"'")
        shown = {"": "", "None": " none"}.get(plain, f" {plain}" if plain.isalnum() else f" {value}")
        return f"--{name}{shown}"

    named = _NAME.sub(lambda found: f"--{found[0]}", _ARGUMENT.sub(option, sentence).replace("----", "--"))
    return _DASHES.sub(lambda found: found[0].replace("_", "-"), named.replace("----", "--"))
