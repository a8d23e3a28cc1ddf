"""The Kronecker-factored preconditioner against matrices that are written out."""

import numpy as np
import pytest

from everypair.neural.layers import Layers
from everypair.neural.optimizers.kronecker import SMALL, preconditioner
from everypair.neural.trees import leaves

from .naive import RANK, REG, Naive

DAMPING = 0.7
NETS = [
    Layers((4, 5), RANK, "elu"),
    Layers((4,), RANK, "tanh", biases=False),
    Layers((), RANK, "identity"),
    Layers((4,), RANK, "relu", temperature=0.3),
]


def written_out(naive, point, root, side):
    """Every block as a dense matrix: A_l ⊗ G_l, diag(c) ⊗ G_0, Xᵀ-weighted, m G_l; from traces of its own."""
    layers, theta, tower = naive.layers, naive.theta[side], naive.towers[side]
    value = {
        "elu": (lambda z: np.where(z > 0, z, np.exp(z) - 1), lambda z: np.where(z > 0, 1, np.exp(z))),
        "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
        "relu": (lambda z: z * (z > 0), lambda z: 1.0 * (z > 0)),
        "identity": (lambda z: z, np.ones_like),
    }
    activate, slope = value[layers.activation]
    z, before = tower.inputs.product(theta), []
    z = z + theta["biases"][0] if layers.biases else z
    for number, matrix in enumerate(theta["matrices"]):
        before.append(z)
        z = activate(z) @ matrix
        if layers.biases:
            z = z + theta["biases"][number + 1]
    delta = [root]
    if layers.temperature is not None:
        length = np.linalg.norm(z, axis=1, keepdims=True)
        unit = z / length
        delta = [(root - unit * (unit * root).sum(1, keepdims=True)) / (length * np.sqrt(layers.temperature))]
    for pre, matrix in zip(before[::-1], theta["matrices"][::-1]):
        delta.append((delta[-1] @ matrix.T) * slope(pre))
    delta = delta[::-1]
    rows = len(root)
    G = [d.T @ d / rows for d in delta]
    A = [activate(pre).T @ activate(pre) for pre in before]
    curvatures = naive.objective.row_curvatures(point, side)
    own = curvatures / curvatures.mean()
    found = {
        "matrices": [np.kron(above, below) for above, below in zip(A, G[1:])],
        "biases": [rows * one for one in G] if layers.biases else [],
    }
    if tower.inputs.ids:
        found["ids"] = np.kron(np.diag(own), G[0])
    if tower.inputs.features is not None:
        X = np.asarray(tower.inputs.features.matrix @ np.eye(5))
        found["features"] = np.kron(np.diag((own[:, None] * X**2).sum(axis=0)), G[0])
    return found


@pytest.mark.parametrize("layers", NETS, ids=lambda layers: f"{layers.activation}{layers.widths}")
@pytest.mark.parametrize("kinds", [("ids", "both"), ("sparse", "dense")])
def test_the_preconditioner_is_its_blocks_inverted(layers, kinds):
    naive = Naive(layers=layers, kinds=kinds)
    point = naive.objective.at(naive.theta)
    residual = naive.direction()
    solve = preconditioner(naive.objective, point, np.random.default_rng(3))
    found = solve(residual, DAMPING)
    roots = naive.objective.curvature_root(point, np.random.default_rng(3))
    for side, root in enumerate(roots):
        blocks = written_out(naive, point, root, side)
        assert set(blocks) == set(found[side])
        for name, matrices in blocks.items():
            shift = getattr(REG[side], name) + DAMPING + SMALL
            given, solved = residual[side][name], found[side][name]
            matrices, given, solved = (x if isinstance(x, list) else [x] for x in (matrices, given, solved))
            assert len(matrices) == len(given) == len(solved)
            for matrix, r, s in zip(matrices, given, solved):
                expected = np.linalg.solve(matrix + shift * np.eye(len(matrix)), r.ravel())
                np.testing.assert_allclose(s.ravel(), expected, rtol=1e-8, atol=1e-10)


def test_it_is_symmetric_and_positive():
    naive = Naive(kinds=("ids", "both"))
    point = naive.objective.at(naive.theta)
    solve = preconditioner(naive.objective, point, np.random.default_rng(0))
    one, other = naive.direction(), naive.direction()

    def product(x, y):
        return sum(float(np.sum(a * b)) for a, b in zip(leaves(x), leaves(y)))

    assert product(one, solve(other, 0.1)) == pytest.approx(product(solve(one, 0.1), other))
    assert product(one, solve(one, 0.1)) > 0


def test_without_layers_rows_of_ids_have_their_own_block_in_the_mean():
    """Ids without layers: with equal weights and no stored curvature beyond them, G is VᵀQV times a row's share."""
    naive = Naive(loss="squared", kinds=("ids", "ids"), layers=Layers((), RANK, biases=False))
    point = naive.objective.at(naive.theta)
    traces = naive.objective.row_curvatures(point, 0)
    total, draws = 0.0, 3000
    random = np.random.default_rng(0)
    for _ in range(draws):
        root = naive.objective.curvature_root(point, random)[0]
        total = total + root.T @ root / len(root) / draws
    rows, columns = np.nonzero(naive.signed)
    stored = np.zeros(len(traces))
    np.add.at(stored, rows, naive.p[rows] * naive.q[columns] * np.sum(point.right[columns] ** 2, axis=1))
    assert np.trace(total) == pytest.approx((traces + stored).mean(), rel=0.05)  # the probe counts those pairs too
