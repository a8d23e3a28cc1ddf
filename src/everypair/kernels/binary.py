"""Binary linear models, one per label: w_l = argmin Σ_{i∈Ω_l} c_i ℓ(y_il, x_i·w) + ½ λ ‖w‖², by Newton's method.

Each step solves (XᵀDX + λI) d = −g, D = diag(c_i ℓ''), by conjugate gradients preconditioned with the diagonal, and
walks along d. Scores Xw and Xd are kept, so that a trial of the step's length costs no product with X.

A length t is taken if the value falls by 10⁻⁴ of what the slope promises. Near the optimum rounding hides that fall;
there the slope along d decides (approximate Wolfe condition: φ'(t) ≤ 0.9 |φ'(0)| and no rise beyond rounding).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.indexed import FAST, INLINED
from everypair.kernels.losses import SQUARED, loss_terms

ARMIJO = 1e-4
FLAT = 0.9
ROUNDING = 1e-13
SHORTEST = 1e-10
PLAIN = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": FAST}


@njit(**INLINED)
def products(indptr: Any, indices: Any, data: Any, rows: Any, count: Any, vector: Any, out: Any) -> None:
    """out_t = x_{i_t} · vector."""
    for t in range(np.uint64(count)):
        i = np.uint64(rows[t])
        total = 0.0
        for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])):
            total += data[e] * vector[np.uint64(indices[e])]
        out[t] = total


@njit(**INLINED)
def combine(indptr: Any, indices: Any, data: Any, rows: Any, count: Any, coefficients: Any, out: Any) -> None:
    """out += Σ_t coefficient_t x_{i_t}."""
    for t in range(np.uint64(count)):
        coefficient = coefficients[t]
        if coefficient != 0.0:
            i = np.uint64(rows[t])
            for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])):
                out[np.uint64(indices[e])] += coefficient * data[e]


@njit(**PLAIN)
def fit_binary(
    start: Any, stop: Any, code: Any, reg: Any, tol: Any, max_iter: Any, max_cg: Any, indptr: Any, indices: Any,
    data: Any, c: Any, known_indptr: Any, known_rows: Any, known_values: Any, everything: Any, positive: Any,
    negative: Any, W: Any, steps: Any, gaps: Any,
) -> None:  # fmt: skip
    """Fit labels [start, stop): rows of W (L × d, float64), Newton steps taken and ‖g‖ / ‖g at w = 0‖ at the end.

    ``known_*`` are columns of a sparse matrix, rows and values by label. With ``everything`` all rows count and the
    stored ones are the positives; else only stored rows count, positives where the value is not 0.
    """
    n, d = len(indptr) - 1, W.shape[1]
    rows, y = np.empty(n, np.int64), np.empty(n)
    score, along, slope, curve = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    g, step, r, p, z, Hp, diagonal = (
        np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty(d),
    )  # fmt: skip
    for label in range(start, stop):
        first, beyond = known_indptr[label], known_indptr[label + 1]
        if everything:
            count = n
            for i in range(n):
                rows[i], y[i] = i, negative
            for e in range(first, beyond):
                y[known_rows[e]] = positive
        else:
            count = beyond - first
            for t in range(count):
                rows[t] = known_rows[first + t]
                y[t] = positive if known_values[first + t] != 0 else negative
        w = W[label]
        w[:] = 0.0
        score[:count] = 0.0
        first_norm, norm, squares = 0.0, 0.0, 0.0
        for iteration in range(max_iter + 1):
            value = 0.5 * reg * squares
            for t in range(count):
                cost = c[rows[t]]
                loss, first_derivative, second_derivative = loss_terms(code, y[t], score[t])
                value += cost * loss
                slope[t] = cost * first_derivative
                curve[t] = cost * second_derivative
            for j in range(d):
                g[j] = reg * w[j]
            combine(indptr, indices, data, rows, count, slope, g)
            norm = np.sqrt(np.dot(g, g))
            if iteration == 0:
                first_norm = norm
            steps[label] = iteration
            if norm <= tol * first_norm or iteration == max_iter:
                break

            diagonal[:] = reg
            for t in range(count):
                if curve[t] != 0.0:
                    for e in range(indptr[rows[t]], indptr[rows[t] + 1]):
                        diagonal[indices[e]] += curve[t] * data[e] * data[e]
            # a quadratic needs one accurate solve, other losses one that grows accurate as they come near
            goal = 0.3 * tol * first_norm if code == SQUARED else min(0.1, np.sqrt(norm / first_norm)) * norm
            rz = 0.0
            for j in range(d):
                step[j] = 0.0
                r[j] = -g[j]
                p[j] = r[j] / diagonal[j]
                rz += r[j] * p[j]
            along[:count] = 0.0
            for _ in range(max_cg):
                products(indptr, indices, data, rows, count, p, slope)  # slope's place is free until the next step
                curvature = 0.0
                for t in range(count):
                    curvature += curve[t] * slope[t] * slope[t]
                curvature += reg * np.dot(p, p)
                if curvature <= 0.0:
                    break
                length = rz / curvature
                for j in range(d):
                    Hp[j] = reg * p[j]
                for t in range(count):
                    along[t] += length * slope[t]
                    slope[t] *= curve[t]
                combine(indptr, indices, data, rows, count, slope, Hp)
                residual = 0.0
                rz_new = 0.0
                for j in range(d):
                    step[j] += length * p[j]
                    r[j] -= length * Hp[j]
                    residual += r[j] * r[j]
                    z[j] = r[j] / diagonal[j]
                    rz_new += r[j] * z[j]
                if np.sqrt(residual) <= goal:
                    break
                for j in range(d):
                    p[j] = z[j] + rz_new / rz * p[j]
                rz = rz_new

            descent, w_step, step_step = np.dot(g, step), np.dot(w, step), np.dot(step, step)
            t_length = 1.0
            taken = False
            while t_length > SHORTEST:
                trial = 0.5 * reg * (squares + t_length * (2 * w_step + t_length * step_step))
                trial_slope = reg * (w_step + t_length * step_step)
                for t in range(count):
                    cost = c[rows[t]]
                    loss, first_derivative, _ = loss_terms(code, y[t], score[t] + t_length * along[t])
                    trial += cost * loss
                    trial_slope += cost * first_derivative * along[t]
                flat = trial_slope <= -FLAT * descent and trial <= value * (1 + ROUNDING)
                if trial <= value + ARMIJO * t_length * descent or flat:
                    taken = True
                    break
                t_length *= 0.5
            if not taken:
                break
            for j in range(d):
                w[j] += t_length * step[j]
            squares = np.dot(w, w)
            for t in range(count):
                score[t] += t_length * along[t]
        gaps[label] = norm / first_norm if first_norm > 0.0 else 0.0
