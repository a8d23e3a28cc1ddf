"""The report: one file, everything in it, nothing from data unescaped; charts for notebooks."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp

import everypair
from everypair import (
    BPR,
    Blend,
    EnsembleMF,
    ItemItem,
    OneClassMF,
    Popularity,
    plot_history,
    report,
    tune,
)
from everypair.data import read_events, split_entries, split_per_row
from everypair.evaluate import list_metrics, ranking_metrics
from everypair.evaluate.by_events import hits
from everypair.plots import plot_sensitivity
from everypair.plots.measure import exposure, grouped, measure_model

matplotlib = pytest.importorskip("matplotlib")
RANDOM = np.random.default_rng(0)
LIKES = np.kron(np.eye(4), np.ones((25, 15))) * 0.4 + 0.05
MATRIX = sp.csr_array((RANDOM.random(LIKES.shape) < LIKES).astype(np.float32))
MODEL = OneClassMF(rank=6, random_state=0, max_iter=8, n_threads=1)
EVIL = '<script>alert("x")</script>'


class Reader(HTMLParser):
    """Notes tags, their attributes, and the text outside of style sheets."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.words, self.inside = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in ("meta", "br"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        assert self.inside.pop() == tag  # well formed

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        if "style" not in self.inside:
            self.words.append(data)


def read(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    assert not reader.inside
    return reader


def evil_events():
    rows, columns = MATRIX.nonzero()
    users, items = [f"{EVIL} {row}" for row in rows], [f"film & <b>{column}</b> $x_1$" for column in columns]
    when = RANDOM.integers(1_500_000_000, 1_600_000_000, size=len(rows))
    return read_events({"user": users, "item": items, "time": when}, verbose=False)


@pytest.fixture(scope="module")
def tuned():
    return tune(MODEL, MATRIX, trials=6)


def test_one_file_with_everything(tmp_path, tuned):
    events = evil_events()
    train, test = split_entries(events)
    path = report(MODEL, train, test, tmp_path / "report.html", tuning=tuned, title=f"Shop {EVIL}")
    page = read(path)
    words = " ".join(page.words)
    for title in (
        "Data",
        "Convergence",
        "Quality",
        "For whom, and for what",
        "Coverage and popularity",
        "Tuning",
        "Samples",
    ):
        assert title in page.words
    assert page.tags.count("svg") == page.tags.count("figure") == 2 + 2 + 1 + 2 + 1 + len(tuned.space)
    assert EVIL in words  # as text
    assert "film & <b>" in words
    assert tuned.verdict in words
    assert "script" not in page.tags
    assert "b" in page.tags  # ours, on the cards, and none of the items'
    assert all("<b>" in word or "film" not in word for word in page.words if "film" in word)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({}, "10 % of all events, drawn at random (seed 0), held out before fitting."),
        ({"held_out": "time", "test_share": 0.2}, "the latest 20 % of all events, held out before fitting."),
        ({"held_out": "time", "since": "2020-01-01"}, "all events since 2020-01-01, held out"),
        ({"held_out": "last"}, "the last event of every user who has two or more, held out"),
    ],
)
def test_a_page_says_what_it_is_measured_on(tmp_path, how, words):
    events = evil_events()
    said = " ".join(read(report(MODEL, events, path=tmp_path / "report.html", samples=0, **how)).words)
    assert words in said
    assert re.search(r"Measured on [\d,]+ test pairs of \d+ users", said)


def test_pairs_that_users_have_already_are_counted(tmp_path):
    train, test = split_entries(MATRIX)
    again = test.toarray()
    again[0] += train.toarray()[0]
    said = " ".join(read(report(MODEL, train, again, tmp_path / "report.html", samples=0)).words)
    assert f"{train[[0]].nnz} more are of users who have the item already" in said
    assert f"Measured on {test.nnz:,} test pairs" in said
    assert "as they were given" in said


def test_what_tuning_has_seen_is_no_test(tmp_path, tuned):
    with pytest.raises(ValueError, match="hold a test part out first"):
        report(tuned.model, MATRIX, path=tmp_path / "report.html", tuning=tuned)


def test_nothing_is_loaded_from_elsewhere(tmp_path):
    path = report(MODEL, evil_events(), path=tmp_path / "report.html")
    page, source = read(path), path.read_text(encoding="utf-8")
    assert not {"script", "link", "img", "iframe", "object", "image"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "srcset", "data")]
    links = [value for name, value in page.attributes if name in ("href", "xlink:href")]
    assert links
    assert all(value.startswith("#") for value in links)
    assert not re.search(r"@import|url\((?!#)", source)
    assert "default-src 'none'" in source


def test_ids_on_the_page_are_unique_and_found(tmp_path, tuned):
    page = read(report(MODEL, *split_entries(MATRIX), tmp_path / "report.html", tuning=tuned))
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for name, value in page.attributes if name in ("href", "xlink:href")} <= set(ids)


