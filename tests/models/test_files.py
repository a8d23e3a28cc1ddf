"""Model files: every estimator comes back with the same bits, in this process and in a new one."""

import hashlib
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import everypair
from everypair import (
    BPR,
    MLRM,
    Blend,
    ContentItems,
    ContentUsers,
    EnsembleMF,
    GaussianRatings,
    ItemItem,
    KernelCompletion,
    KernelLabels,
    MultiLabelMF,
    NeighborMF,
    OneClassMF,
    Popularity,
    Side,
    SubsampledMF,
    TwoTower,
    load,
)
from everypair.models.completion.rivals import FNNM, FPCA, IMC, SIMC, Maxide
from everypair.models.estimator import Estimator
from everypair.models.files import model_class
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
from everypair.models.registry import ESTIMATORS
from everypair.models.serve_only import ServeOnlyError
from everypair.problem import Loss
from everypair.store import ModelFileError, read_file, write_file

RNG = np.random.default_rng(0)
M, N = 30, 20
EVENTS = (RNG.random((M, N)) < 0.3) * RNG.uniform(0.5, 2, (M, N)) * np.where(RNG.random((M, N)) < 0.1, -1, 1)
LIKES = (EVENTS > 0).astype(float)
TARGETS = np.where(EVENTS != 0, RNG.normal(size=(M, N)), 0)
LEFT, RIGHT = sp.csr_array(RNG.random((M, 4)) * (RNG.random((M, 4)) < 0.5)), RNG.random((N, 3))
GRAPH = (RNG.random((N, N)) < 0.2).astype(float)
X = RNG.random((60, 5))
Y = (X @ RNG.normal(size=(5, 4)) > 0.3).astype(int)
PARTIAL = np.where(RNG.random((M, N)) < 0.6, RNG.normal(size=(M, 2)) @ RNG.normal(size=(2, N)), np.nan)
SIGNS = np.sign(PARTIAL)
NEW = (RNG.random((3, N)) < 0.3).astype(float)
FEW = {"rank": 3, "max_iter": 3, "random_state": 0}
SIDES = {"user_features": LEFT, "item_features": RIGHT}
BOTH = {"left_features": LEFT, "right_features": RIGHT}
SWEEPS = {"max_iter": 4}
FIXED = {"nuclear_reg": 0.5, "l1_reg": 0.1, **SWEEPS}

