"""What mkdocs does not do by itself: formulas become MathML, pictures a part of the page that follows its colours.

Both happen while the site is built, so that a reader's browser loads nothing but the site.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
MENDED = {  # what browsers do not read, or space badly
    r' columnalign="(\w+)"': r' style="text-align:\1;padding-left:0;padding-right:0.3em"',
    r"<mo[^>]*>(&#x02016;|&#x0007C;)</mo>": r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>',
    r"<mo>&#x022A4;</mo>": r'<mi mathvariant="normal">&#x022A4;</mi>',
    r"<mi>(&#x003(?:9[1-9A-F]|A[0-9]);)</mi>": r'<mi mathvariant="normal">\1</mi>',
    r"<mover>": r'<mover accent="true">',
}
PICTURE = re.compile(r'<img alt="([^"]*)" src="([^"]+\.svg)"\s*/?>')


def on_page_content(page_html: str, page: Any, config: Any, **_: Any) -> str:
    """Called by mkdocs with the page's HTML."""
    page_html = FORMULA.sub(lambda found: formula(html.unescape(found[3]).strip(), found[2] == "["), page_html)
    return PICTURE.sub(lambda found: picture(Path(config["docs_dir"]) / "pictures", found[2], found[1]), page_html)


def formula(latex: str, block: bool) -> str:
    """Return LaTeX as MathML; a block may be wider than a phone and then scrolls by itself."""
    written = convert(latex.replace("{aligned}", "{align*}"), display="block" if block else "inline")
    for pattern, better in MENDED.items():
        written = re.sub(pattern, better, written)
    return f'<div class="formula">{written}</div>' if block else written


def picture(folder: Path, source: str, shows: str) -> str:
    """Return the SVG itself instead of a reference to it; what it shows is its name for those who cannot see it."""
    drawn = (folder / Path(source).name).read_text(encoding="utf-8")
    said = f'<svg role="img" aria-label="{" ".join(shows.split())}" '
    drawn = drawn.replace("<svg ", said, 1)
    return f'<figure class="picture">{drawn}</figure>'
