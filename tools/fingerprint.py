"""Print a hash of every array that small fits of every estimator end with: the same output is the same bits.

Run it before and after a change that should not change any result, and compare:

    python tools/fingerprint.py > before.txt
    python tools/fingerprint.py | diff before.txt -

Where a change may round otherwise, compare numbers: ``--save before.npz``, then ``--compare before.npz`` prints the
largest difference of every configuration, relative to the largest number of its array.

Bits depend on the machine and on the versions of numpy, scipy and numba, so the output is compared, never kept.
"""

from __future__ import annotations

import argparse
import hashlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair import (
    BPR,
    MLRM,
    Blend,
    ContentItems,
    EnsembleMF,
    ItemItem,
    KernelCompletion,
    KernelLabels,
    MultiLabelMF,
    NeighborMF,
    OneClassMF,
    Popularity,
    Side,
    SubsampledMF,
)  # fmt: skip
from everypair.models.completion.rivals import FNNM, FPCA, IMC, SIMC, Maxide
from everypair.models.multilabel import Kernel
from everypair.models.multilabel.rivals import (
    CPLST,
    PLST,
    SLEEC,
    WSABIE,
    BayesianCompressedSensing,
    BinaryRelevance,
    CompressedSensing,
    FastXML,
    LabelCCA,
)
from everypair.models.recommend.rivals.poisson import PoissonMF
from everypair.models.recommend.rivals.same_loss import SameLossMF
from everypair.problem import Loss
from everypair.problem.losses import LOSSES

Fit = Callable[[], Any]
M, N, RANK = 60, 40, 5


def digest(value: Any) -> str:
    """A short hash of an array's type, shape and bytes (of a sparse one's parts)."""
    if sp.issparse(value):
        matrix = sp.csr_array(value)
        return "+".join(digest(part) for part in (matrix.indptr.astype(np.int64), matrix.indices, matrix.data))
    array = np.ascontiguousarray(value)
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(head + array.tobytes()).hexdigest()[:12]


class Data:
    """One small problem of each kind, from one seed."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.plain = (random.random((M, N)) < 0.15).astype(float)
        self.plain[:2] = 0
        self.weighted = self.plain * random.uniform(0.5, 3, (M, N))
        self.disliked = self.weighted * np.where(random.random((M, N)) < 0.2, -1, 1)
        self.targets = np.where(self.disliked != 0, random.normal(0, 1, (M, N)), 0)
        self.left = random.random((M, 6)) * (random.random((M, 6)) < 0.5)
        self.right = random.random((N, 4))
        self.user_graph, self.item_graph = (
            sp.csr_array((random.random((size, size)) < 0.1) * random.random((size, size))) for size in (M, N)
        )
        self.p, self.q = random.random(M) + 0.1, random.random(N) + 0.1
        self.imputed = random.normal(0, 0.3, (M, 2)), random.normal(0, 0.3, (N, 2))
        self.X = random.random((90, 12)) * (random.random((90, 12)) < 0.4)
        weights = random.normal(0, 1, (12, 8))
        self.Y = (self.X @ weights > 0.8).astype(int)
        self.mask = random.random(self.Y.shape) < 0.6
        self.row_weights = random.random(90) + 0.5
        self.new_rows = (random.random((3, N)) < 0.2).astype(float)
        self.new_columns = (random.random((M, 2)) < 0.2).astype(float)
        self.entries = self.left @ random.normal(0, 1, (6, 4)) @ self.right.T + random.normal(0, 0.1, (M, N))
        self.observed = random.random((M, N)) < 0.4


def pseudo_huber() -> Loss:
    """A loss of the user's own."""
    return Loss(
        "pseudo_huber",
        value=lambda y, s: (1.0 + (y - s) ** 2) ** 0.5 - 1.0,
        slope=lambda y, s: (s - y) / (1.0 + (y - s) ** 2) ** 0.5,
        curvature=lambda y, s: (1.0 + (y - s) ** 2) ** -1.5,
    )


def both(**options: Any) -> dict[str, Side]:
    """The same options for users and items."""
    return {"users": Side(**options), "items": Side(**options)}