RECOMMENDERS = {
    "one-class": lambda: OneClassMF(**FEW).fit(EVENTS),
    "one-class, biases, arrays": lambda: OneClassMF(
        **FEW, biases=True, negative_scheme=(np.ones(M), np.arange(1.0, N + 1)), weighting=("degree", 0.3)
    ).fit(EVENTS, targets=TARGETS),
    "one-class, imputed": lambda: OneClassMF(**FEW, negative_value=(np.ones((M, 1)), np.ones((N, 1)))).fit(LIKES),
    "same loss": lambda: SameLossMF(**FEW, negative_weight=0.2).fit(EVENTS),
    "one-class, features, graph": lambda: OneClassMF(**FEW, users=Side(fit_intercept=True), dtype="float64").fit(
        EVENTS, item_graph=GRAPH, **SIDES
    ),
    "one-class, validation": lambda: OneClassMF(**FEW).fit(LIKES, validation=np.roll(LIKES, 1, 1) * (LIKES == 0)),
    "subsampled": lambda: SubsampledMF(**FEW, scheme="item-count", resample=True).fit(EVENTS, **SIDES),
    "ensemble": lambda: EnsembleMF(n_models=2, **FEW).fit(EVENTS),
    "bpr": lambda: BPR(**FEW).fit(EVENTS),
    "poisson": lambda: PoissonMF(**FEW).fit(EVENTS),
    "item-item": lambda: ItemItem(neighbors=5).fit(EVENTS, item_features=RIGHT),
    "item-item, all": lambda: ItemItem(neighbors=None).fit(LIKES),
    "content": lambda: ContentItems().fit(EVENTS, item_features=LEFT[:N]),
    "content, ridge": lambda: ContentItems(reg=2.0).fit(EVENTS, item_features=LEFT[:N]),
    "content of users": lambda: ContentUsers().fit(EVENTS, user_features=LEFT),
    "content of users, ridge": lambda: ContentUsers(reg=2.0).fit(EVENTS, user_features=LEFT),
    "content of users, dense": lambda: ContentUsers(reg=2.0, dtype="float64").fit(EVENTS, user_features=LEFT.toarray()),
    "content, dense": lambda: ContentItems(idf_exponent=0.5, dtype="float64").fit(EVENTS, item_features=RIGHT),
    "popularity": lambda: Popularity().fit(EVENTS),
    "two towers": lambda: TwoTower(widths=(4,), **FEW).fit(EVENTS, **SIDES),
    "blend": lambda: Blend(
        models=[OneClassMF(**FEW), ItemItem(neighbors=4), Popularity(), BPR(**FEW)], random_state=0
    ).fit(LIKES, item_features=RIGHT),
    "blend, weights": lambda: Blend(models=[OneClassMF(**FEW), ItemItem()], weights="auto", random_state=0).fit(LIKES),
}
CLASSIFIERS = {
    "multi-label": lambda: MultiLabelMF(**FEW, reg=0.1, threshold=0.2).fit(X, Y),
    "multi-label, kernel": lambda: MultiLabelMF(**FEW, reg=0.1, kernel=Kernel(landmarks=9)).fit(X, sp.csr_array(Y)),
    "multi-label, automatic": lambda: MultiLabelMF(random_state=0, label_weight=np.arange(1.0, 5.0)).fit(X, Y),
    "kernel labels": lambda: KernelLabels().fit(X, Y),
    "kernel labels, sparse": lambda: KernelLabels(dtype="float64").fit(sp.csr_array(X * (X > 0.8)), Y),
    "fast xml": lambda: FastXML(n_trees=3, random_state=0).fit(X, Y),
    "sleec": lambda: SLEEC(rank=2, n_clusters=2, random_state=0).fit(X, Y),
    "relevance": lambda: BinaryRelevance().fit(X, Y),
    "plst": lambda: PLST(rank=2).fit(X, Y),
    "cplst": lambda: CPLST(rank=2).fit(X, Y),
    "label_cca": lambda: LabelCCA(rank=2).fit(X, Y),
    "compressed_sensing": lambda: CompressedSensing(rank=2, random_state=0).fit(X, Y),
    "wsabie": lambda: WSABIE(rank=2, random_state=0).fit(X, Y),
    "compressed sensing": lambda: BayesianCompressedSensing(rank=3, random_state=0, max_iter=3).fit(X, Y),
}
COMPLETIONS = {
    "kernels": lambda: KernelCompletion(refine=True).fit(PARTIAL, **BOTH),
    "kernels, one side": lambda: KernelCompletion(refine=True, reg=0.3).fit(PARTIAL, left_features=LEFT),
    "neighbors": lambda: NeighborMF(rank=3, max_iter=4, random_state=0).fit(SIGNS, **BOTH),
    "gaussian": lambda: GaussianRatings(max_iter=3).fit(PARTIAL, right_features=RIGHT),
    "kernels, none": lambda: KernelCompletion().fit(PARTIAL),
    "mlrm": lambda: MLRM(**FIXED).fit(PARTIAL, **BOTH),
    "mlrm, automatic": lambda: MLRM(**SWEEPS).fit(PARTIAL),
    "fnnm": lambda: FNNM(**FIXED, orthonormal=True).fit(PARTIAL, **BOTH),
    "fnnm, offsets": lambda: FNNM(**FIXED, offsets="both").fit(PARTIAL, **BOTH),
    "fpca": lambda: FPCA(nuclear_reg=0.5, **SWEEPS).fit(PARTIAL),
    "imc": lambda: IMC(rank=2, reg=0.1, **SWEEPS).fit(PARTIAL, **BOTH),
    "maxide": lambda: Maxide(nuclear_reg=0.5, **SWEEPS).fit(PARTIAL, **BOTH),
    "simc": lambda: SIMC(**FIXED).fit(PARTIAL, **BOTH),
}
EVERY = RECOMMENDERS | CLASSIFIERS | COMPLETIONS


