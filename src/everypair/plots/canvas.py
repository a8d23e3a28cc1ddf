"""Figures as SVG text that takes its colours and its font from the page around it.

matplotlib draws with stand-in colours; in the SVG they become CSS variables (``var(--ink)``), so that one file is right
on light and on dark pages. Nothing global of matplotlib is touched.
"""

from __future__ import annotations

import io
import re
from typing import Any

COLOURS = {  # stand-ins that nobody would choose
    "ink": "#0a0b0c",
    "muted": "#7a7b7c",
    "line": "#dadbdc",
    "model": "#0e7c86",
    "other": "#c2571a",
    "third": "#6b4fbb",
}
SETTINGS = {"svg.fonttype": "none", "font.size": 9.0, "axes.titlesize": 10.0, "text.parse_math": False}


def import_matplotlib() -> Any:
    """Matplotlib, or a sentence that names the extra."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError('plots need matplotlib: pip install "everypair[plot]".') from None
    return matplotlib


def new_figure(width: float = 5.2, height: float = 3.3) -> tuple[Any, Any]:
    """A figure and its axes, drawn in the page's colours."""
    import_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    style(axes)
    return figure, axes


def style(axes: Any) -> None:
    """Thin lines, no box, ink from the page."""
    axes.set_facecolor("none")
    axes.figure.set_facecolor("none")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(COLOURS["line"])
    axes.tick_params(colors=COLOURS["muted"], which="both", length=3, labelsize=8.5)
    axes.tick_params(which="minor", length=1.5)
    axes.grid(axis="y", color=COLOURS["line"], linewidth=0.6)
    axes.set_axisbelow(True)
    axes.xaxis.label.set_color(COLOURS["ink"])
    axes.yaxis.label.set_color(COLOURS["ink"])


def legend(axes: Any, handles: Any = None) -> None:
    """A legend above the axes, where it covers nothing."""
    handles = axes.get_legend_handles_labels()[0] if handles is None else handles
    axes.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncols=4, frameon=False,
        labelcolor=COLOURS["ink"], fontsize=8.5, handlelength=1.4, columnspacing=1.2,
    )  # fmt: skip


def plain_logarithms(axis: Any) -> None:
    """Plain numbers on a logarithmic axis, at 1, 2, 5 of each power of ten, or at 1 alone where there are many."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_data_interval())
    wide = low > 0 and high / low > 300
    axis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0), numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def to_svg(figure: Any, name: str) -> str:
    """The figure as inline SVG; ``name`` keeps its ids apart from those of other figures on the page."""
    matplotlib = import_matplotlib()
    file = io.StringIO()
    with matplotlib.rc_context({**SETTINGS, "svg.hashsalt": name}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    for variable, colour in COLOURS.items():
        svg = svg.replace(colour, f"var(--{variable})")
    svg = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", svg, count=1)
    return re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", svg, count=1)
