"""The extension by which the reference pages get their docstrings as Markdown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))
from markdown_of_docstrings import to_markdown


class Markdown(griffe.Extension):
    """Turn every docstring into Markdown before it is rendered."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each object that it has read."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)
