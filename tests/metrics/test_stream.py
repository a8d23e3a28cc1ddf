import numpy as np
import pytest
import scipy.sparse as sp

from everypair.metrics import stream_metrics


def problem(n_rows=300, n_items=90, dtype=np.float32):
    rng = np.random.default_rng(11)
    scores = np.round(rng.standard_normal((n_rows, n_items)), 1).astype(dtype)
    kind = rng.random(scores.shape)
    seen, test = sp.csr_array(kind < 0.2), sp.csr_array((kind > 0.97).astype(np.float32))
    return scores, seen, test


def test_keys_are_exactly_these():
    scores, seen, test = problem()
    result = stream_metrics(lambda rows: scores[rows], seen, test, ks=[3, 7])
    at_k = ["precision", "recall", "ndcg", "hit_rate", "map", "mean_precision", "mrr", "coverage"]
    assert set(result) == {f"{name}@{k}" for name in at_k for k in (3, 7)} | {"nhlu", "map", "auc"}
    assert all(type(value) is float and 0 <= value <= 1 for value in result.values())
    assert set(stream_metrics(lambda rows: scores[rows], seen, test, ks=())) == {"nhlu", "map", "auc"}


@pytest.mark.parametrize("average", ["test", "all"])
def test_standard_errors_are_those_of_the_rows(average):
    scores, seen, test = problem()
    result = stream_metrics(lambda rows: scores[rows], seen, test, ks=[3], average=average)
    assert set(result.standard_errors) == set(result) - {"coverage@3"}
    one_by_one = {name: [] for name in result.standard_errors}
    for row in range(len(scores)):
        own = {"precision@3": 0.0, "auc": 0.0, "map@3": 0.0}
        if test[[row]].nnz:
            own = stream_metrics(lambda _: scores[[row]], seen[[row]], test[[row]], ks=[3])  # noqa: B023
        elif average == "test":
            continue
        for name in ("precision@3", "auc", "map@3"):
            one_by_one[name].append(own[name])
    for name in ("precision@3", "auc", "map@3"):
        values = np.array(one_by_one[name])
        assert result[name] == pytest.approx(values.mean())
        assert result.standard_errors[name] == pytest.approx(values.std(ddof=1) / np.sqrt(len(values)))
        low, high = result.interval(name)
        assert high - low == pytest.approx(2 * 1.96 * result.standard_errors[name])
    with pytest.raises(ValueError, match="'coverage@3' is no mean over rows"):
        result.interval("coverage@3")


def test_one_row_has_no_standard_error():
    result = stream_metrics(lambda rows: np.array([[1.0, 2.0]]), [[0, 0]], [[0, 1]], ks=[1])
    assert np.isnan(result.standard_errors["ndcg@1"])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_and_memory_do_not_change_a_bit(dtype, monkeypatch):
    monkeypatch.setattr("everypair.metrics.ranking.SCORES_PER_CHUNK", 700)  # many small chunks
    scores, seen, test = problem(dtype=dtype)
    results = [
        stream_metrics(lambda rows: scores[rows], seen, test, memory_mb=memory_mb, n_threads=threads)
        for memory_mb in (0.01, 256)
        for threads in (1, 2, 5)
    ]
    assert all(result == results[0] for result in results)


def test_blocks_keep_the_budget_and_hold_rows_with_a_positive_once():
    scores, seen, test = problem()
    asked = []

    def score_rows(rows):
        asked.append(rows)
        return scores[rows].astype(np.float64)

    stream_metrics(score_rows, seen, test, memory_mb=0.05)
    largest = max(len(rows) for rows in asked) * scores.shape[1] * 8
    assert 0.8 * 0.05 * 2**20 < largest <= 0.05 * 2**20
    assert all(rows.dtype == np.int64 for rows in asked)
    np.testing.assert_array_equal(np.concatenate(asked), np.flatnonzero(np.diff(test.indptr)))

    asked.clear()
    stream_metrics(score_rows, seen, test, memory_mb=1e-9)  # never less than a row
    assert {len(rows) for rows in asked} == {1}


def test_all_rows_average_scales_with_the_share_of_rows_with_a_positive():
    scores, seen, test = problem()
    evaluated = np.count_nonzero(np.diff(test.indptr))
    assert evaluated < 300
    by_test = stream_metrics(lambda rows: scores[rows], seen, test)
    by_all = stream_metrics(lambda rows: scores[rows], seen, test, average="all")
    for name, value in by_test.items():
        share = 1 if name.startswith("coverage") else evaluated / 300
        assert by_all[name] == pytest.approx(value * share, rel=1e-12)


def test_the_scores_are_left_as_they_are():
    scores, seen, test = problem()
    kept = scores.copy()
    chosen = np.flatnonzero(np.diff(test.indptr))
    stream_metrics(lambda rows: scores[: len(rows)], seen[chosen], test[chosen])
    np.testing.assert_array_equal(scores, kept)


def test_failures_inside_score_rows_are_raised():
    _, seen, test = problem()

    def score_rows(rows):
        raise RuntimeError("out of service")

    with pytest.raises(RuntimeError, match="out of service"):
        stream_metrics(score_rows, seen, test)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"ks": 10}, ValueError, r"such as \(5, 10\)"),
        ({"ks": [5, -1]}, ValueError, "positive integer"),
        ({"ks": "10"}, ValueError, "positive integer"),
        ({"average": "row"}, ValueError, "average must be"),
        ({"memory_mb": 0}, ValueError, "memory_mb must be positive"),
        ({"memory_mb": float("nan")}, ValueError, "memory_mb must be positive"),
        ({"n_threads": 0}, ValueError, "n_threads"),
        ({"seen": np.zeros((2, 3))}, ValueError, r"seen has the shape \(2, 3\) and test \(2, 2\)"),
        ({"seen": np.ones((2, 2))}, ValueError, r"2 pair\(s\) are stored in seen"),
        ({"test": np.zeros((2, 2))}, ValueError, "test holds no positive"),
        ({"score_rows": lambda rows: np.ones((len(rows), 3))}, ValueError, r"must have the shape \(2, 2\)"),
        ({"score_rows": lambda rows: np.full((len(rows), 2), np.nan)}, ValueError, "Scores hold NaN"),
        ({"score_rows": lambda rows: np.full((len(rows), 2), "a")}, TypeError, "real numbers"),
    ],
)
def test_bad_input_is_refused(arguments, error, words):
    good = {
        "score_rows": lambda rows: np.ones((len(rows), 2)),
        "seen": np.zeros((2, 2)),
        "test": np.eye(2),
    }
    assert stream_metrics(**good)["auc"] == 0.5
    with pytest.raises(error, match=words):
        stream_metrics(**good | arguments)


def test_many_metrics_are_a_table():
    found = stream_metrics(lambda rows: np.eye(3)[rows], np.zeros((3, 3)), np.eye(3), ks=[1, 2])
    head, *lines = repr(found).splitlines()
    assert head.split() == ["@1", "@2", "all", "items"]
    assert ["ndcg", "1.0000", "±", "0.0000", "1.0000", "±", "0.0000"] in [line.split() for line in lines]
    assert found._repr_html_().startswith("<table><tr><th></th><th>@1</th><th>@2</th><th>all items</th></tr>")
    assert "<tr><td>auc</td><td></td><td></td><td>1.0000 ± 0.0000</td></tr>" in found._repr_html_()
