"""Scripts of experiments/ and benchmarks/: each runs in seconds on tiny data; stored tables agree with their JSON."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import runpy
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[1]
EXPERIMENTS, BENCHMARKS = ROOT / "experiments", ROOT / "benchmarks"
SCRIPTS = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in (EXPERIMENTS, BENCHMARKS)
    for path in folder.rglob("*.py")
    if 'if __name__ == "__main__":' in path.read_text() and path.parent.name != "mlrm"  # see test_experiments.py
)
# script → the runs of its smoke test; results of one run are there for the next
RUNS: dict[str, list[list[str]]] = {
    "benchmarks/cluster.py": [[]],
    "benchmarks/everybody.py": [[]],
    "benchmarks/footprint.py": [[]],
    "benchmarks/labels.py": [["missing"], ["wiki"], ["hundred"]],
    "benchmarks/large.py": [[]],
    "benchmarks/latency.py": [[]],
    "benchmarks/multilabel.py": [["peers"], ["cg"], ["methods"], ["cost"]],
    "benchmarks/nights.py": [[]],
    "benchmarks/predict.py": [[]],
    "benchmarks/race_page.py": [[]],
    "benchmarks/reading.py": [[]],
    "benchmarks/roofline.py": [[]],
    "benchmarks/scaling.py": [[]],
    "benchmarks/serve.py": [[]],
    "benchmarks/spark.py": [[]],
    "benchmarks/sweep.py": [[]],
    "benchmarks/top_k.py": [[]],
    "experiments/blend/further.py": [[]],
    "experiments/blend/peers.py": [[]],
    "experiments/blend/quality.py": [[]],
    "experiments/blend/ranks.py": [[]],
    "experiments/blend/report.py": [[]],
    "experiments/blend/tuned.py": [[]],
    "experiments/blend/validation.py": [[]],
    "experiments/cold/lists.py": [[]],
    "experiments/cold/newcomers.py": [[]],
    "experiments/cold/people.py": [[]],
    "experiments/cold/report.py": [[]],
    "experiments/cold/training.py": [[]],
    "experiments/completion/study.py": [
        ["--data", name] for name in ("drugs", "newcomers", "labels", "ratings", "methods")
    ],
    "experiments/defaults/convergence.py": [[]],
    "experiments/defaults/report.py": [[]],
    "experiments/defaults/study.py": [[]],
    "experiments/defaults/validated.py": [[]],
    "experiments/dislikes/weights.py": [[], ["--data", "filmtrust"]],
    "experiments/esl/beside.py": [["--data", "citeulike_t"]],
    "experiments/esl/default.py": [[]],
    "experiments/esl/figure2.py": [["--methods", "adam", "gauss-newton", "gd-diag", "sogram-diag"]],
    "experiments/esl/memory.py": [[]],
    "experiments/esl/quality.py": [[]],
    "experiments/esl/race.py": [[]],
    "experiments/esl/table2.py": [[], ["--data", "growth"]],
    "experiments/esl/towers.py": [[]],
    "experiments/labels/missing.py": [[]],
    "experiments/labels/scaling.py": [[]],
    "experiments/labels/study.py": [[]],
    "experiments/leml/defaults.py": [[]],
    "experiments/leml/full_labels.py": [[]],
    "experiments/leml/missing_labels.py": [[]],
    "experiments/leml/scaling.py": [[]],
    "experiments/leml/theory.py": [[]],
    "experiments/negsel/figure1.py": [[]],
    "experiments/negsel/figures23.py": [[]],
    "experiments/negsel/growth.py": [[]],
    "experiments/negsel/schedule.py": [[]],
    "experiments/negsel/table2.py": [[]],
    "experiments/negsel/table4.py": [[]],
    "experiments/negsel/table6.py": [[]],
    "experiments/ocsmf/table_features.py": [["--data", "citeulike_p1"]],
    "experiments/ocsmf/table_graph.py": [
        ["--formulations", "SQ-wSQ"],
        ["--formulations", "SQ-wSQ", "--ridge-power", "1"],
    ],
    "experiments/ocsmf/table_graph_pooled.py": [[]],
    "experiments/ocsmf/table_multilabel.py": [
        ["--variants", "raw"],
        ["--data", "delicious", "--formulations", "LR-wSQ"],
    ],
    "experiments/ocsmf/table_nystrom.py": [["--data", "delicious"]],
    "experiments/reproduce.py": [["--only", "leml.theorem3"]],
}
# script → what must have been run before, into the same folder
BEFORE = {
    "experiments/blend/report.py": [
        f"experiments/blend/{name}.py" for name in ("further", "peers", "quality", "tuned", "validation")
    ],
    "experiments/cold/report.py": [
        f"experiments/cold/{name}.py" for name in ("lists", "newcomers", "people", "training")
    ],
    "experiments/defaults/report.py": ["experiments/defaults/study.py", "experiments/defaults/validated.py"],
    "experiments/negsel/growth.py": ["experiments/negsel/table4.py"],
    "experiments/ocsmf/table_graph_pooled.py": ["experiments/ocsmf/table_graph.py"],
    "experiments/ocsmf/table_nystrom.py": ["experiments/ocsmf/table_multilabel.py"],
}
TOWERS = [
    ("race", EXPERIMENTS / "esl/README.md", "race"),
    ("quality", ROOT / "docs/two-tower.md", "quality"),
    ("default", None, ""),
]
POOLED = "experiments/ocsmf/table_graph_pooled.py"  # has a test of its own
CHAINED = {first for others in BEFORE.values() for first in others}  # run by the tests of those that need them
STORED = [
    (script, path)
    for script in SCRIPTS
    for path in sorted((ROOT / script).parent.glob(f"results/{Path(script).stem}_*.md"))
    if not (Path(script).stem == "table_graph" and "pooled" in path.name)
] + [("experiments/leml/defaults.py", EXPERIMENTS / "leml/results/defaults.md")]


def snapshot() -> dict[str, tuple[int, int]]:
    """Size and time of change of everything that lies beside the scripts."""
    paths = (path for path in EXPERIMENTS.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in paths}


@pytest.fixture(scope="module", autouse=True)
def peers():
    """Import other libraries here: they warn about their own dependencies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("implicit.als", "irspack.recommenders.ials"):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