def recommenders(data: Data) -> Iterator[tuple[str, Fit]]:
    """Configurations of the recommenders, each as a function that fits it."""

    def full(matrix: Any = data.plain, more: dict[str, Any] | None = None, **options: Any) -> Fit:
        kind = options.pop("kind", OneClassMF)
        options = {"rank": RANK, "max_iter": 4, "tol": 0, "random_state": 3, **options}
        return lambda: kind(**options).fit(matrix, **(more or {}))

    for loss in LOSSES:
        yield f"one-class {loss}", full(loss=loss)
        yield f"one-class {loss} float64 dislikes", full(data.disliked, loss=loss, dtype="float64")
    yield "one-class own loss", full(loss=pseudo_huber())
    for solver in (
        "block",
        "als",
        "cd",
        "tron",
        "newton-linesearch",
        "gradient",
        "nonlinear-cg",
        "gradient-region",
        "sg-reform",
        "sg-bsearch",
        "sg-dense",
        "sg-descent",
        "sg-rows",
    ):
        yield f"one-class {solver}", full(data.weighted, loss="squared", solver=solver)
    yield "one-class block logistic", full(solver="block")
    yield "one-class tron logistic biases", full(solver="tron", biases=True)
    for scheme in ("user-count", "item-rarity", ("item-count", 0.5), (data.p, data.q)):
        name = scheme if isinstance(scheme, str) else scheme[0] if isinstance(scheme[0], str) else "arrays"
        yield f"one-class {name}", full(data.weighted, negative_scheme=scheme)
    yield "one-class no negatives", full(data.disliked, negative_weight=0.0)
    yield "one-class biases", full(biases=True)
    yield "one-class imputed", full(negative_value=data.imputed)
    yield "one-class imputed biases cd", full(negative_value=data.imputed, biases=True, loss="squared", solver="cd")
    yield "one-class targets", full(data.disliked, {"targets": data.targets}, loss="squared")
    yield "one-class count ridge", full(reg=(0.1, 0.2), reg_exponent="count")
    yield "one-class same loss", full(kind=SameLossMF)
    yield "one-class same loss imputed", full(kind=SameLossMF, negative_value=data.imputed, biases=True)
    sides = {"user_features": sp.csr_array(data.left), "item_features": data.right}
    yield "one-class features", full(more=sides)
    yield "one-class features only", full(more=sides, **both(own_vectors=False, fit_intercept=True, normalize=True))
    yield "one-class features biases", full(more=sides, biases=True, **both(feature_reg=0.3))
    yield "one-class groups", full(more={"item_features": {"a": data.right, "b": sp.eye_array(N, format="csr")}})
    graphs = {"user_graph": data.user_graph, "item_graph": data.item_graph}
    yield "one-class graphs", full(more=graphs, loss="squared")
    yield "one-class graph and features", full(more={**graphs, **sides}, **both(normalize_graph=True))
    yield "one-class validation", full(data.plain, {"validation": np.roll(data.plain, 1, 1) * (data.plain == 0)})
    yield (
        "one-class patience",
        full(data.plain, {"validation": np.roll(data.plain, 1, 1) * (data.plain == 0)}, patience=1, max_iter=9),
    )

    def sampled(kind: type = SubsampledMF, matrix: Any = data.plain, **options: Any) -> Fit:
        more = options.pop("more", {})
        options = {"rank": RANK, "max_iter": 4, "tol": 0, "random_state": 3, **options}
        return lambda: kind(**options).fit(matrix, **more)

    for scheme in ("uniform", "user-count", "item-count", "item-rarity", "item-inverse", "user-quota"):
        yield f"subsampled {scheme}", sampled(scheme=scheme)
    yield "subsampled resample logistic", sampled(resample=True, loss="logistic")
    yield "subsampled features", sampled(more=sides)
    yield "ensemble", sampled(EnsembleMF, n_models=3)
    yield "ensemble biases", sampled(EnsembleMF, n_models=2, biases=True, loss="logistic")
    yield "poisson", lambda: PoissonMF(rank=RANK, max_iter=3, random_state=3).fit(data.disliked)
    yield "bpr", lambda: BPR(rank=RANK, max_iter=3, random_state=3).fit(data.disliked)
    yield "popularity", lambda: Popularity().fit(data.plain)
    yield "content", lambda: ContentItems().fit(data.plain, item_features=data.right)
    yield "content, ridge", lambda: ContentItems(reg="auto").fit(data.plain, item_features=data.right)
    yield "item-item", lambda: ItemItem(neighbors=12, reg=1.0).fit(data.plain)
    yield "item-item dislikes", lambda: ItemItem(neighbors=12, negative_weight=0.3).fit(data.disliked)
    yield "item-item features", lambda: ItemItem(neighbors=12, reg=1.0).fit(data.plain, item_features=data.right)
    yield "item-item all", lambda: ItemItem(neighbors=None, reg=1.0).fit(data.plain)
    yield "blend", lambda: Blend(random_state=3).fit(data.plain)
    yield "blend found", lambda: Blend(weights="auto", random_state=3).fit(data.plain)


