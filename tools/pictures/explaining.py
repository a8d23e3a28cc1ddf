"""Pictures that explain: drawn from formulas and words, no measurement in them."""

from __future__ import annotations

import math
import random

from drawing import Chart, Drawing, Scale


def grid(
    drawing: Drawing, x: float, y: float, columns: int, rows: int, cell: float, filled: set[tuple[int, int]]
) -> None:
    """A matrix of cells, some of them filled."""
    drawing.box(x, y, columns * cell, rows * cell, "pale", "one")
    for column in range(1, columns):
        drawing.line([(x + column * cell, y), (x + column * cell, y + rows * cell)], "line", 0.7)
    for row in range(1, rows):
        drawing.line([(x, y + row * cell), (x + columns * cell, y + row * cell)], "line", 0.7)
    for row, column in sorted(filled):
        drawing.box(x + column * cell + 1.5, y + row * cell + 1.5, cell - 3, cell - 3, "two", "none", 2)


def gram() -> str:
    """How the sum over all pairs collapses into two Gram matrices."""
    drawing = Drawing(760, 330)
    chosen = random.Random(4)
    stored = {(row, column) for row in range(10) for column in range(14) if chosen.random() < 0.11}
    drawing.text(20, 26, "a square for every pair", 14, "ink", bold=True)
    grid(drawing, 20, 44, 14, 10, 15, stored)
    drawing.text(20, 218, "½ Σ p q (ỹ − s)², m × n cells", 13, "soft")
    drawing.text(252, 126, "=", 26, "ink", "middle")

    drawing.text(276, 26, "two Gram matrices, k × k", 14, "ink", bold=True)
    drawing.box(276, 44, 34, 150, "pale", "one", 2)
    drawing.text(293, 124, "U", 15, "ink", "middle", True)
    drawing.text(293, 212, "m × k", 11.5, "soft", "middle")
    drawing.arrow((314, 84), (338, 84))
    drawing.box(342, 67, 34, 34, "one", "none", 3)
    drawing.text(357, 124, "UᵀPU", 12.5, "ink", "middle")
    drawing.box(450, 44, 34, 120, "pale", "one", 2)
    drawing.text(467, 109, "V", 15, "ink", "middle", True)
    drawing.text(467, 182, "n × k", 11.5, "soft", "middle")
    drawing.arrow((446, 84), (422, 84))
    drawing.box(384, 67, 34, 34, "one", "none", 3)
    drawing.text(403, 124, "VᵀQV", 12.5, "ink", "middle")
    drawing.text(380, 152, "½⟨UᵀPU, VᵀQV⟩", 13, "soft", "middle")
    drawing.text(380, 170, "− …", 13, "soft", "middle")
    drawing.text(512, 126, "+", 26, "ink", "middle")

    drawing.text(540, 26, "stored pairs, one by one", 14, "ink", bold=True)
    for row, column in sorted(stored):
        drawing.box(540 + column * 14, 46 + row * 14.6, 11, 11, "two", "none", 2)
    drawing.text(540, 218, "c ℓ(y, s) − ½ p q (ỹ − s)²", 13, "soft")

    drawing.line([(20, 250), (740, 250)])
    drawing.text(20, 280, "Cost of a value, a gradient or a product with the Hessian:", 13)
    drawing.text(20, 306, "O(|Ω| k + (m + n) k²)", 16, "one", bold=True)
    drawing.text(222, 306, "and never anything of the order of m · n.", 13)
    return drawing.svg()


def losses() -> str:
    """What a positive pays at a score, and what every other pair pays."""
    drawing = Drawing(760, 320)
    chart = Chart(drawing, Scale(-2.5, 3.5, 50, 560), Scale(0, 4, 250, 30))
    chart.axes({v: f"{v:d}" for v in range(-2, 4)}, {v: f"{v:d}" for v in range(5)}, "score s", "loss")
    curves = {
        "logistic": ("one", lambda s: math.log1p(math.exp(-s))),
        "squared": ("three", lambda s: 0.5 * (1 - s) ** 2),
        "squared hinge": ("two", lambda s: 0.5 * max(0.0, 1 - s) ** 2),
    }
    scores = [-2.5 + 0.05 * step for step in range(121)]
    for name, (stroke, loss) in curves.items():
        points = [(s, loss(s)) for s in scores if loss(s) <= 4]
        chart.curve(points, stroke, 3 if name == "logistic" else 2.2, name == "squared hinge")
    chart.curve([(s, 0.1 * (s + 1) ** 2) for s in scores], "soft", 2, True)
    drawing.text(575, 50, "a stored pair", 13, "ink", bold=True)
    for place, (name, (stroke, _)) in enumerate(curves.items()):
        drawing.text(575, 74 + 22 * place, name, 13, stroke, bold=name == "logistic")
    drawing.text(575, 160, "any other pair", 13, "ink", bold=True)
    drawing.text(575, 182, "½ w (s + 1)²,", 13, "soft")
    drawing.text(575, 202, "drawn with w = 0.2", 13, "soft")
    return drawing.svg()


def boxes(drawing: Drawing, y: float, steps: list[tuple[str, str]], width: float, height: float = 62) -> None:
    """Steps in a row with arrows between them; a step is (name, what it does)."""
    gap = (drawing.width - 20 - width * len(steps)) / (len(steps) - 1)
    for place, (name, what) in enumerate(steps):
        x = 10 + place * (width + gap)
        drawing.box(x, y, width, height, "pale", "one", 7)
        drawing.text(x + width / 2, y + 26, name, 13.5, "ink", "middle", True)
        drawing.text(x + width / 2, y + 46, what, 11.5, "soft", "middle")
        if place:
            drawing.arrow((x - gap + 3, y + height / 2), (x - 4, y + height / 2))