@pytest.fixture
def execute(monkeypatch):
    """Run a script as ``python script.py …`` does, in this process; stored results must stay as they are."""
    before = snapshot()
    monkeypatch.delenv("EVERYPAIR_DATA", raising=False)

    def forget():  # scripts of different folders have modules of the same name, and other tests may have imported some
        for name in list(sys.modules):
            found = getattr(sys.modules[name], "__file__", None)
            if found and any(Path(found).is_relative_to(ROOT / folder) for folder in ("benchmarks", "experiments")):
                del sys.modules[name]

    def run(script, *arguments, name="__main__"):
        path = ROOT / script
        forget()
        with monkeypatch.context() as patch, threadpool_limits(1, "blas"):
            patch.setattr(sys, "argv", [str(path), *map(str, arguments)])
            patch.setattr(sys, "path", [str(path.parent), *sys.path])
            return runpy.run_path(str(path), run_name=name)

    yield run
    forget()
    assert snapshot() == before


def smoke(execute, script, folder):
    """All smoke runs of a script, after those it needs."""
    for first in BEFORE.get(script, ()):
        smoke(execute, first, folder)
    writes = script.startswith("experiments")
    for arguments in RUNS[script]:
        execute(script, *arguments, "--smoke", *(("--results", folder) if writes else ()))


def rows_of(folder, name):
    return json.loads((folder / f"{name}.json").read_text())["rows"]


def test_every_script_has_a_smoke_run():
    assert list(RUNS) == SCRIPTS


@pytest.mark.parametrize("script", [script for script in SCRIPTS if script not in (*CHAINED, POOLED)])
def test_smoke(script, execute, tmp_path, capsys):
    smoke(execute, script, tmp_path)
    assert capsys.readouterr().out
    tables = [path for path in tmp_path.glob("*.md") if path.name != "README.md"]
    assert tables or script.startswith(
        ("benchmarks", *(f"experiments/{name}" for name in ("blend", "cold", "defaults", "repro")))
    )
    for path in tables:
        assert "nan" not in path.read_text()
        cells = path.with_suffix("")  # a table of many runs keeps a file of each
        assert (
            path.with_suffix(".json").exists() or any(cells.glob("*.json")) or path.name in ("defaults.md", "page.md")
        )
    for one in (*BEFORE.get(script, ()), script):
        CHECKS.get(one, lambda folder: None)(tmp_path)


