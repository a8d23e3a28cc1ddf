"""Shapes and charts as SVG text, in colours that a page can change.

On the site a picture is a part of the page and takes its colours, light or dark; as a file by itself it follows the
reader's system. Coordinates are rounded, so that the same numbers give the same file.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

LIGHT = "ink:#22303c soft:#697783 line:#cfd6dc paper:#fff one:#0d7f74 two:#c2571a three:#5a63b8 pale:#e3f1ef"
DARK = "ink:#e3e9ee soft:#9aa7b3 line:#3a4652 paper:#12181f one:#4fc8ba two:#f0975a three:#a3abf2 pale:#1b3a39"
LIGHT, DARK = (";".join(f"--{each}" for each in colours.split()) for colours in (LIGHT, DARK))
STYLE = (
    f"svg.drawn{{{LIGHT};font-family:ui-sans-serif,system-ui,'Segoe UI',Helvetica,Arial,sans-serif}}"
    f"@media(prefers-color-scheme:dark){{svg.drawn{{{DARK}}}}}"
)
Point = tuple[float, float]


def number(value: float) -> str:
    """A coordinate, rounded to a tenth."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def colour(name: str) -> str:
    return name if name == "none" else f"var(--{name})"


@dataclass
class Drawing:
    """An SVG of a given size to which shapes are added."""

    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = 13,
        fill: str = "ink",
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{number(x)}" y="{number(y)}" font-size="{size}" text-anchor="{anchor}"{weight} '
            f'style="fill:{colour(fill)}">{html.escape(words, quote=False)}</text>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = "none",
        stroke: str = "line",
        round: float = 0,
        opacity: float = 1,
    ) -> None:
        see_through = f' fill-opacity="{opacity}"' if opacity < 1 else ""
        self.parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" rx="{round}"'
            f'{see_through} style="fill:{colour(fill)};stroke:{colour(stroke)}"/>'
        )

    def line(self, points: Sequence[Point], stroke: str = "line", width: float = 1, dashed: bool = False) -> None:
        path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        dash = ' stroke-dasharray="4 4"' if dashed else ""
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke-width="{width}" stroke-linejoin="round"{dash} '
            f'style="stroke:{colour(stroke)}"/>'
        )

    def arrow(self, start: Point, end: Point, stroke: str = "soft") -> None:
        (x0, y0), (x1, y1) = start, end
        angle = math.atan2(y1 - y0, x1 - x0)
        self.line([start, (x1 - 5 * math.cos(angle), y1 - 5 * math.sin(angle))], stroke, 1.5)
        wings = [(x1 - 9 * math.cos(angle + turn), y1 - 9 * math.sin(angle + turn)) for turn in (0.45, -0.45)]
        path = " ".join(f"{number(x)},{number(y)}" for x, y in [end, *wings])
        self.parts.append(f'<polygon points="{path}" style="fill:{colour(stroke)}"/>')

    def dot(self, x: float, y: float, radius: float = 4.5, fill: str = "one") -> None:
        self.parts.append(
            f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" style="fill:{colour(fill)}"/>'
        )

    def svg(self) -> str:
        size = f"{number(self.width)} {number(self.height)}"
        inside = "\n".join(self.parts)
        return (
            f'<svg class="drawn" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}">\n'
            f"<style>{STYLE}</style>\n{inside}\n</svg>\n"
        )


@dataclass(frozen=True)
class Scale:
    """Numbers to coordinates, evenly or by their logarithms."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.start + (value - low) / (high - low) * (self.end - self.start)


@dataclass
class Chart:
    """Axes on a drawing: grid lines at the ticks, labels below and at the left."""

    drawing: Drawing
    x: Scale
    y: Scale

    def axes(
        self, x_ticks: dict[float, str], y_ticks: dict[float, str], x_label: str, y_label: str, grid: bool = True
    ) -> None:
        for value, words in y_ticks.items():
            if grid:
                self.drawing.line([(self.x.start, self.y(value)), (self.x.end, self.y(value))])
            self.drawing.text(self.x.start - 8, self.y(value) + 4, words, 12, "soft", "end")
        for value, words in x_ticks.items():
            self.drawing.text(self.x(value), self.y.start + 18, words, 12, "soft", "middle")
        self.drawing.line([(self.x.start, self.y.start), (self.x.end, self.y.start)], "soft")
        self.drawing.text((self.x.start + self.x.end) / 2, self.y.start + 38, x_label, 12.5, "ink", "middle")
        self.drawing.text(self.x.start - 8, self.y.end - 14, y_label, 12.5, "ink", "start")

    def curve(self, points: Sequence[Point], stroke: str, width: float = 2.2, dashed: bool = False) -> None:
        self.drawing.line([(self.x(a), self.y(b)) for a, b in points], stroke, width, dashed)


def bars(
    drawing: Drawing, rows: Sequence[tuple[str, float, str]], left: float, top: float, right: float, most: float
) -> None:
    """Horizontal bars with their names at the left and their values at the right; a row is (name, value, colour)."""
    for place, (name, value, fill) in enumerate(rows):
        y, length = top + 30 * place, (right - left) * value / most
        drawing.text(left - 10, y + 15, name, 13, "ink", "end")
        drawing.box(left, y, length, 20, fill, "none", 3)
        drawing.text(left + length + 7, y + 15, f"{value:.3f}", 12.5, "ink")
