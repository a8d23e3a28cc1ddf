"""Other libraries on the same features: LightFM's maintained fork and cmfrec; each is left out where it is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

RANK, EPOCHS = 64, 30


def lightfm(known: Any, features: Any, fresh: Any, seed: int) -> Any:
    """WARP over items that are an own vector and the mean of their features' vectors; newcomers have that alone."""
    from lightfm import LightFM

    n_items = known.shape[1]
    rows = sp.vstack([unit(features), unit(fresh)], format="csr")
    own = sp.vstack([sp.eye_array(n_items), sp.csr_array((fresh.shape[0], n_items))], format="csr")
    described = sp.csr_matrix(sp.hstack([own, rows], format="csr"), dtype=np.float32)
    model = LightFM(no_components=RANK, loss="warp", random_state=seed)
    model.fit(sp.coo_matrix(known), item_features=described[:n_items], epochs=EPOCHS, num_threads=1)
    bias, vectors = model.get_item_representations(described[n_items:])
    _, users = model.get_user_representations()
    return users @ vectors.T + bias


def cmfrec(known: Any, features: Any, fresh: Any, seed: int) -> Any:
    """Implicit factors trained jointly with those of the features."""
    from cmfrec import CMF_implicit

    model = CMF_implicit(k=RANK, random_state=seed, nthreads=1, verbose=False)
    model.fit(sp.coo_matrix(known, dtype=np.float64), I=features.toarray().astype(np.float64))
    vectors = np.vstack([model.item_factors_cold(I=row) for row in fresh.toarray().astype(np.float64)])
    return model.A_ @ vectors.T


def unit(features: Any) -> Any:
    """Rows of sum 1, as LightFM's own tools make them."""
    rows = sp.csr_array(features, dtype=np.float32)
    sums = np.asarray(np.abs(rows).sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(1 / np.where(sums > 0, sums, 1)) @ rows)


DISTRIBUTIONS = {"LightFM (WARP)": "lightfm-next", "cmfrec (implicit)": "cmfrec"}
PEERS = {"LightFM (WARP)": lightfm, "cmfrec (implicit)": cmfrec}