def check_table4(folder):
    rows = rows_of(folder, "table4_ml1m")
    assert [row["method"] for row in rows] == ["Full", "Full, logistic", "Subsampled", "Ensemble", "BPR"]
    for row in rows:
        best = max(row["tried"], key=lambda entry: entry["ndcg@10"])
        assert row["point"] == best["point"]
        assert 0 < row["all"]["auc"] < row["test"]["auc"] < 100  # some users have no test positive
    assert "† " in (folder / "table4_ml1m.md").read_text()


def check_figure1(folder):
    traces = json.loads((folder / "figure1_ml1m.json").read_text())["traces"]
    assert {name: len(points) for name, points in traces["Subsampled"].items()} == {
        "auto": 5, "newton": 5, "block": 5, "als": 5, "cd": 5, "sg-reform": 50, "sg-reform, one learner": 50,
    }  # fmt: skip
    assert {"sg-descent", "sg-rows"} < set(traces["Full"])
    for points in (points for part in traces.values() for points in part.values()):
        assert points[-1][1] < points[0][1]
    exact = [traces["Full"][name][-1][1] for name in ("block", "als")]  # rank 4: one block, so the same steps
    assert exact[0] == pytest.approx(exact[1], rel=1e-4)


def check_defaults(folder):
    record = json.loads((folder / "validated_logistic_ml100k.json").read_text())
    best = max(record["points"], key=lambda point: point["ndcg@10"])
    assert record["chosen"] == {name: best[name] for name in ("multiple", "exponent", "reg")}
    page = (folder / "README.md").read_text()
    assert f"| {100 * record['test']:.2f} |" in page
    assert "| 12 |" in page  # points of study.py


def check_nystrom(folder):
    rows = rows_of(folder, "table_nystrom_delicious")
    assert [row["variant"] for row in rows] == ["raw", "scaled"]
    assert all(row["paper"]["point"]["γ"] == "1/σ²" for row in rows)


def check_features(folder):
    rows = rows_of(folder, "table_features_citeulike_p1")
    assert {tuple(row["features"]) for row in rows} == {(), ("words",), ("words", "tags")}
    assert {row["graph_reg"] for row in rows} == {None, 0.1}


def check_leml(folder):
    methods = {row["method"] for row in rows_of(folder, "full_labels_bibtex")}
    assert {"LEML-SQ", "LEML-LR", "LEML-SH", "BCS", "CPLST", "WSABIE", "BR-SQ"} < methods


def check_default(folder):
    runs = json.loads((folder / "default" / "ml100k.json").read_text())["runs"]
    assert {tuple(name.split(", ")[:2]) for name in runs} == {("0", "OneClassMF"), ("0", "TwoTower")}
    assert all(set(run) == {"seconds", "sweeps", "validation"} for run in runs.values())  # nothing of the test
    cold = json.loads((folder / "default" / "generated.json").read_text())["folds"]["0"]
    assert [(set(point), point["sweeps"]) for point in cold["points"]] == [
        ({"sweeps", "validation"}, sweeps) for sweeps in (0, 1, 2)
    ]


CHECKS = {
    "experiments/defaults/report.py": check_defaults,
    "experiments/esl/default.py": check_default,
    "experiments/leml/full_labels.py": check_leml,
    "experiments/negsel/figure1.py": check_figure1,
    "experiments/negsel/table4.py": check_table4,
    "experiments/ocsmf/table_features.py": check_features,
    "experiments/ocsmf/table_nystrom.py": check_nystrom,
}


def test_pooled_choice_keeps_the_ridge_power(execute, tmp_path):
    smoke(execute, POOLED, tmp_path)
    rows = [row for row in rows_of(tmp_path, "table_graph_pooled_ml100k") if not row["graph"]]
    assert [row["power"] for row in rows] == [0, 1]
    tools = execute(POOLED, name="tools")
    sys.modules["datasets"].generate()
    train, test = tools["split_entries"](tools["positives"]("ml100k"), 0.1, random_state=0)

    def figures(row, power):
        options = {"max_iter": row["sweeps"], "rank": 4, "n_threads": 1, "reg_exponent": power, "solver": "tron"}
        return tools["measured"](tools["fitted"]("SQ-wSQ", row["point"], train, None, **options), train, test)

    assert rows[1]["test"][0] == figures(rows[1], 1)
    assert rows[1]["test"][0] != figures(rows[1], 0)


