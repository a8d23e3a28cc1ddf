"""A linear model written into two towers without changing a score: f(i)·g(j) = u_i·v_j, by the rows of ids.

    UVᵀ = P S Qᵀ,   s = max(S^{1/2D}, 1),   R_l and C random with orthonormal columns and rows,   D layers a side

    W_l = R_l diag(s, 1, …, 1) R_{l+1}ᵀ   matrices, the last one R_L diag(s) C
    H_L = P S^½ s⁻¹ R_Lᵀ,   z_l = σ⁻¹(H_l),   H_{l−1} = z_l W_{l−1}⁺,   down to the rows of ids z_1

and the same with Q on the right: every layer carries an equal share of every singular value, so that no matrix is far
from where a step of any optimiser is of use. H_l is made smaller, and W_l as much larger, where σ has no such value.
An activation without an inverse that is z above zero is given inputs above zero by the biases b_l: exact as well.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.neural.activations import ACTIVATIONS
from everypair.neural.layers import Layers
from everypair.neural.towers import Perceptron
from everypair.neural.trees import Both, Tree
from everypair.parallel import single_threaded_blas
from everypair.types import Array

REACH = 0.9  # of the values that an activation has: the inverse is steep beyond
ABOVE = 1e-3  # of the largest input: how far above zero the least one is


class PrincipalAxes(NamedTuple):
    """A linear model in its principal axes: UVᵀ = P S Qᵀ."""

    left: NDArray[np.float64]
    strengths: NDArray[np.float64]
    right: NDArray[np.float64]

    @classmethod
    def of(cls, left: Array, right: Array) -> PrincipalAxes:
        """Two thin QR and a small SVD; directions without strength are left out.

        >>> PrincipalAxes.of(np.array([[3.0, 0.0], [0.0, 0.0]]), np.eye(2)).strengths
        array([3.])
        """
        with single_threaded_blas():
            Qu, Ru = np.linalg.qr(left.astype(np.float64))
            Qv, Rv = np.linalg.qr(right.astype(np.float64))
            P, S, Qt = np.linalg.svd(Ru @ Rv.T)
            count = int(np.count_nonzero(np.finfo(left.dtype).eps * S.max(initial=0) < S))
            return cls(Qu @ P[:, :count], S[:count], Qv @ Qt[:count].T)


def obstacle(layers: Layers, rank: int) -> str | None:
    """Why no linear model of that rank can be written into these layers, or ``None``.

    >>> obstacle(Layers((8, 4), rank=8), 4), obstacle(Layers((8, 4), rank=8), 5)
    (None, 'a layer of width 4 cannot carry a model of rank 5: widths and rank must be at least that')
    >>> obstacle(Layers((8,), 8, activation="relu", biases=False), 4)
    'activation="relu" without layer_biases is linear nowhere'
    """
    narrowest = min(layers.outs)
    if layers.temperature is not None:
        return "scores of a linear model are no cosines: leave temperature at None"
    if narrowest < rank:
        return (
            f"a layer of width {narrowest} cannot carry a model of rank {rank}: widths and rank must be at least that"
        )
    if _invertible(layers) or _linear_above_zero(layers):
        return None
    if ACTIVATIONS[layers.activation].inverse is None:
        return f'activation="{layers.activation}" without layer_biases is linear nowhere'
    return f'activation="{layers.activation}" cannot be inverted where widths grow from layer to layer'


def lifted(towers: tuple[Perceptron, Perceptron], left: Array, right: Array, random: np.random.Generator) -> Both:
    """Parameters of both towers, which have ids, whose scores are UVᵀ; weights of features are zero."""
    layers, axes = towers[0].layers, PrincipalAxes.of(left, right)
    sentence = obstacle(layers, len(axes.strengths))
    if sentence is not None:
        raise ValueError(f"start cannot be written into the towers: {sentence}.")
    share = np.maximum(axes.strengths ** (0.5 / (len(layers.widths) + 1)), 1)
    with single_threaded_blas():
        last = _orthonormal(random, layers.rank)[: len(share)]
        one, other = (
            _side(tower, sides, axes.strengths, share, last, random)
            for tower, sides in zip(towers, (axes.left, axes.right))
        )
    return one, other


def _side(
    tower: Perceptron,
    directions: NDArray[np.float64],
    strengths: NDArray[np.float64],
    share: NDArray[np.float64],
    last: NDArray[np.float64],
    random: np.random.Generator,
) -> Tree:
    """One tower whose factors are directions · S^½ · last."""
    layers, dtype = tower.layers, tower.dtype
    turns = [_orthonormal(random, width) for width in layers.widths]
    spread = [_matrix(one, other.T, share) for one, other in pairwise(turns)]
    matrices = [matrix for matrix, _ in spread] + [(turn[:, : len(share)] * share) @ last for turn in turns[-1:]]
    biases = [np.zeros(out) for out in layers.outs]
    scaled = directions * (np.sqrt(strengths) / share ** (1 if layers.widths else 0))
    if not layers.widths:
        first = scaled @ last
    elif _invertible(layers):
        first = _inverted(layers, scaled @ turns[-1][:, : len(share)].T, matrices, [inverse for _, inverse in spread])
    else:
        scaled = scaled / share ** (len(layers.widths) - 1)
        first = _raised(scaled @ turns[0][:, : len(share)].T, matrices, biases)
    theta = tower.inputs.start(layers.first, (0.0, 0.0), random, dtype)
    theta["ids"] = np.ascontiguousarray(first, dtype)
    return {
        **theta,
        "matrices": [np.ascontiguousarray(matrix, dtype) for matrix in matrices],
        "biases": [bias.astype(dtype) for bias in biases] if layers.biases else [],
    }


def _matrix(
    turn: NDArray[np.float64], following: NDArray[np.float64], share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """R diag(s, 1, …, 1) R'ᵀ and its pseudo-inverse."""
    count = min(len(turn), len(following))
    values = np.ones(count)
    values[: len(share)] = share
    left, right = turn[:, :count], following[:count]
    return (left * values) @ right, (right.T / values) @ left.T