def answers(model):
    """What a model says, as a list of arrays."""
    if hasattr(model, "predict_scores"):
        return [
            model.predict_scores(X),
            *model.predict_topk(X, 2),
            np.asarray(sp.csr_array(model.predict(X)).toarray()),
        ]
    if isinstance(model, GaussianRatings):
        return [
            model.complete(right_features=RIGHT[:2]),
            *model.interval([1, 2], [3, 4]),
            *model.recommend([0, 3], n=4),
        ]
    if hasattr(model, "complete"):
        said = [model.complete(), *model.recommend([0, 3], n=4), model.predict([1, 2], [3, 4])]
        return said + ([] if model.state_.left_side is None else [model.complete(left_features=LEFT[:2])])
    said = [*model.recommend(n=5), model.score_users([4]), model.score_pairs([1, 2], [3, 4])]
    if getattr(model.state_, "targets", None) is None:
        said += [*model.recommend(interactions=NEW, n=3)]
    if hasattr(model, "similar_items"):
        said += [*model.similar_items([0, 3], n=3)]
    if getattr(model, "user_feature_weights_", None) is not None:
        said += [model.score_users(features=LEFT[:2])]
    return said


def same(first, second):
    assert len(first) == len(second)
    for one, other in zip(first, second):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


def plain(value):
    """A parameter or fitted attribute as something that can be compared."""
    if sp.issparse(value):
        return value.toarray().tolist()
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tolist()
    if isinstance(value, tuple | list):
        return type(value), [plain(entry) for entry in value]
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return repr(value.item() if isinstance(value, np.generic) else value)


def learnt(model):
    """Every fitted attribute."""
    names = [name for name in dir(type(model)) if name.endswith("_") and not name.startswith("_")]
    return {name: plain(getattr(model, name)) for name in names if name != "models_" and hasattr(model, name)}


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("name", EVERY)
def test_every_estimator_comes_back(name, mmap, tmp_path):
    model = EVERY[name]()
    model.save(tmp_path / "model.ep")
    again = load(tmp_path / "model.ep", mmap=mmap)
    assert type(again) is type(model)
    assert plain(list(again.get_params(deep=False).items())) == plain(list(model.get_params(deep=False).items()))
    assert learnt(again) == learnt(model)
    same(answers(again), answers(model))
    again.save(tmp_path / "again.ep")
    assert (tmp_path / "again.ep").read_bytes() == (tmp_path / "model.ep").read_bytes()
    assert not hasattr(clone(again), "state_")


@pytest.mark.parametrize("name", EVERY)
def test_serve_only_answers_the_same_from_less(name, tmp_path):
    model = EVERY[name]()
    model.save(tmp_path / "whole.ep")
    model.save(tmp_path / "served.ep", serve_only=True)
    served = load(tmp_path / "served.ep")
    same(answers(served), answers(model))
    assert (tmp_path / "served.ep").stat().st_size <= (tmp_path / "whole.ep").stat().st_size
    if hasattr(model, "history_"):
        assert not hasattr(served, "history_")
        with pytest.raises(ServeOnlyError, match="saved with serve_only=True and has no history"):
            _ = served.history_
    served.save(tmp_path / "again.ep")
    assert (tmp_path / "again.ep").read_bytes() == (tmp_path / "served.ep").read_bytes()


def test_what_a_served_model_cannot_do_is_said(tmp_path):
    for name, method, arguments, missing in (
        ("subsampled", "explain", (0, 1), "sampled"),
        ("one-class, biases, arrays", "explain", (0, 1), "targets"),
        ("one-class", "plain", None, None),
    ):
        model = EVERY[name]()
        model.save(tmp_path / "model.ep", serve_only=True)
        served = load(tmp_path / "model.ep")
        if missing is None:  # nothing that it needs was dropped
            assert served.explain(0, 1).score == model.explain(0, 1).score
            continue
        getattr(model, method)(*arguments)
        with pytest.raises(ServeOnlyError, match=f"has no {missing}; save the fitted model without it"):
            getattr(served, method)(*arguments)
    grown = EVERY["item-item"]()
    grown.save(tmp_path / "model.ep", serve_only=True)
    with pytest.raises(ServeOnlyError, match="has no features"):
        load(tmp_path / "model.ep").add_items(features=np.ones((1, 3)))


