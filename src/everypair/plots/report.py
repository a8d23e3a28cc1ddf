"""``report``: what the data are like, how a model learnt, how good it is and for whom, in one HTML file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from everypair import check
from everypair.data.matching import IdPair, as_events
from everypair.data.pairs import Pairs
from everypair.data.splits import check_held_out, held_out_words, hold_out
from everypair.evaluate.by_id import without_ids
from everypair.metrics.patterns import positive_pattern, stored_pattern, without
from everypair.models.recommend.counts import Popularity
from everypair.models.recommend.recommender import in_positions, known_ids
from everypair.plots import charts, page
from everypair.plots.canvas import import_matplotlib, new_figure, to_svg
from everypair.plots.measure import LENGTH, MeasuredModel, measure_model
from everypair.progress import stage
from everypair.store.write import check_place, replacing
from everypair.tuning.result import Tuning
from everypair.words import in_digits

SHOWN = (f"ndcg@{LENGTH}", f"recall@{LENGTH}", f"precision@{LENGTH}", f"hit_rate@{LENGTH}", f"map@{LENGTH}", "auc")
LIST_WORDS = {
    "coverage": "share of all items that somebody gets",
    "popularity": "mean popularity of what is shown, 1 the most popular item",
    "novelty": "0 what everybody has, 1 what nobody has",
    "diversity": "1 less the mean cosine of the items of a list",
    "serendipity": "right, and not among the most popular",
}
LIKED = 8  # of a sample user
BEST_TRIALS = 12
OWN_SPLIT = 1  # beside the seed: other entries than those on which tune with the same seed has chosen


def report(
    model: Any,
    train: Any,
    test: Any = None,
    path: Any = "report.html",
    *,
    held_out: str = "random",
    test_share: float = 0.1,
    since: Any = None,
    tuning: Tuning | None = None,
    times: Any = None,
    user_ids: Any = None,
    item_ids: Any = None,
    title: str | None = None,
    test_note: str | None = None,
    samples: int = 6,
    random_state: int = 0,
) -> Path:
    """Write one self-contained HTML file about a recommender and return its path.

    Parameters
    ----------
    model : a fitted recommender, or an unfitted one, which is cloned and fitted on ``train``.
    train : what it was fitted on: events, ids and times included, or a matrix (users × items).
    test : held-out positives, events or a matrix of the same shape; without it a part is held out of ``train`` and a
        clone of the model is fitted on the rest. Pairs that are in ``train`` too are left out, and counted.
    path : the file to write.
    held_out, test_share, since : which part, as :func:`everypair.tune` has them; the page says so.
    tuning : what :func:`everypair.tune` returned, to show how much the parameters matter. It has seen all that it was
        given: ``test`` must have been held out before.
    times, user_ids, item_ids : times of the stored pairs, names of users and items, where ``train`` has none.
    title, test_note : of the page, and how ``test`` was chosen, where this function does not know it.
    samples : number of users whose recommendations are shown by name.
    random_state : seed of the held-out entries and of the choice of sample users.

    Data and convergence, metrics with 95 % intervals beside :class:`~everypair.Popularity`, quality by user activity
    and item popularity, coverage and lean on popularity, sensitivity after tuning, samples by name. The file needs no
    network and no script, and follows the reader's light or dark setting. Needs matplotlib (extra ``plot``).

    Examples
    --------
    >>> from everypair import OneClassMF
    >>> blocks = np.kron(np.eye(3), np.ones((20, 10))) * (np.random.default_rng(0).random((60, 30)) < 0.5)
    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = report(OneClassMF(rank=4), blocks, path=os.path.join(folder, "report.html"))
    ...     file.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    check_report(path)
    check.integer("samples", samples, 0)
    if tuning is not None and not isinstance(tuning, Tuning):
        raise TypeError(f"tuning must be what everypair.tune returned, got {type(tuning).__name__}.")
    if tuning is not None and test is None:
        raise ValueError(
            "tuning= has seen all that it was given, and a report on a part of that would flatter it: hold a test part "
            "out first (train, test = split_entries(events)), tune on train, and give both."
        )
    check_held_out(held_out, since)
    events, ids = as_events(train, "train"), known_ids(model)
    if events is not None:
        times = events.times if times is None else times
        ids = ids or IdPair(events.user_ids, events.item_ids)
    if ids is not None:
        user_ids = ids.users if user_ids is None else user_ids
        item_ids = ids.items if item_ids is None else item_ids
    if test is None:
        seed = [random_state, OWN_SPLIT] if held_out == "random" else None
        parts = hold_out(train if events is None else events, held_out, times, seed, test_share, since)
        test_note = test_note or f"{held_out_words(held_out, test_share, since, random_state)}, held out before fitting"
        model = clone(in_positions(model)).fit(parts[0] if events is None else parts[0].matrix)
        train, test = parts
    model, learnt, test, _ = without_ids(model, train, test)
    matrix = Pairs.from_matrix(learnt, name="train").to_csr()
    learnt, model = matrix, _fitted(model, matrix)
    test = positive_pattern(test, "test")
    fresh = without(test, stored_pattern(learnt, "train"))
    said = _test_words(fresh, test.nnz - fresh.nnz, test_note or "as they were given")
    test = fresh
    names = _names(user_ids, matrix.shape[0], "user"), _names(item_ids, matrix.shape[1], "item")
    stage("measured on what was held out")
    measured = measure_model(type(model).__name__, model, learnt, test)
    floor = measure_model("Popularity", Popularity().fit(learnt), learnt, test)
    stage("pictures of the report")
    body = [
        _headline(measured, floor, said),
        _data(matrix, times),
        _convergence(model, tuning),
        _quality(measured, floor),
        _groups(measured, floor),
        _catalogue(measured, floor, learnt),
        "" if tuning is None else _sensitivity(tuning),
        _samples(measured, learnt, test, names, samples, random_state),
    ]
    title = (
        f"{type(model).__name__} on {matrix.shape[0]:,} users and {matrix.shape[1]:,} items" if title is None else title
    )
    target = Path(path)
    with replacing(target) as file:
        file.write(page.page(title, f"<code>{page.text(_described(model))}</code>", "".join(body)).encode("utf-8"))
    return target


