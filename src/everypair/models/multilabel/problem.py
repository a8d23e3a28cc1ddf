"""LEML's objective for labels Y of rows X, and the options of MultiLabelMF resolved for the data at hand.

    F = Σ_{Ω} r_i l_j c ℓ(y, s) + ½ w Σ_{∉Ω} r_i l_j (ỹ − s)² + ½ λ (‖W‖² + ‖H‖²),      s_ij = x_i W · h_j

r_i weighs rows and l_j labels. With every label known Ω are the positives and every other pair is a negative; with
missing labels Ω are the known entries and nothing else counts (w = 0). The ridge is λ times the trace norm of
Z = WHᵀ, which at its best split is ½(‖W‖² + ‖H‖²).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.labels import Labels
from everypair.data.pairs import Pairs
from everypair.features.matrix import Features
from everypair.models.multilabel import defaults
from everypair.models.multilabel.parameters import LabelSettings
from everypair.parallel import resolve_threads, single_threaded_blas
from everypair.problem.embedding import SideInformation
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.preconditioner import EXACT_FEATURES, Spectrum
from everypair.types import Array

COMPACT_ENTRIES = 2**24


class Shares(Protocol):
    """What rules for negatives have to know of labels, wherever these are."""

    @property
    def share(self) -> float:
        """π: the weighted share of positives among known entries."""
        ...

    @property
    def curvature(self) -> float:
        """Mean of π_l(1 − π_l) over positives, π_l the weighted share of rows that have label l."""
        ...


@dataclass(frozen=True)
class CountedLabels:
    """Labels of ``n_rows`` rows of weight 1, all known, of which ``counts`` have each label: what follows from that."""

    n_rows: int
    counts: NDArray[np.int64]
    label_weights: NDArray[np.float64]

    @property
    def share(self) -> float:
        """π."""
        return float(self.counts @ self.label_weights) / (self.n_rows * float(self.label_weights.sum()))

    @property
    def curvature(self) -> float:
        """Mean of π_l(1 − π_l) over positives."""
        return _curvature(self.counts, float(self.n_rows), self.label_weights)

    def reg_unit(self, loss: Loss) -> float:
        """The ridge whose multiples ``reg="auto"`` tries."""
        return defaults.reg_unit(self.share, float(self.n_rows), 1.0, loss)


def _curvature(mass: Array, rows: float, label_weights: Array) -> float:
    shares = mass / rows
    return float((label_weights * mass) @ (shares * (1 - shares)) / (label_weights @ mass))


@dataclass(frozen=True)
class LabelTerms:
    """What a negative costs, resolved: the loss itself (``same``) or a square, its weight w and its value ỹ."""

    loss: Loss
    same: bool
    weight: float
    value: float

    @classmethod
    def resolve(cls, settings: LabelSettings, labels: Shares, times: float = 1.0) -> LabelTerms:
        """What is left to the data becomes what suits these labels; ``times`` multiplies the weight of a square."""
        loss, weight, value = settings.loss, settings.negative_weight, settings.negative_value
        share = float(np.clip(labels.share, 1e-9, 1 - 1e-9))
        automatic = weight is None and value is None and settings.negative_loss == "auto"
        dense = automatic and not loss.quadratic and share >= defaults.DENSE_LABELS
        if settings.only_known or settings.negative_loss == "same" or dense:  # a known negative has the loss itself
            weight = 1.0 if weight is None else weight
            value = loss.dislike_target if value is None else value
            return cls(loss, not loss.quadratic, weight, value)  # of the squared loss the two are the same
        if weight is None:
            weight = times * defaults.auto_negative_weight(labels.curvature, loss)
        value = defaults.auto_negative_value(share, weight, loss) if value is None else value
        return cls(loss, False, weight, value)


@dataclass(frozen=True)
class LabelProblem:
    """Prepared rows X, their labels and weights: everything that does not depend on the ridge."""

    X: Any
    labels: Labels
    row_weights: NDArray[np.float64]
    label_weights: NDArray[np.float64]

    @classmethod
    def of(cls, X: Any, labels: Labels, sample_weight: Any, label_weight: Any) -> LabelProblem:
        """Fill in weights of 1."""
        n, n_labels = labels.shape
        return cls(
            X,
            labels,
            np.ones(n) if sample_weight is None else np.asarray(sample_weight, np.float64),
            np.ones(n_labels) if label_weight is None else np.asarray(label_weight, np.float64),
        )

    def check_weights(self, dtype: Any) -> None:
        """Refuse weights of pairs, r_i l_j, that ``dtype`` cannot hold."""
        limits = np.finfo(dtype)
        least, most = (float(end(self.row_weights) * end(self.label_weights)) for end in (np.min, np.max))
        if not (float(limits.tiny) <= least and most <= float(limits.max)):
            raise ValueError(
                f"sample_weight times label_weight goes from {least:.3g} to {most:.3g}, beyond what {np.dtype(dtype)} "
                "holds: rescale the weights; a row that should not count has the weight 0."
            )

    def spectrum(self, dtype: Any) -> Spectrum | None:
        """XᵀRX decomposed, R the weights of rows; ``None`` where it would not be used."""
        if self.X.shape[1] > EXACT_FEATURES:
            return None
        with single_threaded_blas():
            return Spectrum.of(Features(self.X, dtype), self.row_weights.astype(dtype))

    def rows(self, index: Array) -> LabelProblem:
        """The same problem on some of the rows."""
        return LabelProblem(self.X[index], self.labels.rows(index), self.row_weights[index], self.label_weights)

    def compact(self) -> LabelProblem:
        """The same problem in coordinates of the rows' own span, where rows are fewer than features.

        Xᵀ = QR gives XXᵀ = RᵀR: the rows of Rᵀ have the same inner products, so the same scores at the same ridge.
        """
        n, d = self.X.shape
        if n >= d or n * d > COMPACT_ENTRIES:
            return self
        dense = self.X.toarray() if sp.issparse(self.X) else self.X
        with single_threaded_blas():
            (triangle,) = scipy.linalg.qr(dense.T, mode="r", check_finite=False)
        return replace(self, X=np.ascontiguousarray(triangle[:n].T))

    def weighted(self) -> tuple[Any, Any]:
        """√r_i x_i and √r_i y_i: their squares are the weighted ones of a row."""
        roots = sp.diags_array(np.sqrt(self.row_weights))
        return roots @ self.X, roots @ self.labels.positives.astype(np.float64)

    @property
    def share(self) -> float:
        """π: the weighted share of positives among known entries."""
        return self._mass(self.labels.positives) / self._known_mass

    @property
    def curvature(self) -> float:
        """Mean of π_l(1 − π_l) over positives, π_l the weighted share of rows that have label l."""
        mass = self.row_weights @ self.labels.positives.astype(np.float64)
        return _curvature(mass, float(self.row_weights.sum()), self.label_weights)

    @property
    def known_share(self) -> float:
        """The weighted share of known entries."""
        return self._known_mass / (self.row_weights.sum() * self.label_weights.sum())

    @property
    def _known_mass(self) -> float:
        if self.labels.known is None:
            return float(self.row_weights.sum() * self.label_weights.sum())
        return self._mass(self.labels.known)

    def _mass(self, stored: Any) -> float:
        ones = sp.csr_array((np.ones(stored.nnz), stored.indices, stored.indptr), shape=stored.shape)
        return float(self.row_weights @ (ones @ self.label_weights))

    def reg_unit(self, loss: Loss) -> float:
        """The ridge whose multiples ``reg="auto"`` tries."""
        return defaults.reg_unit(self.share, float(self.row_weights.sum()), self.known_share, loss)

    def parts(self, terms: LabelTerms, reg: float, dtype: Any) -> tuple[Pairs, Negatives, Ridge, SideInformation]:
        """What F is made of: stored pairs, negatives, the ridge of H, and the rows' features with that of W."""
        stored = self.labels.positives if self.labels.known is None else self.labels.known
        weights = np.repeat(self.row_weights, np.diff(stored.indptr)) * self.label_weights[stored.indices]
        weights[stored.data == 0] *= -terms.weight  # a known negative is a dislike
        signed = sp.csr_array((weights.astype(dtype), stored.indices, stored.indptr), shape=stored.shape)
        if not signed.data.all():  # known negatives of weight 0 do not count
            signed = signed.copy()
            signed.eliminate_zeros()
        pairs = Pairs.from_matrix(signed, dtype=dtype, name="Y")
        elsewhere = terms.weight if self.labels.known is None else 0.0
        negatives = Negatives(
            self.row_weights, elsewhere * self.label_weights, terms.value, (self.row_weights, self.label_weights)
        )
        return pairs, negatives, Ridge.checked(reg, 0.0), SideInformation(Features(self.X, dtype), reg, own=False)

    def objective(self, terms: LabelTerms, reg: float, dtype: Any, n_threads: int | None) -> Objective:
        """F, at the cost of Ω, or of every pair where negatives have the loss itself."""
        pairs, negatives, ridge, informed = self.parts(terms, reg, dtype)
        return Objective(
            pairs, terms.loss, negatives, ridge, dtype=dtype, n_threads=resolve_threads(n_threads),
            side_information=(informed, None), negative_loss="same" if self.every_pair(terms) else "squared",
        )  # fmt: skip

    def every_pair(self, terms: LabelTerms) -> bool:
        """Whether every pair outside Ω has the loss itself."""
        return terms.same and self.labels.known is None
