"""Features from similarities, and orthonormal ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from everypair.features import SpectralFeatures


def similarity(n=12, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 4))
    return X @ X.T


def test_root_features_have_the_similarities_as_inner_products():
    S = similarity()
    A = SpectralFeatures(share=1.0).fit_transform(S)
    assert A.shape == (12, 4)
    np.testing.assert_allclose(A @ A.T, S, atol=1e-10)


def test_power_zero_is_orthonormal_and_the_share_counts_singular_values():
    S = similarity()
    values = np.linalg.svd(S, compute_uv=False)
    for rank in (1, 2, 3):
        share = values[:rank].sum() / values.sum()
        A = SpectralFeatures(share, power=0).fit_transform(S)
        assert A.shape == (12, rank)
        np.testing.assert_allclose(A.T @ A, np.eye(rank), atol=1e-10)
        assert SpectralFeatures(share * 1.001, power=0).fit_transform(S).shape == (12, rank + 1)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_a_known_row_is_read_as_itself(power):
    S = similarity()
    features = SpectralFeatures(0.9, power)
    A = features.fit_transform(S)
    np.testing.assert_allclose(features.transform(S[[3, 7]]), A[[3, 7]], atol=1e-10)
    np.testing.assert_allclose(features.transform(sp.csr_array(S)), A, atol=1e-10)
    assert len(features.get_feature_names_out()) == A.shape[1]


def test_symmetrize():
    S = similarity()
    skew = np.random.default_rng(1).standard_normal(S.shape)
    plain, turned = SpectralFeatures(1.0).fit_transform(S), SpectralFeatures(1.0, symmetrize=True)
    np.testing.assert_allclose(np.abs(turned.fit_transform(S + skew - skew.T)), np.abs(plain), atol=1e-6)
    assert clone(turned).get_params() == turned.get_params()


def test_spectral_refuses():
    S = similarity()
    for share in (0, 1.5, "all"):
        with pytest.raises(ValueError, match="share"):
            SpectralFeatures(share).fit(S)
    with pytest.raises(ValueError, match="power"):
        SpectralFeatures(power=2).fit(S)
    with pytest.raises(ValueError, match="square"):
        SpectralFeatures(symmetrize=True).fit(S[:5])
    with pytest.raises(ValueError, match="zero everywhere"):
        SpectralFeatures().fit(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="12 columns"):
        SpectralFeatures().fit(S).transform(S[:, :5])
    with pytest.raises(ValueError, match="NaN"):
        SpectralFeatures().fit(np.full((3, 3), np.nan))