def check_report(path: Any) -> None:
    """Refuse what ends in no report, before any work: a path that cannot be written or is none of HTML, no matplotlib.

    >>> check_report("report.pdf")
    Traceback (most recent call last):
    ValueError: report.pdf must end in .html: a report is one HTML file, which a browser opens and prints.
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{path} must end in .html: a report is one HTML file, which a browser opens and prints.")
    check_place(path)
    import_matplotlib()


def _test_words(test: Any, repeats: int, note: str) -> str:
    """Say what the page is measured on."""
    users = np.count_nonzero(np.diff(test.indptr))
    again = f" {repeats:,} more are of users who have the item already, and are left out." if repeats else ""
    return f"Measured on {test.nnz:,} test pairs of {users:,} users: {note}.{again}"


def _headline(measured: MeasuredModel, floor: MeasuredModel, said: str) -> str:
    name = f"ndcg@{LENGTH}"
    low, high = measured.metrics.interval(name)
    share = measured.metrics[name] / floor.metrics[name] if floor.metrics[name] else math.inf
    cards = page.cards([
        (f"{measured.metrics[name]:.3f}", f"nDCG@{LENGTH}, 95 % between {low:.3f} and {high:.3f}"),
        (f"{share:.2f}×" if math.isfinite(share) else "–", f"that of Popularity ({floor.metrics[name]:.3f})"),
        (f"{measured.metrics[f'recall@{LENGTH}']:.3f}", f"recall@{LENGTH}"),
        (f"{measured.lists[f'coverage@{LENGTH}']:.0%}", f"of all items are in somebody's first {LENGTH}"),
    ])  # fmt: skip
    return f'{cards}<p class="muted">{page.text(said)}</p>'


def _data(matrix: Any, times: Any) -> str:
    stored = stored_pattern(matrix, "train")
    users, items = np.diff(stored.indptr), np.bincount(stored.indices, minlength=stored.shape[1])
    dislikes = int(np.count_nonzero(matrix.data < 0))
    words = [
        (f"{stored.nnz:,}", "events" + (f", {dislikes:,} of them dislikes" if dislikes else "")),
        (f"{stored.nnz / (stored.shape[0] * stored.shape[1]):.2%}", "of all pairs are known"),
        (
            f"{np.median(users[users > 0]):,.0f}",
            f"events of the median user; {np.count_nonzero(users == 0):,} have none",
        ),
        (
            f"{np.median(items[items > 0]):,.0f}",
            f"events of the median item; {np.count_nonzero(items == 0):,} have none",
        ),
    ]
    drawing, axes = new_figure()
    charts.draw_degrees(axes, users, items)
    pictures = [page.figure(to_svg(drawing, "degrees"), "Events per user and per item", "Share with at least so many.")]
    if times is not None:
        values = np.asarray(times.data if hasattr(times, "indptr") else times)
        dates = values.dtype.kind == "M" or 1e8 < float(np.median(values.astype(np.float64))) < 4.2e9
        if values.dtype.kind == "M":
            values = values.astype("datetime64[s]").astype(np.int64)
        drawing, axes = new_figure()
        charts.draw_times(axes, values, dates)
        pictures.append(page.figure(to_svg(drawing, "times"), "Events over time"))
    return page.section("Data", "What the model can learn from.", page.cards(words), page.figures(pictures))


def _convergence(model: Any, tuning: Tuning | None) -> str:
    pictures = []
    history = getattr(model, "history_", None)
    if history:
        drawing, axes = new_figure()
        metric = next((name for name in history[0] if name.startswith("ndcg@")), None)
        charts.draw_history(axes, history, metric)
        seconds = history[-1].get("seconds")
        note = f"{len(history)} sweeps" + ("" if seconds is None else f" in {seconds:.2f} s") + f". {model.status_}"
        pictures.append(page.figure(to_svg(drawing, "history"), "Objective", note))
    curves = {name: curve for name, curve in (tuning.history if tuning is not None else {}).items() if curve}
    if tuning is not None and curves:
        drawing, axes = new_figure()
        charts.draw_curves(axes, curves, tuning.metric)
        pictures.append(
            page.figure(to_svg(drawing, "curves"), "Held-out quality by sweep", "Inside the training data.")
        )
    if not pictures:
        return ""
    return page.section("Convergence", "No sweep should raise the objective.", page.figures(pictures))


def _quality(measured: MeasuredModel, floor: MeasuredModel) -> str:
    drawing, axes = new_figure(height=3.6)
    charts.draw_metrics(axes, [measured, floor], SHOWN)
    rows = [(name, _interval(measured, name), _interval(floor, name)) for name in SHOWN]
    return page.section(
        "Quality",
        "Means over users with a test positive, with 95 % intervals; what a user has seen is not ranked.",
        page.figures(
            [
                page.figure(to_svg(drawing, "metrics"), "Metrics and their 95 % intervals"),
                page.table(["", measured.name, floor.name], rows),
            ]
        ),
    )


def _groups(measured: MeasuredModel, floor: MeasuredModel) -> str:
    pictures = []
    for name, caption, across, up, groups in (
        ("activity", "By user activity", "training events of the user", f"ndcg@{LENGTH}",
         {one.name: one.by_activity for one in (measured, floor)}),
        ("item-count", "By item popularity", "training events of the test item", f"share found in the first {LENGTH}",
         {one.name: one.by_popularity for one in (measured, floor)}),
    ):  # fmt: skip
        drawing, axes = new_figure()
        charts.draw_groups(axes, groups, across, up)
        pictures.append(page.figure(to_svg(drawing, name), caption, "Fifths, from few events to many."))
    rows = [
        (own.name, f"{own.entries:,}", _signed(own.recall, own.error), _signed(other.recall, other.error))
        for own, other in zip(measured.by_events, floor.by_events)
    ]
    return page.section(
        "For whom, and for what",
        f"Where the quality comes from; below, test entries found in the first {LENGTH} by events of the item.",
        page.figures(pictures),
        page.table(["events of the item", "test entries", measured.name, floor.name], rows),
    )


def _catalogue(measured: MeasuredModel, floor: MeasuredModel, train: Any) -> str:
    liked = positive_pattern(train, "train")
    consumed = np.sort(np.bincount(liked.indices, minlength=liked.shape[1]))[::-1].cumsum() / liked.nnz
    drawing, axes = new_figure()
    charts.draw_exposure(axes, [measured, floor], consumed)
    rows = [
        (f"{name}@{LENGTH}", _value(measured, f"{name}@{LENGTH}"), _value(floor, f"{name}@{LENGTH}"), words)
        for name, words in LIST_WORDS.items()
    ]
    return page.section(
        "Coverage and popularity",
        "Above the dashed line recommendations lean on the popular more than users do.",
        page.figures(
            [page.figure(to_svg(drawing, "exposure"), "Who is shown", "Cumulative share of recommendations.")]
        ),
        page.table(["", measured.name, floor.name, ""], rows, words=3),
    )


def _sensitivity(tuning: Tuning) -> str:
    pictures = []
    for number, name in enumerate(tuning.space):
        drawing, axes = new_figure()
        charts.draw_sensitivity(axes, tuning, name)
        pictures.append(page.figure(to_svg(drawing, f"sensitivity{number}"), name, "Bars are one standard error."))
    done = [row for row in tuning.table if not math.isnan(row[tuning.metric])]
    ranked = sorted(done, key=lambda row: -row[tuning.metric])[:BEST_TRIALS]
    rows = [
        (
            row["trial"],
            *(in_digits(row[name]) for name in tuning.space),
            _signed(row[tuning.metric], row["standard_error"]),
            _signed(row["gain"], row["gain_standard_error"], sign="+"),
            row["state"],
        )
        for row in ranked
    ]
    return page.section(
        "Tuning",
        "Each candidate on entries held out of the training data.",
        f'<p class="verdict">{page.text(tuning.verdict)}</p>',
        page.figures(pictures),
        page.table(["trial", *tuning.space, tuning.metric, "gain", ""], rows, best=charts.best_row(tuning, ranked)),
    )


def _samples(
    measured: MeasuredModel, train: Any, test: Any, names: tuple[Any, Any], count: int, random_state: int
) -> str:
    positives, liked = positive_pattern(test, "test"), positive_pattern(train, "train")
    users = np.flatnonzero(np.diff(positives.indptr))
    chosen = np.sort(np.random.default_rng(random_state).permutation(len(users))[:count])
    shown = []
    for place in chosen:
        user = users[place]
        wanted = set(positives.indices[positives.indptr[user] : positives.indptr[user + 1]].tolist())
        has = liked.indices[liked.indptr[user] : liked.indptr[user + 1]]
        listed = [item for item in measured.recommended[place].tolist() if item >= 0]
        more = f", {LIKED} of {len(has)}" if len(has) > LIKED else ""
        shown.append(
            page.sample(
                names[0](int(user)),
                [
                    (f"has{more}", [(names[1](int(item)), False) for item in has[:LIKED]]),
                    ("is recommended", [(names[1](item), item in wanted) for item in listed]),
                ],
            )
        )
    if not shown:
        return ""
    lead = "Users drawn at random; ✓ marks what they turned out to have."
    return page.section("Samples", lead, f'<div class="samples">{"".join(shown)}</div>')


def _fitted(model: Any, train: Any) -> Any:
    try:
        check_is_fitted(model)
    except Exception:  # scikit-learn's NotFittedError, or a class that it does not know
        return clone(model).fit(train)
    return model


def _names(ids: Any, size: int, kind: str) -> Any:
    if ids is None:
        return lambda position: f"{kind} {position}"
    if len(ids) != size:
        raise ValueError(f"{kind}_ids has {len(ids)} names for {size} {kind}s.")
    named = ids.ids if hasattr(ids, "ids") else ids
    return lambda position: str(named[position])


def _described(model: Any) -> str:
    """The model and its parameters, but not whether it said how it went."""
    quiet = clone(model).set_params(verbose=False) if "verbose" in model.get_params() else model
    return " ".join(repr(quiet).split())


def _interval(measured: MeasuredModel, name: str) -> str:
    low, high = measured.metrics.interval(name)
    return f"{measured.metrics[name]:.4f}" + ("" if math.isnan(low) else f"  ({low:.4f} – {high:.4f})")


def _value(measured: MeasuredModel, name: str) -> str:
    return _signed(measured.lists[name], measured.lists.standard_errors.get(name, math.nan))


def _signed(value: float, error: float, sign: str = "") -> str:
    if math.isnan(value):
        return "–"
    return f"{value:{sign}.4f}" + ("" if math.isnan(error) else f" ± {error:.4f}")