def _inverted(
    layers: Layers,
    active: NDArray[np.float64],
    matrices: list[NDArray[np.float64]],
    inverses: list[NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Rows of ids for these activations of the last hidden layer; matrices are scaled where σ has no such value."""
    activation = ACTIVATIONS[layers.activation]
    assert activation.inverse is not None
    for number in reversed(range(len(matrices))):
        over = max(float(active.min()) / activation.least, float(active.max()) / activation.most) / REACH
        if over > 1:
            active, matrices[number] = active / over, matrices[number] * over
        inputs: NDArray[np.float64] = activation.inverse(active)
        if number:
            active = inputs @ inverses[number - 1]
    return inputs


def _raised(
    linear: NDArray[np.float64], matrices: list[NDArray[np.float64]], biases: list[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Rows of ids, with ``biases`` that raise the inputs of every hidden layer above zero, and no output."""
    first, raised = linear, np.zeros(linear.shape[1])
    for number, matrix in enumerate(matrices):
        biases[number] -= raised
        above = ABOVE * float(np.abs(linear).max()) - np.minimum(linear.min(axis=0), 0)
        biases[number] += above
        linear, raised = linear @ matrix, above @ matrix
    biases[-1] -= raised
    return first


def _orthonormal(random: np.random.Generator, size: int) -> NDArray[np.float64]:
    return np.linalg.qr(random.standard_normal((size, size)))[0]


def _invertible(layers: Layers) -> bool:
    falling = all(one >= other for one, other in pairwise(layers.widths))
    return ACTIVATIONS[layers.activation].inverse is not None and (falling or layers.activation == "identity")


def _linear_above_zero(layers: Layers) -> bool:
    return layers.biases and ACTIVATIONS[layers.activation].linear_above_zero
