"""Everybody's training of one objective, seen after each iteration: ``run(matrix, rank, iterations, after)``.

The matrix holds ones; the objective is implicit's (see peer_objectives.py) with weight ALPHA and ridge REG.
``after(U, V)`` gets the factors of every iteration, in units of that objective, and ends the training by returning
True. cmfrec tells nothing before it has finished, so it starts again for 4, 8, 16, … iterations and ``after`` is told
which: each is a training of its own. Everything but the number of iterations, rank, threads and objective is each
library's default.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from peer_objectives import irspack_units

from everypair import OneClassMF

ALPHA, REG = 11.0, 5.5
THREADS = 2
CMFREC_FIRST = 4  # iterations of its first training
SUBSPACE = 16  # of iALS++; of 8, 16 and 32, tried for four epochs at rank 64, 32 was a little ahead in objective

After = Callable[..., bool]
Run = Callable[[Any, int, int, After], None]


class Enough(Exception):
    """Ends a training from inside its callback."""


def everypair(matrix: Any, rank: int, iterations: int, after: After) -> None:
    """OneClassMF with the squared loss."""
    model = OneClassMF(
        rank=rank, loss="squared", negative_weight=1.0, reg=REG, reg_exponent=0, max_iter=iterations,
        tol=0, n_threads=THREADS, random_state=0,
    )  # fmt: skip
    model.fit(ALPHA * matrix, callbacks=[lambda sweep: after(sweep.state.left, sweep.state.right)])


def everypair_logistic(matrix: Any, rank: int, iterations: int, after: After) -> None:
    """OneClassMF with all defaults: another objective, for the time of a sweep alone."""
    model = OneClassMF(rank=rank, max_iter=iterations, tol=0, n_threads=THREADS, random_state=0)
    model.fit(matrix, callbacks=[lambda sweep: after(None, None)])


def implicit(matrix: Any, rank: int, iterations: int, after: After, use_cg: bool) -> None:
    """Alternating least squares."""
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(
        factors=rank, iterations=iterations, alpha=ALPHA, regularization=REG, use_cg=use_cg, num_threads=THREADS,
        random_state=0,
    )  # fmt: skip

    def callback(*_: Any) -> None:
        if after(model.user_factors, model.item_factors):
            raise Enough

    try:
        model.fit(matrix, show_progress=False, callback=callback)
    except Enough:
        return


def irspack(matrix: Any, rank: int, iterations: int, after: After, **solver: Any) -> None:
    """iALS."""
    from irspack.recommenders.ials import IALSRecommender

    alpha0, reg, unit = irspack_units(ALPHA, REG)
    model = IALSRecommender(matrix, n_components=rank, alpha0=alpha0, reg=reg, nu=0.0, n_threads=THREADS, **solver)
    trainer = model._create_trainer()
    for _ in range(iterations):
        trainer.run_epoch()
        if after(trainer.core_trainer.user, trainer.core_trainer.item, unit=unit):
            return


def cmfrec(matrix: Any, rank: int, iterations: int, after: After, use_cg: bool) -> None:
    """CMF_implicit, as fast as its documentation says it can be."""
    from cmfrec import CMF_implicit

    count = CMFREC_FIRST
    while count <= iterations:
        model = CMF_implicit(
            k=rank, lambda_=REG, alpha=ALPHA - 1, use_cg=use_cg, niter=count, finalize_chol=False, use_float=True,
            precompute_for_predictions=False, produce_dicts=False, nthreads=THREADS,
        )  # fmt: skip
        model.fit(matrix.tocoo())
        if after(model.A_, model.B_, alone=count):
            return
        count *= 2


RUNS: dict[str, Run] = {
    "everypair, squared": everypair,
    "irspack, CG": partial(irspack, solver_type="CG"),
    "implicit, CG": partial(implicit, use_cg=True),
    "irspack, iALS++": partial(irspack, solver_type="IALSPP", ialspp_subspace_dimension=SUBSPACE),
    "irspack, Cholesky": partial(irspack, solver_type="CHOLESKY"),
    "cmfrec, CG": partial(cmfrec, use_cg=True),
    "implicit, Cholesky": partial(implicit, use_cg=False),
    "cmfrec, Cholesky": partial(cmfrec, use_cg=False),
    "everypair, logistic": everypair_logistic,
}