def classifiers(data: Data) -> Iterator[tuple[str, Fit]]:
    """Configurations of the multi-label classifiers."""

    def labelled(kind: type, weight: Any = None, mask: Any = None, X: Any = data.X, **options: Any) -> Fit:
        if kind in (MultiLabelMF, WSABIE, FastXML, SLEEC, BayesianCompressedSensing):
            options["random_state"] = 3
        more = {} if mask is None else {"mask": mask}
        return lambda: kind(**options).fit(X, data.Y, weight, **more)

    fixed: dict[str, Any] = {"reg": 0.5, "threshold": 0.2, "rank": 4}
    for loss in LOSSES:
        yield f"multi-label {loss}", labelled(MultiLabelMF, loss=loss, **fixed)
        yield f"multi-label {loss} same", labelled(MultiLabelMF, loss=loss, negative_loss="same", **fixed)
        yield (
            f"multi-label {loss} missing",
            labelled(MultiLabelMF, mask=data.mask, loss=loss, unlabeled="missing", **fixed),
        )
        yield f"relevance {loss}", labelled(BinaryRelevance, loss=loss)
    yield "multi-label defaults", labelled(MultiLabelMF)
    yield "multi-label defaults, one threshold", labelled(MultiLabelMF, threshold=0.0)
    yield "multi-label weights", labelled(MultiLabelMF, data.row_weights, label_weight=np.arange(1.0, 9.0), **fixed)
    yield "multi-label sparse", labelled(MultiLabelMF, X=sp.csr_array(data.X), **fixed)
    yield "multi-label kernel", labelled(MultiLabelMF, kernel=Kernel("rbf", landmarks=20), **fixed)
    yield "multi-label svd", labelled(MultiLabelMF, loss="squared", solver="svd", rank=3, threshold="auto")
    yield "kernel labels", labelled(KernelLabels)
    yield "kernel labels landmarks", labelled(KernelLabels, landmarks=30)
    yield "kernel labels missing", labelled(KernelLabels, mask=data.mask, unlabeled="missing")
    yield "kernel labels sparse", labelled(KernelLabels, data.row_weights, X=sp.csr_array(data.X * (data.X > 0.5)))
    yield "relevance missing", labelled(BinaryRelevance, mask=data.mask, unlabeled="missing")
    yield "plst", labelled(PLST, rank=4)
    yield "cplst", labelled(CPLST, rank=4)
    yield "label_cca", labelled(LabelCCA, rank=4)
    yield "compressed_sensing", labelled(CompressedSensing, rank=4, random_state=0)
    yield "wsabie", labelled(WSABIE, rank=4)
    yield "fast xml", labelled(FastXML, n_trees=5)
    yield "sleec", labelled(SLEEC, rank=4, n_clusters=2)
    yield "bcs", labelled(BayesianCompressedSensing, rank=6)
    yield "bcs missing", labelled(BayesianCompressedSensing, rank=6, mask=data.mask, unlabeled="missing")


def completions(data: Data) -> Iterator[tuple[str, Fit]]:
    """Configurations of the completion models, with features of both sides, of one side and without."""

    def completed(kind: type, left: Any = data.left, right: Any = data.right, **options: Any) -> Fit:
        return lambda: kind(max_iter=20, **options).fit(
            data.entries, data.observed, left_features=left, right_features=right
        )

    given = {"nuclear_reg": 2.0, "l1_reg": 0.5}
    for variant in ("local", "global", "noise", "transductive"):
        features = {"left": None, "right": None} if variant == "transductive" else {}
        yield f"mlrm {variant}", completed(MLRM, variant=variant, **features, **given)
    yield "mlrm plain", completed(MLRM, accelerate=False, **given)
    yield "mlrm truncated", completed(MLRM, svd="truncated", **given)
    yield "mlrm one side", completed(MLRM, right=None, **given)
    yield "mlrm path", completed(MLRM)
    yield "fnnm", completed(FNNM, **given)
    yield "fnnm orthonormal", completed(FNNM, orthonormal=True, **given)
    yield "fnnm momentum", completed(FNNM, accelerate=True, offsets="both", **given)
    yield "mlrm observed", completed(MLRM, mask="observed", **given)
    yield "simc", completed(SIMC, **given)
    yield "fpca", completed(FPCA, left=None, right=None, nuclear_reg=0.5)
    yield "imc", completed(IMC, rank=3, reg=0.1)
    yield "maxide", completed(Maxide, nuclear_reg=0.5)
    for name, (left, right) in {"both": (data.left, data.right), "one": (data.left, None)}.items():
        yield (
            f"kernel {name}",
            lambda left=left, right=right: KernelCompletion(refine=True).fit(
                data.entries, data.observed, left_features=left, right_features=right
            ),
        )
    yield (
        "neighbors",
        lambda: NeighborMF(random_state=0, max_iter=20).fit(
            data.entries > 0, data.observed, left_features=data.left, right_features=data.right
        ),
    )


