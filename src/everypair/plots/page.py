"""HTML of a report: one file with its styles and pictures inside, no script, no network.

Whatever comes from data goes through :func:`text`, which escapes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; --page: #fbfbfa; --card: #ffffff; --ink: #1c2024; --muted: #60666c; --line: #dfe2e5;
  --model: #0e7c86; --other: #c2571a; --third: #6b4fbb; --soft: #eef6f6;
  --font: "Inter", system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
@media (prefers-color-scheme: dark) { :root { --page: #121416; --card: #1a1d20; --ink: #e9ebed; --muted: #9aa1a8;
  --line: #33383d; --model: #4fc3cd; --other: #f0925a; --third: #ab94f0; --soft: #16282a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 var(--font); }
main { max-width: 1120px; margin: 0 auto; padding: 3rem 1.25rem 5rem; }
h1 { font-size: clamp(1.7rem, 4vw, 2.4rem); line-height: 1.15; letter-spacing: -0.02em; margin: 0 0 .4rem; }
h2 { font-size: 1.3rem; letter-spacing: -0.01em; margin: 3rem 0 .3rem; }
h3 { font-size: 1rem; margin: 0 0 .4rem; }
p { margin: .3rem 0 1rem; max-width: 70ch; }
.muted { color: var(--muted); }
code { font: .88em ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.cards, .figures { display: grid; gap: 1rem; margin: 1.2rem 0; }
.cards { grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); }
.figures { grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
.figures > :only-child { max-width: 680px; }
.card, figure, .sample { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 1rem 1.1rem; }
.card b { display: block; font-size: 1.7rem; line-height: 1.2; letter-spacing: -0.02em;
  font-variant-numeric: tabular-nums; }
.card span { color: var(--muted); font-size: .88rem; }
figure { margin: 0; } figure svg { width: 100%; height: auto; display: block; }
figure svg text { font-family: var(--font) !important; }
figcaption { font-size: .92rem; margin-bottom: .5rem; font-weight: 600; }
figcaption small { display: block; font-weight: 400; color: var(--muted); }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .94rem; }
th, td { text-align: right; padding: .45rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--muted); font-weight: 600; } th:first-child, td:first-child { text-align: left; padding-left: 0; }
td.words { text-align: left; color: var(--muted); white-space: normal; min-width: 16rem; }
tr.best td { background: var(--soft); }
.verdict { border-left: 3px solid var(--model); padding: .2rem 0 .2rem 1rem; }
.samples { display: grid; gap: 1rem; margin: 1.2rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 330px), 1fr)); }
.sample ol { margin: .2rem 0 .6rem; padding-left: 2rem; } .sample li { overflow-wrap: anywhere; }
.hit { color: var(--model); font-weight: 600; }
@media print { body { background: #fff; } .card, figure, .sample { break-inside: avoid; } }
"""


def text(value: Any) -> str:
    """Text that came from data, safe between tags and in attributes.

    >>> text("<script>")
    '&lt;script&gt;'
    """
    return escape(str(value), quote=True)


def figure(svg: str, caption: str, note: str = "") -> str:
    """A picture with its caption; ``svg`` is ours, the words are escaped."""
    small = f"<small>{text(note)}</small>" if note else ""
    words = f"<figcaption>{text(caption)}{small}</figcaption>"
    return f'<figure role="group" aria-label="{text(caption)}">{words}{svg}</figure>'


def figures(parts: Iterable[str]) -> str:
    """Pictures beside each other where there is room."""
    return f'<div class="figures">{"".join(parts)}</div>'


def cards(entries: Sequence[tuple[str, str]]) -> str:
    """Large numbers with a word below each."""
    inside = "".join(
        f'<div class="card"><b>{text(value)}</b><span>{text(word)}</span></div>' for value, word in entries
    )
    return f'<div class="cards">{inside}</div>'


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], best: int | None = None, words: int = -1) -> str:
    """A table that scrolls by itself where the page is narrow; row ``best`` is marked, column ``words`` is prose."""
    top = "".join(f'<th scope="col">{text(cell)}</th>' for cell in head)
    body = ""
    for number, row in enumerate(rows):
        cells = "".join(
            f"<td{' class=words' if column == words else ''}>{text(cell)}</td>" for column, cell in enumerate(row)
        )
        body += f"<tr{' class=best' if number == best else ''}>{cells}</tr>"
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def section(title: str, lead: str, *parts: str) -> str:
    """A heading, a sentence, and what belongs to it."""
    return f'<section><h2>{text(title)}</h2><p class="muted">{text(lead)}</p>{"".join(parts)}</section>'


def sample(title: str, groups: Sequence[tuple[str, Sequence[tuple[str, bool]]]]) -> str:
    """A user with named lists; entries that are marked stand out."""
    inside = f"<h3>{text(title)}</h3>"
    for name, entries in groups:
        listed = "".join(
            f"<li{' class=hit' if marked else ''}>{text(entry)}{' ✓' if marked else ''}</li>"
            for entry, marked in entries
        )
        inside += f'<span class="muted">{text(name)}</span><ol>{listed}</ol>'
    return f'<div class="sample">{inside}</div>'


def page(title: str, lead: str, body: str) -> str:
    """The whole file."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        f'img-src data:"><title>{text(title)}</title><style>{STYLE}</style></head><body><main>'
        f"<header><h1>{text(title)}</h1><p>{lead}</p></header>{body}</main></body></html>\n"
    )