def test_a_loaded_model_grows_and_learns_again(tmp_path):
    model = EVERY["one-class"]()
    model.save(tmp_path / "model.ep")
    before = (tmp_path / "model.ep").read_bytes()
    again = load(tmp_path / "model.ep")
    for one in (model, again):
        one.add_users(interactions=NEW)
    same(answers(again), answers(model))
    again.user_factors_[:] = 0  # private to this process
    same([again.fit(EVENTS).user_factors_], [EVERY["one-class"]().user_factors_])
    assert (tmp_path / "model.ep").read_bytes() == before


def test_a_model_may_be_saved_over_the_file_it_was_loaded_from(tmp_path):
    EVERY["one-class"]().save(tmp_path / "model.ep")
    again = load(tmp_path / "model.ep")
    said = answers(again)
    again.save(tmp_path / "model.ep")
    same(answers(again), said)
    same(answers(load(tmp_path / "model.ep")), said)


def test_a_blend_writes_its_interactions_once(tmp_path):
    EVERY["blend"]().save(tmp_path / "model.ep")
    arrays = read_file(tmp_path / "model.ep").arrays
    names = [name for name in arrays if name.endswith("interactions.indices")]
    assert len(names) == 5
    assert len({arrays[name].ctypes.data for name in names}) == 1