def test_figure1_ridge_counts_positives_alone(execute):
    tools = execute("experiments/negsel/figure1.py", name="tools")
    sys.modules["datasets"].generate()
    train, _ = tools["split"]("ml1m")
    few = tools["subsampled"](train, 0)
    assert few.nnz == 2 * train.nnz
    assert few.n_positives == train.nnz
    assert np.array_equal(few.left_counts, np.diff(train.indptr))
    left, right = (np.random.default_rng(0).standard_normal((size, 3)).astype(np.float32) for size in train.shape)
    objective = tools["problems"](train)["Subsampled"][0]
    stored = few.to_csr().tocoo()
    errors = (stored.data > 0) - (left @ right.T)[stored.row, stored.col]
    counts = [np.maximum(np.diff(matrix.indptr), 1) for matrix in (train, train.tocsc())]
    ridge = sum(0.1 * count @ (side.astype(float) ** 2).sum(axis=1) for count, side in zip(counts, (left, right)))
    assert objective.value(left, right) == pytest.approx(0.5 * (errors @ errors + ridge), rel=1e-5)


def test_rates_and_batches_are_tried_until_the_best_lies_inside(execute):
    tools = execute("experiments/esl/beside.py", name="tools")
    following, top, tried = tools["beside_the_best"], (6, 1), {}
    while around := following(tried):
        tried |= {(rate, batch): -abs(rate - top[0]) - abs(batch - top[1]) for rate, batch in around}
    assert max(tried, key=tried.get) == top
    assert {(5, 1), (7, 1), (6, 0), (6, 2)} < set(tried)
    assert len(tried) < len(tools["RATES"]) * len(tools["BATCHES"]) / 4


@pytest.mark.parametrize(("script", "path"), STORED, ids=lambda value: getattr(value, "name", value))
def test_stored_table_is_that_of_its_json(script, path, execute, tmp_path):
    for stored in path.parent.glob("*.json"):
        (tmp_path / stored.name).write_bytes(stored.read_bytes())
    stem = Path(script).stem
    what = [] if path.name == "defaults.md" else ["--data", path.stem.removeprefix(f"{stem}_")]
    what = ["--size", what[1]] if stem == "figures23" else what
    execute(script, *what, "--report", "--results", tmp_path)
    assert (tmp_path / path.name).read_text() == path.read_text()


def test_stored_page_of_defaults_is_that_of_its_json(execute):
    tools = execute("experiments/defaults/report.py", name="tools")
    assert tools["page"](tools["RESULTS"]) == (EXPERIMENTS / "defaults/README.md").read_text()


def test_tables_of_the_completion_page_are_those_of_its_json(execute):
    tools = execute("experiments/completion/study.py", name="tools")
    for page, studies in tools["PAGES"].items():
        for study in studies:
            table = (EXPERIMENTS / f"completion/results/study_{study}.md").read_text()
            assert tools["on_page"](page.read_text(), study, table) == page.read_text()
    with pytest.raises(SystemExit, match="The page needs the lines"):
        tools["on_page"]("no marks", "drugs", "")


@pytest.mark.parametrize(("script", "page", "mark"), TOWERS)
def test_tables_of_the_towers_are_those_of_their_cells(script, page, mark, execute, tmp_path):
    cells = EXPERIMENTS / "esl/results" / script
    shutil.copytree(cells, tmp_path / script, ignore=shutil.ignore_patterns("*.pickle"))
    execute(f"experiments/esl/{script}.py", "--report", "--results", tmp_path)
    assert (tmp_path / f"{script}.md").read_text() == cells.with_suffix(".md").read_text()
    if page is not None:
        tools = execute(f"experiments/esl/{script}.py", name="tools")
        found = tools["page"](tools["read_cells"](tools["RESULTS"]))
        assert tools["on_page"](page.read_text(), mark, found) == page.read_text()


def test_report_without_results_says_what_to_do(execute, tmp_path):
    with pytest.raises(SystemExit, match=r"table6_ml1m\.json does not exist: run the script without --report first"):
        execute("experiments/negsel/table6.py", "--report", "--results", tmp_path)


def test_without_data_folder_says_what_to_do(execute, tmp_path):
    with pytest.raises(SystemExit, match="Set EVERYPAIR_DATA"):
        execute("experiments/negsel/table6.py", "--results", tmp_path)


