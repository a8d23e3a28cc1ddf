"""Checkpoints: a training that was cut off goes on and ends with the bits of one that never was."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import (
    BPR,
    MLRM,
    Checkpoint,
    EnsembleMF,
    GaussianRatings,
    MultiLabelMF,
    NeighborMF,
    OneClassMF,
    Popularity,
    SubsampledMF,
    load,
)
from everypair.models.completion.rivals import FNNM, FPCA, IMC, SIMC, Maxide
from everypair.models.multilabel.rivals import WSABIE, BayesianCompressedSensing
from everypair.models.recommend.rivals.poisson import PoissonMF
from everypair.store import ModelFileError, read_file, write_file

RNG = np.random.default_rng(0)
M, N = 40, 25
EVENTS = (RNG.random((M, N)) < 0.3) * RNG.uniform(0.5, 2, (M, N))
HELD_OUT = (RNG.random((M, N)) < 0.1) * (EVENTS == 0)
LEFT, RIGHT = sp.csr_array(RNG.random((M, 4))), RNG.random((N, 3))
GRAPH = (RNG.random((N, N)) < 0.2).astype(float)
X = RNG.random((60, 5))
Y = (X @ RNG.normal(size=(5, 4)) > 0.3).astype(int)
PARTIAL = np.where(RNG.random((M, N)) < 0.6, RNG.normal(size=(M, 2)) @ RNG.normal(size=(2, N)), np.nan)
FACTORS = {"rank": 4, "max_iter": 9, "random_state": 3}
FIXED = {"nuclear_reg": 0.5, "max_iter": 9, "tol": 0}
SIDES = {"user_features": LEFT, "item_features": RIGHT}
BOTH = {"left_features": LEFT, "right_features": RIGHT}

TRAININGS = {
    **{
        f"one-class, {solver}": (OneClassMF, {**FACTORS, "tol": 0, "solver": solver, "loss": loss}, (EVENTS,), {})
        for solver, loss in [
            ("auto", "logistic"), ("newton", "logistic"), ("block", "logistic"), ("als", "squared"),
            ("tron", "logistic"), ("newton-linesearch", "logistic"), ("gradient", "logistic"),
            ("nonlinear-cg", "logistic"), ("gradient-region", "logistic"),
            ("sg-reform", "squared"), ("sg-bsearch", "squared"), ("sg-dense", "logistic"),
            ("sg-descent", "squared"), ("sg-rows", "logistic"),
        ]
    },
    "one-class, sides": (OneClassMF, {**FACTORS, "tol": 0}, (EVENTS,), {**SIDES, "item_graph": GRAPH}),
    "one-class, biases": (OneClassMF, {**FACTORS, "tol": 0, "biases": True, "dtype": "float64"}, (EVENTS,), {}),
    "one-class, patience": (
        OneClassMF, {**FACTORS, "tol": 0, "patience": 3, "max_iter": 30, "random_state": 1}, (EVENTS,),
        {"validation": HELD_OUT},
    ),
    "subsampled": (SubsampledMF, {**FACTORS, "tol": 0}, (EVENTS,), {}),
    "subsampled, resample": (SubsampledMF, {**FACTORS, "resample": True}, (EVENTS,), {}),
    "ensemble": (EnsembleMF, {**FACTORS, "n_models": 3, "resample": True}, (EVENTS,), {}),
    "bpr": (BPR, FACTORS, (EVENTS,), {}),
    "poisson": (PoissonMF, {**FACTORS, "tol": 0}, (EVENTS,), {}),
    "multi-label": (MultiLabelMF, {**FACTORS, "tol": 0, "reg": 0.1}, (X, Y), {}),
    "multi-label, automatic": (MultiLabelMF, {"random_state": 3, "tol": 0}, (X, Y), {}),
    "multi-label, validation": (
        MultiLabelMF, {**FACTORS, "tol": 0, "reg": 0.1, "patience": 6}, (X, Y), {"validation": (X[:20], Y[:20])},
    ),
    "wsabie": (WSABIE, FACTORS, (X, Y), {}),
    "mlrm": (MLRM, {**FIXED, "l1_reg": 0.1}, (PARTIAL,), BOTH),
    "mlrm, noise": (MLRM, {**FIXED, "l1_reg": 0.1, "variant": "noise", "accelerate": False}, (PARTIAL,), BOTH),
    "mlrm, automatic": (MLRM, {"max_iter": 9, "tol": 0}, (PARTIAL,), BOTH),
    "fnnm": (FNNM, {**FIXED, "l1_reg": 0.1}, (PARTIAL,), BOTH),
    "fnnm, momentum": (FNNM, {**FIXED, "l1_reg": 0.1, "accelerate": True}, (PARTIAL,), BOTH),
    "fpca": (FPCA, {**FIXED, "nuclear_reg": 0.01}, (PARTIAL,), {}),
    "imc": (IMC, {"rank": 2, "reg": 0.1, "max_iter": 9, "tol": 0}, (PARTIAL,), BOTH),
    "maxide": (Maxide, {**FIXED, "nuclear_reg": 0.01}, (PARTIAL,), BOTH),
    "neighbors": (NeighborMF, {"rank": 3, "max_iter": 9, "tol": 0, "random_state": 1}, (np.sign(PARTIAL),), BOTH),
    "gaussian": (GaussianRatings, {"max_iter": 9}, (PARTIAL,), {}),
    "simc": (SIMC, {**FIXED, "l1_reg": 0.1}, (PARTIAL,), BOTH),
}  # fmt: skip


class PowerCut(Exception):
    pass


def cut_at(sweep_number, seen=None):
    """A callback that ends the process's work there, as far as ``fit`` can tell."""

    def callback(sweep):
        if seen is not None:
            seen.append(sweep.iteration)
        if sweep.iteration == sweep_number:
            raise PowerCut

    return callback