def answers(model: Any, data: Data, name: str) -> Iterator[tuple[str, Any]]:
    """What a fitted model answers, beside its arrays: fold-in and growth."""
    if hasattr(model, "predict_scores"):
        yield "scores", model.predict_scores(data.X)
        return
    yield "items", model.recommend(n=5)[0]
    if hasattr(model, "complete"):
        yield "completed", model.complete()
        return
    if isinstance(model, Blend | ItemItem | ContentItems):
        yield "new users", model.score_users(interactions=data.new_rows)
        if not isinstance(model, ContentItems) and sp.issparse(getattr(model, "coefficients_", sp.csr_array((1, 1)))):
            model.add_items(interactions=data.new_columns)
            yield "grown", model.score_users()
        return
    own_targets = getattr(model.state_, "targets", None) is not None
    rows, columns = ({"targets": new} if own_targets else {} for new in (data.new_rows, data.new_columns))
    if "features only" not in name:
        yield "fold-in users", model.fold_in_users(data.new_rows, **rows)
    if hasattr(model, "fold_in_items") and not isinstance(model, BPR):
        yield "fold-in items", model.fold_in_items(data.new_columns, **columns)
    if name == "one-class features":
        yield "cold users", model.fold_in_users(features=data.left[:3])
        yield "warm users", model.fold_in_users(data.new_rows, features=data.left[:3])
    if hasattr(model, "add_items") and not own_targets:
        model.add_items(interactions=data.new_columns)
        yield "grown", model.item_factors_


ARRAYS = ("user_factors_", "item_factors_", "user_feature_weights_", "item_feature_weights_", "sampled_",
          "feature_weights_", "label_factors_", "coef_", "intercept_", "threshold_", "objective_", "reg_",
          "coefficients_", "weights_", "singular_values_", "left_vectors_", "right_vectors_",
          "side_weights_")  # fmt: skip


def arrays(model: Any, data: Data, name: str) -> Iterator[tuple[str, Any]]:
    """Everything that a fitted model is compared by."""
    for attribute in ARRAYS:
        value = getattr(model, attribute, None)
        if value is not None:
            yield attribute, value
    for number, entry in enumerate(getattr(model, "history_", ())):
        numbers = [value for key, value in sorted(entry.items()) if key not in ("seconds", "iteration")]
        yield f"history {number}", np.array(numbers, np.float64)
    yield from answers(model, data, name)


def difference(now: Any, before: Any) -> float:
    """Largest difference relative to the largest number before; infinite where shapes differ."""
    now, before = (np.asarray(value.toarray() if sp.issparse(value) else value, np.float64) for value in (now, before))
    if now.shape != before.shape:
        return np.inf
    return float(np.max(np.abs(now - before), initial=0) / max(np.max(np.abs(before), initial=0), 1e-300))


def main() -> None:
    """Fit everything, print a line per array, or save them, or compare them with saved ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save")
    parser.add_argument("--compare")
    options = parser.parse_args()
    before = dict(np.load(options.compare)) if options.compare else {}
    data, saved = Data(), {}
    for name, fit in (*recommenders(data), *classifiers(data), *completions(data)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit()
        largest = ("", 0.0)
        for attribute, value in arrays(model, data, name):
            key = f"{name}: {attribute}"
            if options.save:
                saved[key] = value.toarray() if sp.issparse(value) else np.asarray(value)
            elif options.compare:
                largest = max(largest, (attribute, difference(value, before[key])), key=lambda pair: pair[1])
            else:
                print(f"{key} {digest(value)}")
        if options.compare:
            print(f"{largest[1]:.1e} {name}: {largest[0]}")
    if options.save:
        np.savez(options.save, **saved)


if __name__ == "__main__":
    main()