def test_smoke_results_go_to_a_temporary_folder(execute, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    execute("experiments/negsel/figures23.py", "--smoke", "--size", "20", "--powers", "0")
    (folder,) = tmp_path.iterdir()
    assert f"results are in {folder}." in capsys.readouterr().out
    assert (folder / "figures23_20.md").exists()


def test_benchmark_tables_are_those_of_their_json(execute):
    tables = execute("benchmarks/tables.py", name="tools")
    record = json.loads((BENCHMARKS / "results/sweep.json").read_text())
    text = tables["PAGE"].read_text()
    assert tables["written"](text, record) == text
    assert "| EveryPair" in text
    assert f"{record['users']:,} × {record['items']:,}" in text
    assert f"{record['pairs'] / 1e6:.2f} M generated" in text
    assert f"rank {record['rank']}, {record['threads']} threads" in text


def test_tables_of_the_race_are_those_of_their_json(execute):
    race = execute("benchmarks/race_page.py", name="tools")
    text = race["PAGE"].read_text()
    assert race["written"](text) == text
    assert set(race["OURS"]) <= {word.strip("*()") for word in text.replace("**", " ").split()}


def test_what_a_blend_costs_is_said_as_it_was_measured():
    stored = [json.loads(path.read_text())["seeds"] for path in (EXPERIMENTS / "blend/results").glob("cost_*.json")]
    ratios = [seed["cpu_blend"] / seed["cpu_factors"] for seeds in stored for seed in seeds]
    words = f"{min(ratios):.1f} to {max(ratios):.1f} times"
    for page in ("docs/choosing.md", "src/everypair/models/recommend/blend/blend.py"):
        assert words in (ROOT / page).read_text(), (page, words)


@pytest.mark.parametrize("name", ["large", "spark"])
def test_table_of_the_scaling_page_is_that_of_its_json(name, execute):
    tools = execute(f"benchmarks/{name}.py", name="tools")
    record = json.loads((BENCHMARKS / f"results/{name}.json").read_text())
    text = tools["PAGE"].read_text()
    assert tools["written"](text, record) == text
    assert f"rank {record['runs'][0]['rank']}, " in text
    with pytest.raises(SystemExit, match="The page needs the lines"):
        tools["written"]("no markers", record)


def test_generated_rows_are_distinct_sorted_and_the_same_on_any_threads(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(BENCHMARKS)
    tools = importlib.import_module("generate_large")
    found = []
    for threads in (1, 2):
        tools.write_large(tmp_path / str(threads), 1500, 640, 45_000, seed=3, n_threads=threads)
        found.append(tools.read_large(tmp_path / str(threads)))
    assert np.array_equal(found[0].indices, found[1].indices)
    assert found[0].has_canonical_format
    assert not found[0].indices.flags.writeable  # the file itself, no copy of it
    assert found[0].nnz == pytest.approx(45_000, rel=0.02)
    lengths, popularity = np.diff(found[0].indptr), np.bincount(found[0].indices, minlength=640)
    assert lengths.min() >= 5
    assert lengths.max() == 64
    assert np.median(lengths) < 0.75 * lengths.mean()
    assert np.sort(popularity)[-32:].sum() > 0.2 * found[0].nnz  # a twentieth of the items
    # tastes: items of a group go together, so the first 64 principal components stand out from those of chance
    dense = found[0].toarray().astype(float)
    shuffled = np.random.default_rng(0).permuted(dense, axis=0)
    with threadpool_limits(1, "blas"):
        real, chance = (np.linalg.eigvalsh(np.cov(matrix.T))[::-1] for matrix in (dense, shuffled))
    assert real[50] > 1.3 * chance[50]


def test_benchmark_tables_tell_who_arrived(execute):
    tables = execute("benchmarks/tables.py", name="tools")
    quick = {
        "iteration": [1, 2, 3],
        "cpu": [2.0, 3.0, 4.5],
        "wall": [1.0, 1.5, 2.0],
        "objective": [120.0, 100.2, 100.0],
    }
    late = {"iteration": [4, 8], "cpu": [40.0, 80.0], "wall": [20.0, 40.0], "objective": [130.0, 100.2]}
    other = {"iteration": [1, 2], "cpu": [1.0, 1.5], "wall": [1.0, 1.5], "objective": [None, None]}
    runs = {
        "everypair, squared": [quick, quick],
        "cmfrec, CG": [late],
        "everypair, logistic": [other],
        "irspack, CG": [],
    }
    record = {"machine": {"versions": {"everypair": "1", "cmfrec": "3"}}, "best": 100.0, "runs": runs}
    assert tables["lines"](record)[2:] == [
        "| EveryPair 1, squared | 1.25 | 3.0 / 1.5 | 4.5 / 2.0 | 2 / 3 |",
        "| cmfrec 3, CG | 10.00 | 80.0 / 40.0 | not in 80 | 8 / – |",
        "| EveryPair 1, logistic | 0.50 |  |  |  |",
    ]
    with pytest.raises(SystemExit, match="The page needs the lines"):
        tables["written"]("no markers", record)


def test_rounds_of_a_benchmark_can_be_added(execute, tmp_path):
    options = ["--smoke", "--results", str(tmp_path), "--runs", "everypair, squared"]
    execute("benchmarks/sweep.py", *options)
    first = json.loads((tmp_path / "sweep.json").read_text())
    execute("benchmarks/sweep.py", *options, "--add", "--rounds", "2")
    both = json.loads((tmp_path / "sweep.json").read_text())
    assert both["best"] == first["best"]
    assert [len(record["runs"]["everypair, squared"]) for record in (first, both)] == [1, 3]
    assert both["runs"]["everypair, squared"][0] == first["runs"]["everypair, squared"][0]
    with pytest.raises(SystemExit, match="differ in rank: run without --add"):
        execute("benchmarks/sweep.py", *options, "--add", "--rank", "3")


@pytest.mark.parametrize("script", ["benchmarks/sweep.py", "benchmarks/top_k.py"])
def test_missing_peers_are_left_out(script, execute, monkeypatch, capsys):
    find = importlib.util.find_spec
    absent = ("implicit", "irspack")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in absent else find(name, *rest))
    execute(script, "--smoke")
    assert "implicit is not installed: it is left out" in capsys.readouterr().out


def test_marks_at_the_ends(execute):
    edges = execute("experiments/edges.py", name="tools")
    tried = [{"reg": reg, "scheme": scheme, "rank": 8} for reg in (0.1, 1, 10) for scheme in ("user", "item")]
    assert edges["marked"]({"reg": 10, "scheme": "user", "rank": 8}, tried) == "reg 10†, scheme user, rank 8"
    assert edges["marked"]({"reg": 0.1, "scheme": "user", "rank": 8}, tried) == "reg 0.1†, scheme user, rank 8"
    assert edges["marked"]({"reg": 1, "scheme": "item", "rank": 8}, tried) == "reg 1, scheme item, rank 8"


@pytest.mark.parametrize("name", ["ml100k", "ml1m", "yelp2018", "citeulike_t", "lastfm_hetrec", "filmtrust", "ciaodvd",
                                  "douban_monti", "flixster_monti", "yahoo_music_monti"])  # fmt: skip
def test_generated_data_have_positives_everywhere(name, execute):
    datasets = execute("experiments/datasets.py", name="tools")
    datasets["generate"]()
    train, test = datasets["split"](name)
    assert train.shape == test.shape == (60, 40)
    assert test.nnz
    assert (np.diff(train.indptr) > 0).mean() > 0.9


def test_table_of_nights_is_that_of_its_json(execute):
    tools = execute("benchmarks/nights.py", name="tools")
    record = json.loads((BENCHMARKS / "results/nights.json").read_text())
    text = tools["PAGE"].read_text()
    assert tools["written"](text, record) == text
    assert list(record["rows"]) == list(tools["DATA"])
    for nights in (nights for shares in record["rows"].values() for nights in shares.values()):
        assert len(nights) == record["seeds"]
        assert all(night["warm"]["sweeps"] < night["cold"]["sweeps"] for night in nights)


def test_table_of_single_answers_is_that_of_its_json(execute):
    tools = execute("benchmarks/latency_page.py", name="tools")
    record = json.loads((BENCHMARKS / "results/latency.json").read_text())
    text = tools["PAGE"].read_text()
    assert tools["written"](text, record) == text
    assert f"{record['users']:,} × {record['items']:,}" in text
    assert {"OneClassMF(64)", "OneClassMF(256)", "ItemItem", "Blend", "implicit(64)"} <= set(
        record["rows"]["recommend"]
    )
    with pytest.raises(SystemExit, match="The page needs the lines"):
        tools["written"]("no markers", record)
