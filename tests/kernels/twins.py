"""Newton–CG on one row in plain float64 numpy (dense, any basis, no safeguards against rounding), and BPR's draws."""

import numpy as np

from everypair.kernels.row_newton import ARMIJO, MAX_HALVINGS

from ..problem.brute import PLAIN_LOSSES

MASK = (1 << 64) - 1


def newton_cg(loss, c, y, z, w, V, D, pull, precondition, u, newton, cg, newton_tol=0.0, cg_tol=0.0):
    """Lower f(u) = Σ [c ℓ(y, s) − ½ w (z − s)²] + ½ uᵀDu − pull·u with s = Vu, V the rows of the stored pairs.

    ``precondition`` is a matrix; coordinates that must not move have zero rows and columns in it. Returns u, the sum
    over the stored pairs there and the length of every step that was taken.
    """
    value, slope, curvature = PLAIN_LOSSES[loss]

    def stored(at):
        s = V @ at
        return np.sum(c * value(y, s) - 0.5 * w * (z - s) ** 2)

    def f(at):
        return stored(at) + 0.5 * at @ D @ at - pull @ at

    lengths = []
    for number in range(newton):
        s = V @ u
        gradient = V.T @ (c * slope(y, s) - w * (s - z)) + D @ u - pull
        hessian = V.T @ ((c * curvature(y, s) - w)[:, None] * V) + D
        norm = gradient @ precondition @ gradient
        if number == 0:
            first_norm = norm
        if norm <= newton_tol**2 * first_norm:
            break
        step = conjugate_gradients(hessian, -gradient, precondition, cg, cg_tol)
        length = 1.0
        for _ in range(MAX_HALVINGS):
            if f(u + length * step) - f(u) <= ARMIJO * length * (gradient @ step) + 1e-14 * abs(f(u)):
                break
            length /= 2
        else:
            break
        u = u + length * step
        lengths.append(length)
    return u, stored(u), lengths


def conjugate_gradients(matrix, residual, precondition, steps, tol):
    """Solve matrix·x = residual from zero by preconditioned conjugate gradients."""
    x = np.zeros_like(residual)
    direction = precondition @ residual
    norm = first = residual @ direction
    for _ in range(steps):
        image = matrix @ direction
        alpha = norm / (direction @ image)
        x = x + alpha * direction
        residual = residual - alpha * image
        new_norm = residual @ precondition @ residual
        if new_norm <= tol**2 * first:
            break
        direction = precondition @ residual + new_norm / norm * direction
        norm = new_norm
    return x


class Numbers:
    """xorshift64* in Python's integers."""

    def __init__(self, seed):
        self.x = int(seed)

    def next(self):
        self.x ^= self.x >> 12
        self.x ^= (self.x << 25) & MASK
        self.x ^= self.x >> 27
        return ((self.x * 2685821657736338717 & MASK) >> 11) * 2.0**-53


def triple(matrix, numbers):
    """Draw (user, positive, negative) by linear search."""
    entries, weights = np.argwhere(matrix > 0), matrix[matrix > 0]
    place = numbers.next() * weights.sum()
    i, j = entries[np.flatnonzero(np.cumsum(weights) > place)[0]]
    while True:
        l = int(numbers.next() * matrix.shape[1])
        if matrix[i, l] <= 0:
            return int(i), int(j), l
