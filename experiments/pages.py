"""Tables on pages: what lies between two marks is made by a script."""

from __future__ import annotations

import sys


def on_page(text: str, mark: str, table: str) -> str:
    """The page with a table between its marks."""
    before, begin, rest = text.partition(f"<!-- {mark} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    if not begin or not end:
        sys.exit(f"The page needs the lines <!-- {mark} --> and <!-- end -->.")
    return f"{before}{begin}{table}{end}{after}"