def production() -> str:
    """The way of a model from a log to a list, and what comes back."""
    drawing = Drawing(760, 230)
    steps = [
        ("events.csv", "last night's log"),
        ("fit", "checkpoints"),
        ("evaluate", "beside Popularity"),
        ("model.ep", "atomic, checked"),
        ("recommend", "memory-mapped"),
    ]
    boxes(drawing, 20, steps, 122)
    drawing.text(750, 128, "by day", 12.5, "ink", "end", True)
    drawing.text(750, 148, "add_users, add_items", 12, "soft", "end")
    drawing.line([(694, 160), (694, 196), (71, 196)], "soft", 1.5)
    drawing.arrow((71, 196), (71, 90))
    drawing.text(380, 188, "new events, and what was shown and taken", 12.5, "soft", "middle")
    return drawing.svg()


def events_to_matrix() -> str:
    """A table of events becomes a matrix with names."""
    drawing = Drawing(760, 210)
    rows = [
        "user_id  song  count",
        "ann      blue      1",
        "ann      rain      2",
        "bob      blue      3",
        "cem      iron      4",
    ]
    drawing.text(20, 26, "a table", 14, "ink", bold=True)
    drawing.box(20, 40, 190, 140, "pale", "one", 6)
    for place, line in enumerate(rows):
        cells = line.split()
        fill = "soft" if place == 0 else "ink"
        for cell, x in zip(cells, (34, 100, 196)):
            drawing.text(x, 64 + 26 * place, cell, 13, fill, "end" if x == 196 else "start")
    drawing.arrow((222, 110), (296, 110))
    drawing.text(259, 98, "read_events", 12, "soft", "middle")
    drawing.text(310, 26, "a matrix with ids", 14, "ink", bold=True)
    for place, name in enumerate(("blue", "dust", "iron", "rain")):
        drawing.text(376 + 36 * place, 58, name, 11.5, "soft", "middle")
    values = {(0, 0): "1", (0, 3): "2", (1, 0): "3", (2, 2): "4"}
    for row, name in enumerate(("ann", "bob", "cem")):
        drawing.text(350, 88 + 36 * row, name, 12, "soft", "end")
        for column in range(4):
            stored = values.get((row, column))
            drawing.box(358 + 36 * column, 66 + 36 * row, 36, 36, "two" if stored else "pale", "line")
            if stored:
                drawing.text(376 + 36 * column, 89 + 36 * row, stored, 13, "paper", "middle", True)
    drawing.arrow((512, 120), (586, 120))
    drawing.text(549, 108, "fit", 12, "soft", "middle")
    drawing.text(600, 26, "lists by name", 14, "ink", bold=True)
    for place, line in enumerate(("ann → dust, iron", "bob → rain, dust", "cem → dust, rain")):
        drawing.text(600, 88 + 36 * place, line, 13)
    return drawing.svg()


def side_information() -> str:
    """Factors from own vectors and features."""
    drawing = Drawing(760, 200)

    def matrix(x: float, width: float, height: float, name: str, below: str, fill: str = "pale") -> None:
        drawing.box(x, 30, width, height, fill, "one", 3)
        drawing.text(x + width / 2, 36 + height / 2, name, 16, "ink", "middle", True)
        drawing.text(x + width / 2, 48 + height, below, 11.5, "soft", "middle")

    matrix(60, 40, 110, "U", "factors")
    drawing.text(132, 92, "=", 24, "ink", "middle")
    matrix(164, 40, 110, "T", "own vectors")
    drawing.text(236, 92, "+", 24, "ink", "middle")
    matrix(268, 130, 110, "X", "features")
    drawing.text(419, 92, "·", 26, "ink", "middle")
    matrix(438, 40, 84, "W", "learnt")
    drawing.text(520, 62, "A user or an item without events", 13)
    drawing.text(520, 84, "has no row in T, but it has", 13)
    drawing.text(520, 106, "features: x W is its vector.", 13, "one", bold=True)
    return drawing.svg()


def model_file() -> str:
    """The bytes of a model file."""
    drawing = Drawing(760, 140)
    parts = [
        ("64 bytes", "magic, version,", "lengths, SHA-256", 130, "two"),
        ("header", "JSON: class, parameters,", "names, shapes, checksums", 200, "three"),
        ("array", "user_factors", "64-byte aligned", 130, "one"),
        ("array", "item_factors", "memory-mapped", 130, "one"),
        ("…", "what users have seen,", "ids as text", 130, "one"),
    ]
    x = 16.0
    for name, first, second, width, fill in parts:
        drawing.box(x, 20, width, 44, fill, "none", 4)
        drawing.text(x + width / 2, 47, name, 14, "paper", "middle", True)
        drawing.text(x + width / 2, 86, first, 11.5, "soft", "middle")
        drawing.text(x + width / 2, 102, second, 11.5, "soft", "middle")
        x += width + 2
    return drawing.svg()


def tuning() -> str:
    """What tune does with the training data."""
    drawing = Drawing(760, 110)
    steps = [
        ("hold out", "a tenth of the entries"),
        ("reference", "the model as given"),
        ("candidates", "warm starts, pruned"),
        ("finalists", "cold, halves of users"),
        ("verdict", "refit on everything"),
    ]
    boxes(drawing, 20, steps, 130)
    return drawing.svg()
