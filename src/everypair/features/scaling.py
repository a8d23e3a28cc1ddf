"""Features as models use them: x_i ← x_i / ‖x_i‖ (``normalize``), then x_i ← (x_i, 1) (``fit_intercept``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def prepare_features(X: Any, normalize: bool, fit_intercept: bool) -> Any:
    """Return X with rows of unit length and a last column of ones, each where asked for.

    A sparse X stays sparse (``csr_array``), a dense one dense, and float32 stays float32; other numbers become
    float64. Rows of zeros stay zero. X itself is never changed.

    >>> prepare_features(np.array([[3.0, 4.0], [0.0, 0.0]]), normalize=True, fit_intercept=True).tolist()
    [[0.6, 0.8, 1.0], [0.0, 0.0, 1.0]]
    """
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    features = sp.csr_array(X, dtype=dtype) if sp.issparse(X) else np.asarray(X, dtype)
    if normalize:
        from sklearn.preprocessing import normalize as scale_rows  # slow to import

        features = scale_rows(_near_one(features))
    if fit_intercept:
        ones = np.ones((features.shape[0], 1), dtype)
        if sp.issparse(features):
            features = sp.csr_array(sp.hstack([features, sp.csr_array(ones)], format="csr"))
        else:
            features = np.hstack([features, ones])
    return features


def check_size(X: Any, name: str, dtype: Any, hint: str = ", or set normalize=True") -> None:
    """Refuse features whose squares ``dtype`` cannot add up.

    >>> check_size(np.array([[1e25]]), "X", np.float32)
    Traceback (most recent call last):
    ...
    ValueError: X has values too large for float32: rescale them, or set normalize=True.
    """
    largest = float(abs(X).max()) if min(X.shape) else 0.0
    if not largest * np.sqrt(max(X.shape)) < np.sqrt(float(np.finfo(dtype).max)):
        raise ValueError(f"{name} has values too large for {np.dtype(dtype)}: rescale them{hint}.")


def _near_one(features: Any) -> Any:
    """Rows times powers of two, which round nothing, so that no square of their values is lost or infinite."""
    if not sp.issparse(features):
        largest = np.abs(features).max(axis=1, keepdims=True, initial=0)
        return np.ldexp(features, -np.frexp(largest)[1])
    largest = abs(features).max(axis=1).toarray().ravel()
    powers = np.repeat(-np.frexp(largest)[1], np.diff(features.indptr))
    return sp.csr_array((np.ldexp(features.data, powers), features.indices, features.indptr), shape=features.shape)
