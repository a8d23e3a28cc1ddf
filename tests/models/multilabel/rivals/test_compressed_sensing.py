import numpy as np
import pytest

from everypair.models.multilabel.rivals import CompressedSensing

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((60, 30))
Y = (RANDOM.random((60, 20)) < 0.1).astype(int)


def pursued(projection, seen, most):
    """Orthogonal matching pursuit as it is written: the best column, all chosen ones fitted anew, again."""
    found, rest, chosen = np.zeros(projection.shape[1]), seen, []
    for _ in range(most):
        chosen.append(int(np.abs(projection.T @ rest).argmax()))
        values = np.linalg.lstsq(projection[:, chosen], seen)[0]
        rest = seen - projection[:, chosen] @ values
    found[chosen] = values
    return found


def test_scores_are_the_labels_that_explain_the_predicted_sums():
    model = CompressedSensing(rank=12, max_labels=3, reg=0.5, normalize=False, fit_intercept=False, random_state=1)
    model.fit(X, Y)
    projection = model.projection_
    weights = np.linalg.solve(X.T @ X + 0.5 * np.eye(30), X.T @ Y @ projection.T)
    np.testing.assert_allclose(model.feature_weights_, weights, atol=1e-9)
    expected = [pursued(projection, row @ weights, 3) for row in X]
    np.testing.assert_allclose(model.predict_scores(X), expected, atol=1e-9)
    assert projection.std() == pytest.approx(12**-0.5, rel=0.1)


def test_a_row_has_at_most_so_many_labels():
    assert (np.count_nonzero(CompressedSensing(rank=15, random_state=0).fit(X, Y).predict_scores(X), axis=1) == 5).all()
    many = (RANDOM.random((60, 20)) < 0.4).astype(int)
    model = CompressedSensing(rank=20, random_state=0).fit(X, many)
    assert model.state_.model.n_positives == np.ceil(2 * many.sum(axis=1).mean())


def test_bad_input_gets_a_sentence():
    with pytest.raises(ValueError, match="max_labels must be an integer"):
        CompressedSensing(rank=2, max_labels=0).fit(X, Y)
    with pytest.raises(ValueError, match="cannot learn from missing labels"):
        CompressedSensing(rank=2).fit(X, Y, mask=Y > 0)