def test_pictures_take_the_colours_of_the_page(tmp_path):
    source = report(MODEL, MATRIX, path=tmp_path / "report.html").read_text(encoding="utf-8")
    pictures = "".join(re.findall(r"<svg.*?</svg>", source, re.DOTALL))
    assert "var(--model)" in pictures
    assert set(re.findall(r"(?:fill|stroke): ?(#[0-9a-f]{3,6})", pictures)) == set()
    assert "prefers-color-scheme: dark" in source
    assert "mathdefault" not in source


def test_the_same_report_twice(tmp_path):
    one, two = (report(MODEL, MATRIX, path=tmp_path / f"{name}.html") for name in "ab")
    without_seconds = [re.sub(r"in [\d.]+ s", "", path.read_text(encoding="utf-8")) for path in (one, two)]
    assert without_seconds[0] == without_seconds[1]


def test_the_numbers_are_those_of_the_metrics(tmp_path):
    train, test = split_entries(MATRIX, random_state=[0, 1])
    fitted = OneClassMF(**MODEL.get_params()).fit(train)
    found, floor = ranking_metrics(fitted, train, test), ranking_metrics(Popularity().fit(train), train, test)
    for path in (
        report(MODEL, MATRIX, path=tmp_path / "held_out.html"),
        report(fitted, train, test, tmp_path / "given.html"),
        report(MODEL, train, test, tmp_path / "unfitted.html"),
    ):
        words = read(path).words
        low, high = found.interval("recall@10")
        assert f"{found['recall@10']:.4f}  ({low:.4f} – {high:.4f})" in words
        assert f"{found['ndcg@10'] / floor['ndcg@10']:.2f}×" in words
        lists = list_metrics(fitted, train, test, [10])
        assert f"{lists['novelty@10']:.4f} ± {lists.standard_errors['novelty@10']:.4f}" in words


def test_samples_are_real_lists(tmp_path):
    train, test = split_entries(MATRIX, random_state=0)
    fitted = OneClassMF(**MODEL.get_params()).fit(train)
    source = report(fitted, train, test, tmp_path / "report.html", samples=3).read_text(encoding="utf-8")
    samples = re.findall(r'<div class="sample"><h3>user (\d+)</h3>.*?is recommended</span><ol>(.*?)</ol>', source)
    assert len(samples) == 3
    for user, listed in samples:
        items = fitted.recommend([int(user)], n=10)[0][0]
        shown = re.findall(r"<li( class=hit)?>item (\d+)", listed)
        assert [int(item) for _, item in shown] == items.tolist()
        assert [bool(hit) for hit, _ in shown] == [bool(test[int(user), item]) for item in items]
    none = report(fitted, train, test, tmp_path / "none.html", samples=0).read_text(encoding="utf-8")
    assert "Samples" not in none


EVERY = [
    ItemItem(),
    Popularity(),
    Blend(models=[ItemItem(), MODEL]),
    EnsembleMF(n_models=2, rank=4, max_iter=3),
    BPR(rank=4, max_iter=3),
]


@pytest.mark.parametrize("model", EVERY, ids=lambda model: type(model).__name__)
def test_every_recommender_has_a_report(model, tmp_path):
    page = read(report(model, MATRIX, path=tmp_path / "report.html"))
    assert ("Convergence" in page.words) == (type(model) in (EnsembleMF, BPR))


def test_times_that_are_no_dates_and_dislikes(tmp_path):
    matrix = MATRIX.copy()
    matrix.data[::7] = -0.1
    page = read(report(MODEL, matrix, path=tmp_path / "a.html", times=np.arange(matrix.nnz)))
    assert "Events over time" in page.words
    assert any("of them dislikes" in word for word in page.words)
    dates = np.datetime64("2026-01-01") + np.arange(MATRIX.nnz).astype("timedelta64[h]")
    assert "2026" in " ".join(read(report(MODEL, MATRIX, path=tmp_path / "b.html", times=dates)).words)


def test_groups_by_hand():
    sizes, values = np.array([5, 1, 1, 9, 2, 2]), np.array([1.0, 0.0, 1.0, 0.5, 0.25, 0.75])
    parts = grouped(sizes, values, 3)
    assert [(part.low, part.high, part.size, part.mean) for part in parts] == [
        (1, 1, 2, 0.5),
        (2, 2, 2, 0.5),
        (5, 9, 2, 0.75),
    ]
    assert parts[0].error == pytest.approx(0.5)
    assert sum(part.size for part in grouped(RANDOM.integers(9, size=100), np.ones(100))) == 100
    assert len(grouped(np.full(10, 3), np.ones(10))) == 1


