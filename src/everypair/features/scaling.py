"""Features as models use them: x_i ← x_i / ‖x_i‖ (``normalize``), then x_i ← (x_i, 1) (``fit_intercept``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize as scale_rows


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
        features = scale_rows(features)
    if fit_intercept:
        ones = np.ones((features.shape[0], 1), dtype)
        if sp.issparse(features):
            features = sp.csr_array(sp.hstack([features, sp.csr_array(ones)], format="csr"))
        else:
            features = np.hstack([features, ones])
    return features
