"""Where factors come from, U = f(θ), and what is paid for θ.

    Table            U = T                      θ = T          own vectors
    Linear           U = XW                     θ = W          features only
    Table + Linear   U = T + XW                 θ = [T; W]     own vectors and features

    R(θ) = ½ Σ_i λ_i ‖t_i‖² + ½ λ_f ‖W‖² + ½ λ_g tr(UᵀLU)

Every one of them is linear, U = Eθ. A constant column (the other side's bias) is neither learnt nor penalised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair.features.laplacian import Laplacian
from everypair.features.matrix import Features
from everypair.problem.gram import weighted_norm
from everypair.types import Array

FEATURE_SHARE = 4.0  # automatic ridge of features: so many times mean ‖x‖² times the mean ridge of own vectors


@dataclass(frozen=True)
class SideInformation:
    """What is known of one side besides its pairs; ``own`` says whether each entity has a vector of its own as well."""

    features: Features | None = None
    feature_reg: float | None = 0.0  # None: by the size of the features and the ridge of own vectors
    own: bool = True
    graph: Laplacian | None = None
    graph_reg: float = 0.0


@dataclass(frozen=True)
class Embedding:
    """U = Eθ of one side, its ridge (one constant per row of θ) and its graph."""

    n_rows: int
    ridge: Array
    features: Features | None = None
    own: bool = True
    graph: Laplacian | None = None
    graph_reg: float = 0.0
    constant: int | None = None

    @classmethod
    def of(cls, own_ridge: Array, information: SideInformation | None, constant: int | None) -> Embedding:
        """Combine the ridge of own vectors with what is known of a side."""
        if information is None:
            return cls(len(own_ridge), own_ridge, constant=constant)
        parts = [own_ridge] if information.own or information.features is None else []
        if information.features is not None:
            parts.append(np.full(information.features.shape[1], _feature_reg(information, own_ridge), own_ridge.dtype))
        features, own = information.features, information.own or information.features is None
        graph = information.graph if information.graph_reg > 0 else None
        return cls(
            len(own_ridge), np.concatenate(parts), features, own, graph, information.graph_reg, constant,
        )  # fmt: skip

    @property
    def feature_reg(self) -> float | None:
        """λ_f, where there are features."""
        return None if self.features is None else float(self.ridge[-1])

    @property
    def independent(self) -> bool:
        """Whether every row of U is a parameter of its own, so that rows can be solved one by one."""
        return self.features is None and self.graph is None

    def own_part(self, theta: Array) -> Array:
        """Rows of θ that are own vectors."""
        return theta[: self.n_rows if self.own else 0]

    def feature_part(self, theta: Array) -> Array:
        """Rows of θ that are feature weights W."""
        return theta[self.n_rows if self.own else 0 :]

    def factors(self, theta: Array, n_threads: int = 1) -> Array:
        """U at θ; the parameters of a Table are its factors."""
        if self.features is None:
            return theta
        out = self.lift(theta, n_threads)
        if self.constant is not None:
            out[:, self.constant] = 1
        return out

    def lift(self, theta: Array, n_threads: int = 1) -> Array:
        """Eθ."""
        if self.features is None:
            return theta
        out = self.features.product(self.feature_part(theta), n_threads)
        if self.own:
            out += self.own_part(theta)
        return out

    def adjoint(self, gradient: Array, n_threads: int = 1) -> Array:
        """EᵀG."""
        if self.features is None:
            return gradient
        weights = self.features.adjoint(gradient, n_threads)
        return np.concatenate([gradient, weights]) if self.own else weights

    def smooth(self, factors: Array, n_threads: int = 1) -> Array:
        """λ_g L U, or zeros without a graph."""
        if self.graph is None:
            return np.zeros_like(factors)
        return self.graph_reg * self.graph.product(factors, n_threads)

    def penalty(self, theta: Array, factors: Array, n_threads: int = 1) -> float:
        """R(θ); ``factors`` are those at θ."""
        value = weighted_norm(theta, self.ridge, self.constant, n_threads)
        if self.graph is not None:
            learnt = factors.astype(np.float64)  # LU is a difference of large numbers
            if self.constant is not None:
                learnt[:, self.constant] = 0
            value += float(np.sum(learnt * self.smooth(learnt, n_threads)))
        return 0.5 * value


def _feature_reg(information: SideInformation, own_ridge: Array) -> float:
    if information.feature_reg is not None or information.features is None:
        return information.feature_reg or 0.0
    return auto_feature_reg(information.features.mean_square_norm(), float(np.mean(own_ridge, dtype=np.float64)))


def auto_feature_reg(mean_square: float, own_ridge: float) -> float:
    """λ_f by the mean ‖x‖² and the mean ridge of own vectors."""
    return FEATURE_SHARE * mean_square * own_ridge
