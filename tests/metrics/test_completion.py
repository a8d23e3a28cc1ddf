"""Completion metrics against sums over all pairs."""

import numpy as np
import pytest

from everypair.metrics import completion_metrics, entry_metrics, mean_average_precision


def by_pairs(scores, positive):
    right = [1.0 if a > b else 0.5 if a == b else 0.0 for a in scores[positive] for b in scores[~positive]]
    return np.mean(right)


def example():
    random = np.random.default_rng(0)
    scores = random.integers(0, 6, (8, 9)).astype(float)  # ties
    truth = (random.random((8, 9)) < 0.3).astype(float)
    where = random.random((8, 9)) < 0.7
    truth[3] = 0
    return scores, truth, where


def test_values():
    found = entry_metrics([1.0, 3.0], [2.0, 5.0])
    assert found["mae"] == 1.5
    assert found["rmse"] == pytest.approx(np.sqrt(2.5))
    assert found["r2"] == pytest.approx(1 - 5 / 4.5)
    assert np.isnan(entry_metrics([1.0], [2.0])["r2"])


def test_pooled_and_per_row_are_sums_over_pairs():
    scores, truth, where = example()
    found = completion_metrics(scores, truth, where)
    positive = truth > 0
    assert found["auc"] == pytest.approx(by_pairs(scores[where], positive[where]))
    per_row = [
        by_pairs(scores[i][where[i]], positive[i][where[i]])
        for i in range(8)
        if positive[i][where[i]].any() and not positive[i][where[i]].all()
    ]
    assert found["row_auc"] == pytest.approx(np.mean(per_row))
    assert found["average_precision"] == pytest.approx(
        mean_average_precision(np.where(where, scores, -np.inf), np.where(where, truth, 0))
    )
    assert found["mae"] == pytest.approx(np.abs(scores - truth)[where].mean())


def test_aupr_by_hand():
    assert entry_metrics([4.0, 3.0, 2.0, 1.0], [1, 0, 1, 0], (0, 1))["aupr"] == pytest.approx((1 + 2 / 3) / 2)
    assert entry_metrics([1.0, 1.0, 1.0, 1.0], [1, 0, 0, 0], (0, 1))["aupr"] == 0.25  # equal scores at once


def test_any_two_values_are_classes_and_other_data_has_none():
    scores, truth, where = example()
    plain, other = completion_metrics(scores, truth, where), completion_metrics(scores, 2 * truth - 1, where)
    assert plain["auc"] == other["auc"]
    assert set(completion_metrics(scores, np.arange(72.0).reshape(8, 9))) == {"mae", "rmse", "r2"}
    assert np.isnan(entry_metrics([1.0, 2.0], [1, 1], (0, 1))["auc"])


def test_refused():
    with pytest.raises(ValueError, match="one shape"):
        completion_metrics(np.ones((2, 3)), np.ones((3, 2)))
    with pytest.raises(ValueError, match="boolean matrix"):
        completion_metrics(np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="no entry counts"):
        completion_metrics(np.ones((2, 3)), np.ones((2, 3)), np.zeros((2, 3), bool))
    with pytest.raises(ValueError, match="one length"):
        entry_metrics([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="NaN"):
        entry_metrics([np.nan], [1.0])