def content(model):
    """All that was learnt, but how long it took."""
    values, arrays = model.to_parts()
    return without_seconds(values), {name: (one.dtype, one.shape, one.tobytes()) for name, one in arrays.items()}


def without_seconds(tree):
    if isinstance(tree, dict):
        return {key: without_seconds(value) for key, value in tree.items() if key != "seconds"}
    return [without_seconds(value) for value in tree] if isinstance(tree, list) else tree


@pytest.mark.parametrize("name", TRAININGS)
def test_a_training_that_was_cut_off_ends_with_the_same_bits(name, tmp_path):
    cls, parameters, data, more = TRAININGS[name]
    whole = cls(**parameters).fit(*data, **more)
    path, seen = tmp_path / "run.ckpt", []
    with pytest.raises(PowerCut):
        cls(**parameters).fit(*data, **more, callbacks=[Checkpoint(path, every=2), cut_at(5)])
    assert (tmp_path / ("run.ckpt.1" if cls is EnsembleMF else "run.ckpt")).exists()
    again = cls(**parameters).fit(*data, **more, callbacks=[Checkpoint(path, every=2), cut_at(None, seen)])
    assert seen[0] == 5  # the sweeps before are not done again
    assert content(again) == content(whole)


def test_the_best_sweep_so_far_is_kept_across_the_cut(tmp_path):
    """The best of the sweeps comes before the cut, and training stops for want of a better one after it."""
    options = {"rank": 4, "tol": 0, "patience": 4, "max_iter": 30, "random_state": 0}
    planted = np.kron(np.eye(2), np.ones((20, 13)))[:M, :N] * (EVENTS > 0)
    more = {"validation": np.kron(np.eye(2), np.ones((20, 13)))[:M, :N] * HELD_OUT}
    whole = OneClassMF(**options).fit(planted, **more)
    metrics = [entry["ndcg@10"] for entry in whole.history_]
    best, keep = int(np.argmax(metrics)) + 1, Checkpoint(tmp_path / "run.ckpt", every=1)
    assert whole.status_.name == "NO_IMPROVEMENT"
    with pytest.raises(PowerCut):
        OneClassMF(**options).fit(planted, **more, callbacks=[keep, cut_at(best + 3)])
    assert content(OneClassMF(**options).fit(planted, **more, callbacks=[keep])) == content(whole)


