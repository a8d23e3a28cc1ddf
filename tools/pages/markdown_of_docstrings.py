"""Docstrings as Markdown, for the reference pages of the site.

The house style puts a parameter's explanation behind its name, ``rank : number of factors k``, several names in one
entry where they belong together, and formulas as indented text. A parser of types would take the explanation for one,
so that sections become definition lists here, doctests fenced blocks, and roles plain names.
"""

from __future__ import annotations

import inspect
import re

SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
ROLE = re.compile(r":\w+:`~?([^`]+)`")
CODE = re.compile(r"(``?[^`]+``?)")
TITLE = re.compile(r"(?<!\w)(\*\w[^*\n]*(?:\n[^*\n]+)?\*)(?!\w)")
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (.*))?$")


def to_markdown(docstring: str) -> str:
    """Return a docstring as Markdown."""
    first, *sections = SECTION.split(inspect.cleandoc(docstring))
    parts = [_prose(first)]
    for title, body in zip(sections[::2], sections[1::2]):
        listed = title in ("Parameters", "Attributes", "Returns", "Methods")
        parts.append(f"**{title}**\n\n{_entries(body) if listed else _prose(body)}")
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def _prose(text: str) -> str:
    """Paragraphs as they are, doctests and formulas as fenced blocks."""
    lines, fence = [], ""
    for line in text.split("\n"):
        kind = "pycon" if line.startswith(">>>") else "text" if line.startswith("    ") else ""
        if fence and (not line.strip() or (fence == "text" and not kind)):
            lines, fence = [*lines, "```"], ""
        if kind and not fence:
            lines, fence = [*lines, "", f"```{kind}"], kind
        lines.append((line[4:] if fence == "text" else line) if fence else _escaped(line))
    return "\n".join([*lines, "```"] if fence else lines)


def _entries(text: str) -> str:
    """``names : explanation``, or names and an indented explanation below, as a definition list."""
    lines: list[str] = []
    begun = True  # whether the explanation of the last names has a line
    for line in text.strip("\n").split("\n"):
        entry = ENTRY.match(line)
        if entry:
            lines += ["", ", ".join(f"`{name}`" for name in entry[1].split(", "))]
            begun = entry[2] is not None
            lines += [f":   {_escaped(entry[2])}"] if begun else []
        elif line.strip():
            lines.append(f"{'    ' if begun else ':   '}{_escaped(line.strip())}")
            begun = True
    return "\n".join(lines).strip("\n")


def _escaped(line: str) -> str:
    """A line of prose in which only code spans and titles in asterisks mean something to Markdown."""
    line = ROLE.sub(lambda role: f"`{role[1].rsplit('.', 1)[-1]}`", line)
    pieces = CODE.split(line)
    for at in range(0, len(pieces), 2):
        words = TITLE.split(pieces[at])
        words[::2] = [re.sub(r"([*_<\[\]$|])", r"\\\1", word) for word in words[::2]]
        pieces[at] = "".join(words)
    return "".join(pieces)