def test_hits_and_exposure_by_loops():
    lists = np.array([RANDOM.permutation(20)[:5] for _ in range(30)])
    lists[3, 2:] = -1
    truth = sp.csr_array(RANDOM.random((30, 20)) < 0.2)
    expected = [j in lists[i] for i in range(30) for j in truth.indices[truth.indptr[i] : truth.indptr[i + 1]]]
    assert hits(lists, truth).tolist() == expected
    popularity = RANDOM.integers(5, size=20)
    order = sorted(range(20), key=lambda j: (-popularity[j], j))
    shown = lists[lists >= 0]
    by_hand = [np.isin(shown, order[: place + 1]).mean() for place in range(20)]
    assert exposure(lists, popularity) == pytest.approx(by_hand)


def test_measured_groups_add_up():
    train, test = split_entries(MATRIX, random_state=0)
    measured = measure_model("m", OneClassMF(**MODEL.get_params()).fit(train), train, test)
    for groups, mean in ((measured.by_activity, measured.metrics["ndcg@10"]),):
        total = sum(part.size for part in groups)
        assert sum(part.size * part.mean for part in groups) / total == pytest.approx(mean)
    found = sum(part.size * part.mean for part in measured.by_popularity)
    users = np.count_nonzero(np.diff(test.indptr))
    assert found == pytest.approx(measured.metrics["precision@10"] * 10 * users)
    assert measured.exposure[-1] == 1.0


def test_history_in_a_notebook():
    train, test = split_entries(MATRIX, random_state=0)
    fitted = OneClassMF(**MODEL.get_params()).fit(train, validation=test)
    axes = plot_history(fitted, ax=matplotlib.figure.Figure().subplots())
    assert axes.get_lines()[0].get_ydata().tolist() == [entry["objective"] for entry in fitted.history_]
    twin = axes.figure.axes[1]
    assert twin.get_lines()[0].get_ydata().tolist() == [entry["ndcg@10"] for entry in fitted.history_]
    with pytest.raises(ValueError, match="has no 'recall@3' but objective"):
        plot_history(fitted, "recall@3", matplotlib.figure.Figure().subplots())
    with pytest.raises(ValueError, match="ItemItem has no sweeps"):
        plot_history(ItemItem().fit(MATRIX))


def test_sensitivity_in_a_notebook(tuned, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    matplotlib.use("agg")
    axes = plot_sensitivity(tuned, "reg", matplotlib.figure.Figure().subplots())
    assert axes.get_xlabel() == "reg"
    defaults = next(line for line in axes.get_lines() if line.get_label() == "defaults")
    assert defaults.get_xdata()[0] == tuned.table[0]["reg"]
    grid = plot_sensitivity(tuned)
    assert [one.get_xlabel() for one in grid.flat if one.get_visible()] == list(tuned.space)
    matplotlib.pyplot.close("all")
    with pytest.raises(ValueError, match="'rank' was not searched"):
        plot_sensitivity(tuned, "rank")
    with pytest.raises(TypeError, match=r"everypair\.tune returned"):
        plot_sensitivity({})


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match="user_ids has 2 names for 100 users"):
        report(MODEL, MATRIX, path=tmp_path / "x.html", user_ids=["a", "b"])
    with pytest.raises(TypeError, match=r"everypair\.tune returned"):
        report(MODEL, MATRIX, path=tmp_path / "x.html", tuning={})
    with pytest.raises(ValueError, match="samples"):
        report(MODEL, MATRIX, path=tmp_path / "x.html", samples=-1)
    assert not (tmp_path / "x.html").exists()


def test_without_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "everypair\[plot\]"'):
        report(MODEL, MATRIX, path=tmp_path / "x.html")


def test_importing_the_library_does_not_import_matplotlib():
    code = "import everypair, sys; print('matplotlib' in sys.modules, 'optuna' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == [
        "False",
        "False",
    ]
    assert everypair.report is report


def test_events_and_models_with_ids(tmp_path):
    rows, columns = np.nonzero(np.kron(np.eye(3), np.ones((10, 6))) * (np.random.default_rng(0).random((30, 18)) < 0.6))
    table = {"user": [f"Zoë {i}" for i in rows], "item": [f"film {j}" for j in columns]}
    train, test = split_per_row(read_events(table, verbose=False), test_count=1)
    model = OneClassMF(rank=3, random_state=0).fit(train)
    text = report(model, train, test, tmp_path / "named.html").read_text(encoding="utf-8")
    plain = OneClassMF(rank=3, random_state=0).fit(train.matrix)
    same = report(plain, train.matrix, test.matrix, tmp_path / "plain.html").read_text(encoding="utf-8")
    assert "Zoë" in text
    assert "film 1" in text
    assert re.findall(r"nDCG@10, 95 % between [\d.]+ and [\d.]+", text) == re.findall(
        r"nDCG@10, 95 % between [\d.]+ and [\d.]+", same
    )
    assert model.score(test) == pytest.approx(plain.score(test.matrix))
    assert list_metrics(model, train, test) == list_metrics(plain, train.matrix, test.matrix)