def test_a_process_that_is_killed_goes_on_in_another(tmp_path):
    code = f"""
        import numpy as np, os, signal, sys
        from everypair import Checkpoint, OneClassMF
        events = (np.random.default_rng(0).random((40, 25)) < 0.3).astype(float)
        def cut(sweep):
            if sweep.iteration == int(sys.argv[1]):
                os.kill(os.getpid(), signal.SIGKILL)
        keep = Checkpoint({str(tmp_path / "run.ckpt")!r}, every=3)
        model = OneClassMF(rank=4, tol=0, max_iter=9, random_state=0).fit(events, callbacks=[keep, cut])
        model.save({str(tmp_path / "model.ep")!r})
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([*command, "8"], env=environment, timeout=300, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "model.ep").exists()
    subprocess.run([*command, "0"], env=environment, timeout=300, check=True)
    events = (np.random.default_rng(0).random((40, 25)) < 0.3).astype(float)
    whole = OneClassMF(rank=4, tol=0, max_iter=9, random_state=0).fit(events)
    assert content(load(tmp_path / "model.ep")) == content(whole)


def test_more_sweeps_go_on_and_a_finished_training_comes_back(tmp_path):
    keep = Checkpoint(tmp_path / "run.ckpt", every=3)
    few = {**FACTORS, "max_iter": 6, "tol": 0}
    first, seen = OneClassMF(**few).fit(EVENTS, callbacks=[keep]), []
    again = OneClassMF(**few).fit(EVENTS, callbacks=[keep, cut_at(None, seen)])
    assert content(again) == content(first)
    assert not seen
    more = OneClassMF(**{**few, "max_iter": 9, "n_threads": 1}).fit(EVENTS, callbacks=[keep, cut_at(None, seen)])
    assert seen == [7, 8, 9]
    assert np.array_equal(more.user_factors_, OneClassMF(**{**few, "max_iter": 9}).fit(EVENTS).user_factors_)
    assert [entry["iteration"] for entry in more.history_] == list(range(1, 10))
    seconds = [entry["seconds"] for entry in more.history_]
    assert seconds == sorted(seconds)
    with pytest.raises(ValueError, match="is at sweep 9, beyond max_iter=6: raise max_iter, or delete the file"):
        OneClassMF(**few).fit(EVENTS, callbacks=[keep])


def test_another_training_is_refused_and_the_file_stays(tmp_path):
    keep = Checkpoint(tmp_path / "run.ckpt", every=2)
    OneClassMF(**FACTORS).fit(EVENTS, item_features=RIGHT, validation=HELD_OUT, callbacks=[keep])
    before = keep.path.read_bytes()
    other = EVENTS.copy()
    other[np.nonzero(other)[0][0], np.nonzero(other)[1][0]] *= 2
    same = {"item_features": RIGHT, "validation": HELD_OUT}
    for changed, data, more, words in (
        ({"rank": 5}, EVENTS, same, r"other parameters \(rank\)"),
        ({"rank": 5, "loss": "squared"}, EVENTS, same, r"other parameters \(loss, rank\)"),
        ({"random_state": 4}, EVENTS, same, r"other parameters \(random_state\)"),
        ({"tol": 0.0}, EVENTS, same, r"other parameters \(tol\)"),
        ({}, other, same, "other data"),
        ({}, EVENTS, {**same, "item_features": RIGHT + 1}, "other data"),
        ({}, EVENTS, {**same, "validation": np.roll(HELD_OUT, 1, 0) * (EVENTS == 0)}, "other data"),
        ({}, EVENTS, {**same, "item_graph": GRAPH}, "other data"),
    ):
        with pytest.raises(ValueError, match=f"run.ckpt is a checkpoint of another training: {words}. Delete it"):
            OneClassMF(**{**FACTORS, **changed}).fit(data, **more, callbacks=[keep])
    with pytest.raises(ValueError, match="another training: a OneClassMF, not a SubsampledMF"):
        SubsampledMF(**FACTORS).fit(EVENTS, callbacks=[keep])
    assert keep.path.read_bytes() == before
    OneClassMF(**FACTORS).fit(sp.coo_array(EVENTS), **same, callbacks=[keep])  # the same data in another form


def test_what_cannot_go_on_with_the_same_bits_is_refused(tmp_path):
    keep = Checkpoint(tmp_path / "run.ckpt")
    for seed in (None, np.random.default_rng(0)):
        with pytest.raises(ValueError, match="a checkpoint needs a number as random_state, got"):
            OneClassMF(rank=3, random_state=seed).fit(EVENTS, callbacks=[keep])
    with pytest.raises(ValueError, match="cannot hold all that OneClassMF with CoordinateDescent keeps between sweeps"):
        OneClassMF(rank=3, solver="cd", loss="squared", random_state=0).fit(EVENTS, callbacks=[keep])
    with pytest.raises(ValueError, match="BayesianCompressedSensing with Inference keeps"):
        BayesianCompressedSensing(rank=3, random_state=0, threshold=0.5).fit(X, Y, callbacks=[keep])
    with pytest.raises(ValueError, match='solver="svd" has no sweeps to keep'):
        MultiLabelMF(rank=2, solver="svd", loss="squared", threshold=0.5).fit(X, Y, callbacks=[keep])
    with pytest.raises(ValueError, match="give one checkpoint, not 2"):
        OneClassMF(**FACTORS).fit(EVENTS, callbacks=[keep, keep])
    with pytest.raises(ValueError, match="every must be an integer ≥ 1, got 0"):
        Checkpoint(tmp_path / "run.ckpt", every=0)
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_checkpoint_are_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    Popularity().fit(EVENTS).save(path)
    with pytest.raises(ModelFileError, match="is a model, not a checkpoint: choose another path"):
        OneClassMF(**FACTORS).fit(EVENTS, callbacks=[Checkpoint(path)])
    path.unlink()
    OneClassMF(**FACTORS).fit(EVENTS, callbacks=[Checkpoint(path, every=2)])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ModelFileError, match="cut short"):
        OneClassMF(**FACTORS).fit(EVENTS, callbacks=[Checkpoint(path)])
    for history in (None, 3, [1]):
        path.unlink()
        OneClassMF(**FACTORS).fit(EVENTS, callbacks=[Checkpoint(path, every=2)])
        kind, values, arrays = read_file(path, mmap=False)
        values["standing"]["dict"]["history"] = history
        write_file(path, kind, values, arrays)
        with pytest.raises(ModelFileError, match="cannot be read: its history is not a list of sweeps"):
            OneClassMF(**FACTORS).fit(EVENTS, callbacks=[Checkpoint(path)])
    with pytest.raises(FileNotFoundError, match=r"the folder of the checkpoint .* does not exist: create it first"):
        OneClassMF(**FACTORS).fit(EVENTS, callbacks=[Checkpoint(tmp_path / "none" / "run.ckpt")])
