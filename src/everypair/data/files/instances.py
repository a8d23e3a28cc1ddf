"""What a file of multi-label data holds: instances with features and labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MultiLabelData:
    """Instances with features and labels, both csr float32.

    ``X[i, f]`` is the value of feature f. ``Y[i, l]`` is 1 where instance i has label l; a *stored* 0, which
    only npz files can hold, is a label known to be absent. Names are ``None`` where the file has none.

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> data = MultiLabelData(sp.csr_array(np.eye(2)), sp.csr_array([[1, 0], [1, 1]]), label_names=("war", "love"))
    >>> data.X.shape, data.Y.nnz, data.label_names
    ((2, 2), 3, ('war', 'love'))
    """

    X: Any
    Y: Any
    feature_names: tuple[str, ...] | None = None
    label_names: tuple[str, ...] | None = None
