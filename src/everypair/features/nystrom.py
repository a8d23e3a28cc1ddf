"""Kernel features from landmarks, so that a linear model of the new features is a kernel method.

    z = K^{-1/2} z̄,   K_ts = k(c_t, c_s),   z̄_t = k(c_t, x)        (OCSMF, section 4.3)

c_1 .. c_D are the centres of k-means over the training rows and k(x, y) = exp(−γ‖x − y‖²) unless another
kernel is asked for. Then z(x)·z(y) approximates k(x, y), and equals it where x and y are landmarks. What is learnt is a
:class:`KernelMap`, which models keep; :class:`NystromFeatures` is its face for scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from everypair.check import flag, integer, is_number
from everypair.parallel import even_chunks, resolve_threads, run_chunks, single_threaded_blas

_BLOCK_ROWS = 1024  # rows whose kernel values are held at a time, by each thread
_GAMMA = "scale"

KernelFunction = Literal["rbf", "linear"] | Callable[[Any, NDArray[Any]], Any]


@dataclass(frozen=True)
class KernelMap:
    """z(x) = K^{-1/2} z̄(x) over landmarks, so that z(x)·z(y) ≈ k(x, y); z̄(x) itself without ``root``.

    A ridge ½ λ ‖W‖² of weights on z is that of the kernel's space, ½ λ tr(AᵀKA) of coefficients A on z̄; on z̄ itself it
    is ½ λ ‖A‖². With ``has_constant`` the last column of X is a constant 1, which no kernel sees and which stays last.

    >>> rows = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])  # two features and the constant
    >>> KernelMap.fit(rows, "linear", 10, "auto", True, seed=0)(rows).round(3).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """

    landmarks: NDArray[Any]
    kernel: KernelFunction = "rbf"
    gamma: float | None = None
    root: NDArray[np.float64] | None = None
    has_constant: bool = False

    @classmethod
    def fit(
        cls,
        X: Any,
        kernel: KernelFunction,
        n_landmarks: int,
        gamma: Any,
        has_constant: bool,
        seed: Any,
        whiten: bool = True,
    ) -> Self:
        """Choose landmarks among or between the rows; ``gamma="auto"`` and ``"scale"`` are 1/d."""
        check_kernel(kernel, n_landmarks, _GAMMA if gamma == "auto" else gamma)
        number = _seed(seed)
        own = X[:, :-1] if has_constant else X
        if sp.issparse(own) and not (own.has_canonical_format and own.data.all()):
            own = own.copy()
            own.sum_duplicates()
            own.eliminate_zeros()
        multiple = 1 / own.shape[1] if isinstance(gamma, str) else float(gamma)
        scaled = multiple / _variance(own) if kernel == "rbf" else None
        with single_threaded_blas(), threadpool_limits(limits=1, user_api="openmp"):  # same bits on any number of cores
            landmarks = _landmarks(own, n_landmarks, number)
            plain = cls(landmarks, kernel, scaled, None, has_constant)
            root = _inverse_root(plain.values()(landmarks)) if whiten else None
        return cls(landmarks, kernel, scaled, root, has_constant)

    def __call__(self, X: Any, n_threads: int = 1) -> NDArray[Any]:
        """Features of rows, dense."""
        own = X[:, :-1] if self.has_constant else X
        values, count = self.values(), len(self.landmarks)
        result = np.ones((X.shape[0], count + self.has_constant), X.dtype)

        def block(chunk: tuple[int, int], worker: int) -> None:
            rows = slice(*chunk)
            z = values(own[rows])
            result[rows, :count] = z if self.root is None else z @ self.root

        run_chunks(block, even_chunks(X.shape[0], _BLOCK_ROWS), n_threads)
        return result

    def values(self) -> Callable[[Any], NDArray[Any]]:
        """The kernel values of a block of rows with the landmarks; what all blocks need is made once."""
        if callable(self.kernel):
            own, landmarks = self.kernel, self.landmarks
            return lambda rows: _checked_values(own(rows, landmarks), (rows.shape[0], len(landmarks)))
        columns = np.ascontiguousarray(self.landmarks.T, dtype=np.float64)
        squares = np.einsum("ij,ij->j", columns, columns)

        def of_rows(rows: Any) -> NDArray[Any]:
            rows = rows.astype(np.float64)
            values = np.asarray(rows @ columns)
            if self.gamma is None:
                return values
            values *= -2.0  # ‖x − c‖² = ‖x‖² − 2 x·c + ‖c‖²
            values += _squared_lengths(rows)[:, None]
            values += squares
            np.maximum(values, 0.0, out=values)
            values *= -self.gamma
            return np.exp(values, out=values)

        return of_rows


def check_kernel(kernel: Any, n_landmarks: Any, gamma: Any) -> None:
    """Refuse what :meth:`KernelMap.fit` does not take."""
    integer("n_landmarks", n_landmarks)
    if gamma != _GAMMA and (not is_number(gamma) or not 0 < float(gamma) < np.inf):
        raise ValueError(f'gamma must be a positive number, a multiple of 1/σ², or "scale", got {gamma!r}.')
    if not callable(kernel) and kernel not in ("rbf", "linear"):
        raise ValueError(f"kernel must be 'rbf', 'linear' or a function of (rows, landmarks), got {kernel!r}.")
    if kernel != "rbf" and gamma != _GAMMA:
        raise ValueError(f"gamma belongs to kernel='rbf', the kernel here is {kernel!r}: leave it at {_GAMMA!r}.")


class NystromFeatures(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """z = K^{-1/2} z̄ for every row x: its kernel values with D landmarks, whitened, and appended to x.

    Parameters
    ----------
    n_landmarks : D, the number of k-means centres. Where the training matrix has no more distinct rows than
        that, those rows are the landmarks, and ZZᵀ is their kernel matrix exactly.
    gamma : γ of the rbf kernel as a multiple of 1/σ², σ² the variance of all training values, zeros of a sparse
        matrix included; ``"scale"`` is 1/d. The squared distance of two unrelated rows is near 2dσ² for d features, so
        values near 1/d let many landmarks take part and values near 1, as in the paper, only landmarks that nearly
        equal the row. Other kernels have no γ: leave it.
    append : return [X, Z]; with False return Z alone.
    whiten : with False Z holds the kernel values z̄ themselves.
    kernel : "rbf" for exp(−γ‖x − y‖²), "linear" for x·y, or a function of a block of rows (sparse or dense, as
        given to fit or transform) and the dense D × d landmarks that returns their kernel values, one row per row;
        it is called from several threads. Eigenvalues of K that are negative or lost in rounding are dropped.
    random_state : seed, numpy Generator or None, for k-means.
    n_threads : threads of transform; None means all cores. The result does not depend on it.

    Attributes: ``map_``, the :class:`KernelMap`; its ``landmarks_`` (D × d, dense), ``gamma_`` (γ itself; None for
    other kernels) and ``root_`` (K^{-1/2}; None without ``whiten``); ``n_features_in_``.

    X is sparse or dense, float32 stays float32 (computed in float64). [X, Z] is a CSR matrix if X is sparse, else
    an array; Z alone is always an array. Rows go in blocks of 1024, so that besides Z each thread holds a few
    arrays of block × D (and, of a dense X, block × d) numbers, and all share 2·D·d + D² numbers; [X, Z] is joined
    from X and Z.

    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [4.0, 0.0]])
    >>> features = NystromFeatures(n_landmarks=3, append=False).fit(X)
    >>> Z = features.transform(X)
    >>> bool(np.isclose(Z[0] @ Z[1], np.exp(-features.gamma_ * 1.0)))
    True
    >>> NystromFeatures(n_landmarks=2, random_state=0).fit_transform(X).shape
    (3, 4)
    """

    def __init__(
        self,
        n_landmarks: int = 500,
        gamma: float | str = _GAMMA,
        append: bool = True,
        kernel: KernelFunction = "rbf",
        whiten: bool = True,
        random_state: int | np.random.Generator | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.gamma = gamma
        self.append = append
        self.kernel = kernel
        self.whiten = whiten
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose landmarks among or between the rows of ``X``; ``y`` is not used.

        >>> NystromFeatures(n_landmarks=5).fit([[0.0, 1.0], [1.0, 1.0], [0.0, 1.0]]).landmarks_.shape
        (2, 2)
        """
        flag("whiten", self.whiten)
        resolve_threads(self.n_threads)
        check_kernel(self.kernel, self.n_landmarks, self.gamma)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.map_ = KernelMap.fit(X, self.kernel, self.n_landmarks, self.gamma, False, self.random_state, self.whiten)
        return self

    @property
    def landmarks_(self) -> NDArray[Any]:
        """The centres, D × d."""
        return self.map_.landmarks

    @property
    def gamma_(self) -> float | None:
        """γ itself; None for other kernels."""
        return self.map_.gamma

    @property
    def root_(self) -> NDArray[np.float64] | None:
        """K^{-1/2}; None without ``whiten``."""
        return self.map_.root

    def transform(self, X: Any) -> Any:
        """Return [X, Z], or Z alone with ``append=False``, one row per row of ``X``.

        >>> rows = sp.csr_array([[0.0, 1.0], [1.0, 1.0]])
        >>> NystromFeatures().fit(rows).transform(rows).toarray().round(3).tolist()
        [[0.0, 1.0, 0.999, 0.035], [1.0, 1.0, 0.035, 0.999]]
        """
        check_is_fitted(self)
        threads = resolve_threads(self.n_threads)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        Z = self.map_(X, threads)
        if not self.append:
            return Z
        return sp.hstack([X, type(X)(Z)], format="csr") if sp.issparse(X) else np.hstack([X, Z])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of ``transform``: those of X, then nystrom0, nystrom1, ...

        >>> NystromFeatures().fit([[0.0], [1.0]]).get_feature_names_out(["age"]).tolist()
        ['age', 'nystrom0', 'nystrom1']
        """
        own = super().get_feature_names_out(input_features)
        added = np.array([f"nystrom{t}" for t in range(len(self.landmarks_))], dtype=object)
        return np.concatenate([own, added]) if self.append else added

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse input is welcome and float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _variance(X: Any) -> float:
    """Return σ², the variance of all values of ``X``, those not stored included."""
    size = X.shape[0] * X.shape[1]
    stored = X.data if sp.issparse(X) else X
    mean = float(stored.sum(dtype=np.float64)) / size
    squares = (size - stored.size) * mean**2
    for start, stop in even_chunks(len(stored), max(1, 2**20 // stored[:1].size) if len(stored) else 1):
        squares += float(np.square(np.subtract(stored[start:stop], mean, dtype=np.float64)).sum())
    if X.min() == X.max() or squares == 0.0:
        raise ValueError("All values of X are the same, so there is no σ² to divide gamma by: use kernel='linear'.")
    return squares / size


def _landmarks(X: Any, count: int, seed: int) -> NDArray[Any]:
    """Return the distinct rows of ``X`` if there are at most ``count``, else ``count`` k-means centres."""
    distinct = _distinct_rows(X, count)
    if distinct is not None:
        rows = X[distinct]
        return rows.toarray() if sp.issparse(rows) else rows
    # Random first centres: with k-means++ this took 1.2 to 4 times as long (D = 500 and 1000 on bibtex and
    # delicious) and ended within 2 % of the same inertia.
    from sklearn.cluster import MiniBatchKMeans  # slow to import, and seldom needed

    search = MiniBatchKMeans(count, init="random", n_init=1, compute_labels=False, random_state=seed)
    return search.fit(X).cluster_centers_


def _distinct_rows(X: Any, most: int) -> list[int] | None:
    """Return where each distinct row of ``X`` comes first, or None as soon as there are more than ``most``."""
    first: dict[bytes | tuple[bytes, bytes], int] = {}
    for i in range(X.shape[0]):
        if sp.issparse(X):
            stored = slice(X.indptr[i], X.indptr[i + 1])
            row: bytes | tuple[bytes, bytes] = (X.indices[stored].tobytes(), X.data[stored].tobytes())
        else:
            row = (X[i] + 0.0).tobytes()  # −0 becomes 0
        if row not in first:
            if len(first) == most:
                return None
            first[row] = i
    return list(first.values())


def _squared_lengths(rows: Any) -> NDArray[Any]:
    """Return ‖x‖² for every row x."""
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows)


def _inverse_root(K: NDArray[Any]) -> NDArray[Any]:
    """Return K^{-1/2} = E Λ^{-1/2} Eᵀ over the eigenvalues that rounding cannot have made."""
    if not np.allclose(K, K.T, rtol=1e-4, atol=1e-6 * np.abs(K).max()):
        raise ValueError("kernel must be symmetric: its values of two landmarks change when they are swapped.")
    eigenvalues, vectors = scipy.linalg.eigh((K.astype(np.float64) + K.T) / 2)
    kept = eigenvalues > len(K) * np.finfo(K.dtype).eps * np.abs(eigenvalues).max()
    scaled = vectors[:, kept] / np.sqrt(np.sqrt(eigenvalues[kept]))
    return scaled @ scaled.T


def _checked_values(values: Any, shape: tuple[int, int]) -> NDArray[Any]:
    """Return the values of a user's kernel as an array, or say what is wrong with them."""
    array = np.asarray(values.toarray() if sp.issparse(values) else values)
    if array.shape != shape:
        raise ValueError(f"kernel(rows, landmarks) must return an array of shape {shape}, got {array.shape}.")
    if array.dtype.kind not in "buif" or not np.isfinite(array).all():
        raise ValueError("kernel(rows, landmarks) must return finite real numbers.")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _seed(random_state: Any) -> int:
    """Return a seed for scikit-learn from a seed, a generator or None."""
    try:
        return int(np.random.default_rng(random_state).integers(2**31))
    except (TypeError, ValueError) as failure:
        raise ValueError(
            f"random_state must be a non-negative integer, a numpy Generator or None, got {random_state!r}."
        ) from failure
