"""Beside what a user would pick instead, in one run: quality at hidden entries and CPU time.

Drug–target interactions (GPCRs, half observed) and ml100k (four fifths observed). IterativeImputer (scikit-learn) sees
the matrix alone, OneClassMF its positives (and features), SoftImpute is that of the public package fancyimpute, run in
an interpreter of its own (``--fancy /path/to/python``) because it is no dependency of this project.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import Case, Store, arguments, generated, interactions, ratings

from everypair import MLRM, OneClassMF
from everypair.metrics import completion_metrics
from everypair.models.completion.rivals import FNNM, FPCA, IMC, Maxide

FANCY = """
import sys, time, numpy as np
import sklearn.utils, sklearn.utils.validation
check = sklearn.utils.validation.check_array
def patched(*args, **named):
    if "force_all_finite" in named:
        named["ensure_all_finite"] = named.pop("force_all_finite")
    return check(*args, **named)
sklearn.utils.check_array = sklearn.utils.validation.check_array = patched
from fancyimpute import SoftImpute
data = np.load(sys.argv[1])
start = time.process_time()
best = None
for shrinkage in data["grid"]:
    filled = SoftImpute(shrinkage_value=float(shrinkage), verbose=False).fit_transform(data["kept"].copy())
    error = np.mean((filled[data["out"]] - data["truth"][data["out"]]) ** 2)
    if best is None or error < best[0]:
        best = error, float(shrinkage)
filled = SoftImpute(shrinkage_value=best[1], verbose=False).fit_transform(data["shown"].copy())
np.savez(sys.argv[2], filled=filled, seconds=time.process_time() - start)
"""


def ours(make: Any, features: bool) -> Any:
    def run(case: Case, mask: Any) -> tuple[Any, str]:
        sides = {"left_features": case.left, "right_features": case.right} if features else {}
        return make().fit(case.truth, mask, **sides).complete(), "chosen at held-out observed entries"

    return run


def one_class(features: bool) -> Any:
    def run(case: Case, mask: Any) -> tuple[Any, str]:
        liked = 4 if case.known is not None else 1
        positives = sp.csr_array(mask & (case.truth >= liked), dtype=np.float32)
        sides = {"user_features": case.left, "item_features": case.right} if features else {}
        return OneClassMF(rank=min(64, *case.truth.shape), random_state=0).fit(
            positives, **sides
        ).score_users(), "positives only, defaults"

    return run


def iterative(case: Case, mask: Any) -> tuple[Any, str]:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    shown = np.where(mask, case.truth, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = IterativeImputer(max_iter=3, n_nearest_features=20, random_state=0, keep_empty_features=True)
        return model.fit_transform(shown), "3 rounds, 20 nearest columns"


def fancy(python: str) -> Any:
    def run(case: Case, mask: Any) -> tuple[Any, str]:
        out = mask & (np.random.default_rng(1).random(mask.shape) < 0.2)
        largest = np.linalg.norm(np.where(mask, case.truth, 0), 2)
        with tempfile.TemporaryDirectory() as folder:
            given, made = Path(folder) / "in.npz", Path(folder) / "out.npz"
            np.savez(
                given, truth=case.truth, out=out, kept=np.where(mask & ~out, case.truth, np.nan),
                shown=np.where(mask, case.truth, np.nan), grid=largest * np.array([0.5, 0.2, 0.08, 0.03]),
            )  # fmt: skip
            subprocess.run([python, "-c", FANCY, str(given), str(made)], check=True, capture_output=True)
            found = np.load(made)
            return found["filled"], f"fancyimpute, four values tried, {float(found['seconds']):.1f} s CPU"

    return run


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--data", nargs="+", default=["GPCRs", "ml100k"])
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--fancy", help="python with fancyimpute")
    args = parser.parse_args()
    store = Store("beside", args.smoke, folder=args.results, anew=args.anew)
    methods: dict[str, Any] = {
        "MLRM": ours(MLRM, True), "MLRM transductive": ours(lambda: MLRM(variant="transductive"), False),
        "FNNM": ours(FNNM, True), "IMC": ours(IMC, True), "Maxide": ours(Maxide, True), "FPCA": ours(FPCA, False),
        "FNNM, offsets": ours(lambda: FNNM(offsets="both", accelerate=True), True),
        "FPCA, offsets": ours(lambda: FPCA(offsets="both"), False),
        "IMC, offsets": ours(lambda: IMC(offsets="both"), True),
        "Maxide, offsets": ours(lambda: Maxide(offsets="both"), True),
        "OneClassMF": one_class(False), "OneClassMF with features": one_class(True), "IterativeImputer": iterative,
    }  # fmt: skip
    if args.fancy:
        methods["SoftImpute (fancyimpute)"] = fancy(args.fancy)
    chosen = args.methods or list(methods)
    if args.smoke:
        args.data, chosen = ["generated"], ["MLRM", "FPCA", "OneClassMF", "IterativeImputer"]
    for name in args.data:
        case = {"generated": generated, "ml100k": ratings}.get(name, lambda n=name: interactions(n))()
        mask = case.draw(0.8 if name == "ml100k" else 0.5, 0)
        for method in chosen:
            store.get(f"{name} {method}", lambda _, c=case, k=mask, m=method: measured(c, k, m, methods[m]))
    store.write("beside.md", report(store))


def measured(case: Case, mask: Any, name: str, run: Any) -> dict[str, Any]:
    start = time.process_time()
    completed, note = run(case, mask)
    seconds = time.process_time() - start
    hidden = case.hidden(mask)
    if case.known is None:
        found = completion_metrics(completed, case.truth, hidden)
    else:  # the order of liked and other movies, and values where there are any
        liked = completion_metrics(completed, (case.truth >= 4).astype(float), hidden)
        found = {"auc": liked["auc"], "aupr": liked["aupr"], "row_auc": liked["row_auc"]}
        if "OneClassMF" not in name:
            values = completion_metrics(np.clip(completed, 1, 5), case.truth, hidden)
            found |= {"mae": values["mae"], "rmse": values["rmse"]}
    shown = {key: found[key] for key in ("auc", "aupr", "row_auc", "mae", "rmse") if key in found}
    return {"runs": [{**shown, "cpu": seconds}], "note": note}


def report(store: Store) -> list[str]:
    lines = ["| data | method | AUC pooled | AUPR | AUC per row | MAE | CPU s | parameters |", "|---" * 8 + "|"]
    for key, cell in store.cells.items():
        name, method = key.split(" ", 1)
        run = cell["runs"][0]
        mae = f"{run['mae']:.4f}" if "mae" in run and name == "ml100k" else ""
        seconds = "see right" if "fancyimpute" in method else f"{run['cpu']:.1f}"
        lines.append(
            f"| {name} | {method} | {run['auc']:.4f} | {run['aupr']:.4f} | {run['row_auc']:.4f} | {mae} | {seconds} | "
            f"{cell['note']} |"
        )
    return lines


if __name__ == "__main__":
    main()