def test_a_new_process_reads_the_same_bits(tmp_path):
    names = ["one-class, features, graph", "blend", "multi-label, kernel", "fnnm"]
    wanted = []
    for number, name in enumerate(names):
        model = EVERY[name]()
        model.save(tmp_path / f"{number}.ep")
        wanted.append(digest(answers(model)))
    code = f"""
        import importlib.util, everypair
        spec = importlib.util.spec_from_file_location("here", {__file__!r})
        here = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(here)
        for number in range({len(names)}):
            print(here.digest(here.answers(everypair.load({str(tmp_path)!r} + f"/{{number}}.ep"))))
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300,
                         env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    assert ran.stdout.split() == wanted, ran.stderr


def digest(arrays):
    return hashlib.sha256(b"".join(f"{one.dtype}{one.shape}".encode() + one.tobytes() for one in arrays)).hexdigest()


def test_every_estimator_of_the_package_is_in_the_table_and_here():
    modules = [one.name for one in pkgutil.walk_packages(everypair.models.__path__, "everypair.models.")]
    found = {
        name: one
        for module in modules
        for name, one in inspect.getmembers(importlib.import_module(module), inspect.isclass)
        if issubclass(one, Estimator) and inspect.signature(one).parameters
    }
    parents = {base for one in found.values() for base in one.__mro__[1:]}
    assert {name for name, one in found.items() if one not in parents} <= set(ESTIMATORS) <= set(found)
    assert all(model_class(name).__name__ == name for name in ESTIMATORS)
    assert {type(make()).__name__ for make in EVERY.values()} == set(ESTIMATORS)


def test_what_cannot_be_saved_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="not fitted yet"):
        OneClassMF().save(tmp_path / "model.ep")

    class Mine(Popularity):
        pass

    with pytest.raises(TypeError, match="Mine is not a class of EveryPair"):
        Mine().fit(LIKES).save(tmp_path / "model.ep")
    own = Loss("own", lambda y, s: (y - s) ** 2, lambda y, s: 2 * (s - y), lambda y, s: 2.0 + 0 * s)
    with pytest.raises(TypeError, match="functions of your own"):
        OneClassMF(**FEW).fit(LIKES).set_params(loss=own).save(tmp_path / "model.ep")
    assert not list(tmp_path.iterdir())


def test_files_that_hold_no_model_are_refused(tmp_path):
    path = tmp_path / "model.ep"
    Popularity().fit(LIKES).save(path)
    _, values, arrays = read_file(path, mmap=False)
    for change, words in (
        ({"class": "Popen"}, "names the class 'Popen', which this EveryPair does not have"),
        ({"class": ["os"]}, "names the class"),
        ({"class": "Explanation"}, "names the class 'Explanation'"),
        ({"class": "BPR"}, "does not make a BPR"),
        ({"more": 1}, "does not make a Popularity: these are not the parts of a model"),
        ({"parameters": {"n_threads": None, "colour": 1}}, "has no parameter colour"),
        ({"state": {"object": "CountState", "fields": {}}}, "fields of CountState are not those of this version"),
        ({"state": 3}, "does not make a Popularity"),
    ):
        write_file(path, "model", values | change, arrays)
        with pytest.raises(ModelFileError, match=words) as refusal:
            load(path)
        assert str(refusal.value).startswith(f"{path} cannot be read: ")
    write_file(path, "checkpoint", values, arrays)
    with pytest.raises(ModelFileError, match="it is a checkpoint, not a model"):
        load(path)
    without = {name: array for name, array in arrays.items() if name != "state.user_factors"}
    write_file(path, "model", values, without)
    with pytest.raises(ModelFileError, match=r"'state\.user_factors' is missing"):
        load(path)


@pytest.mark.parametrize(
    ("name", "changed", "words"),
    [
        ("one-class", {"state.user_factors": np.ones((M - 1, 3), np.float32)}, "interactions must be a sparse matrix"),
        ("one-class", {"state.item_factors": np.ones((N, 2), np.float32)}, r"item_factors must be an array of shape"),
        ("one-class", {"state.item_factors": np.ones((N, 3))}, "must have one dtype"),
        ("one-class", {"state.item_factors": np.ones((N, 3), int)}, "must be an array of floating-point numbers"),
        ("one-class", {"state.negatives.right": np.ones(N + 1)}, "negatives must be an array of shape"),
        ("one-class", {"state.interactions.indices": None}, "entries outside"),
        ("one-class, biases, arrays", {"state.targets": np.ones(3, np.float32)}, "targets must be an array of shape"),
        ("one-class, imputed", {"state.negatives.value.1": np.ones((N, 2))}, "negatives must be an array of shape"),
        ("subsampled", {"state.sampling.left": np.ones(2)}, "sampling must be an array of shape"),
        ("item-item", {"state.base": np.ones(3, np.float32)}, "base must be an array of shape"),
        ("item-item, all", {"state.coefficients": np.ones((N, 3), np.float32)}, "coefficients must be an array"),
        ("blend", {"state.grams.0": np.ones((2, 2))}, "grams must be an array of shape"),
        ("fnnm", {"state.singular_values": np.ones(50)}, "left_vectors must be an array of shape"),
        ("multi-label", {"state.model.label_factors": np.ones((9, 3), np.float32)}, "n_labels cannot be 4"),
    ],
)
def test_parts_that_do_not_fit_each_other_are_refused(name, changed, words, tmp_path):
    """Arrays that are whole by themselves: no kernel gets to read beyond one."""
    path = tmp_path / "model.ep"
    EVERY[name]().save(path)
    _, values, arrays = read_file(path, mmap=False)
    assert set(changed) <= set(arrays)
    for one, array in changed.items():
        changed = changed | {one: arrays[one] + 1000} if array is None else changed
    write_file(path, "model", values, arrays | changed)
    with pytest.raises(ModelFileError, match=words):
        load(path)


def test_fields_with_a_default_may_be_absent(tmp_path):
    """So that a later version may add some and still read this file; unknown ones are refused."""
    path = tmp_path / "model.ep"
    model = EVERY["one-class"]()
    model.save(path)
    _, values, arrays = read_file(path, mmap=False)
    del values["state"]["fields"]["weighting"]
    write_file(path, "model", values, arrays)
    same(answers(load(path)), answers(model))
    values["state"]["fields"]["colour"] = 1
    write_file(path, "model", values, arrays)
    with pytest.raises(ModelFileError, match="fields of OneClassState are not those of this version: colour"):
        load(path)
