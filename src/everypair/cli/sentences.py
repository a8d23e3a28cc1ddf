"""Sentences of the library, written for Python, as the command line says the same thing.

missing='drop'  →  --missing drop          min_user_events=  →  --min-user-events
"""

from __future__ import annotations

import re

READING = ("user", "item", "weight", "time", "threshold", "dislike_weight", "duplicates", "missing")
TEXT = ("min_user_events", "min_item_events", "ids", "delimiter", "header", "quote", "encoding", "absent", "extra")
OPTIONS = frozenset(READING + TEXT)
NO_COLUMN = {"weight", "time"}  # can be left out by the word none
_ARGUMENT = re.compile(r"(?<![\w.\[])([a-z_]+)=(\"[^\"]*\"|'[^']*'|\[…\]|[\w.+-]*\w)?")
_UNTRANSLATED = ("recommend", "similar", "explain")  # where --user and --item are ids


def as_options(sentence: str, arguments: list[str]) -> str:
    """Return a sentence with Python's arguments written as options.

    >>> as_options("missing='drop' leaves those events out, or weight=None does without.", ["fit"])
    '--missing drop leaves those events out, or --weight none does without.'
    >>> as_options("the rank=3 of OneClassMF", ["fit"]), as_options("name it with user=.", ["fit"])
    ('the rank=3 of OneClassMF', 'name it with --user.')
    """
    if arguments[:1] and arguments[0] in _UNTRANSLATED:
        return sentence

    def option(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if name not in OPTIONS:
            return found[0]
        text = "" if value is None else " " + ("none" if value == "None" else value.strip("\"'"))
        return f"--{name.replace('_', '-')}{text}"

    return _ARGUMENT.sub(option, sentence)
