"""One row for every estimator: where it is, what it is for, and which extra it needs.

Files, blends, the command line, the contract kits and the tables of the docs read it. A name that is found in a file is
looked up here and never imported by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

RECOMMEND = "everypair.models.recommend"
RIVALS = "everypair.models.multilabel.rivals"
COMPLETION = "everypair.models.completion"
COMPLETION_RIVALS = f"{COMPLETION}.rivals"
FACTORS = ("similar_items", "similar_users", "fold_in_users")
GROWS = ("add_users", "add_items", "update")


@dataclass(frozen=True)
class Entry:
    """An estimator: its module, its family, a line for people, what it can do besides, and the extra that it needs.

    ``state`` is the module of its fitted value where that can be imported, and can answer, without the estimator.
    """

    home: str
    family: str  # "recommender", "classifier" or "completion"
    line: str
    offers: tuple[str, ...] = ()
    extra: str | None = None
    state: str | None = None


ESTIMATORS = {
    "Blend": Entry(
        f"{RECOMMEND}.blend.blend",
        "recommender",
        "OneClassMF and ItemItem together: the one to start with",
        ("similar_items", "explain", *GROWS),
        state=f"{RECOMMEND}.blend.state",
    ),
    "OneClassMF": Entry(
        f"{RECOMMEND}.one_class",
        "recommender",
        "factors over every pair, observed or not; short training",
        (*FACTORS, "fold_in_items", "explain", *GROWS),
        state=f"{RECOMMEND}.factorization",
    ),
    "ItemItem": Entry(
        f"{RECOMMEND}.item_item",
        "recommender",
        "every item from the others a user has; new users need no fitting",
        ("similar_items", "explain", *GROWS),
        state=f"{RECOMMEND}.item_item_state",
    ),
    "ContentItems": Entry(
        f"{RECOMMEND}.content_items",
        "recommender",
        "items like those a user has, by words or other features: one event is enough",
        ("similar_items", "similar_users", "explain", *GROWS),
    ),
    "ContentUsers": Entry(
        f"{RECOMMEND}.content_users",
        "recommender",
        "what users alike by profile, words or friends like: for those who are new",
        ("similar_items", "similar_users", *GROWS),
    ),
    "BPR": Entry(
        f"{RECOMMEND}.rivals.bpr",
        "recommender",
        "factors from pairs of items, ranked by stochastic gradients",
        FACTORS,
    ),
    "PoissonMF": Entry(
        f"{RECOMMEND}.rivals.poisson",
        "recommender",
        "positive factors under which every pair is a count",
        (*FACTORS, "fold_in_items"),
    ),
    "SubsampledMF": Entry(
        f"{RECOMMEND}.rivals.subsampled",
        "recommender",
        "factors from a sample of the pairs that were not observed",
        (*FACTORS, "fold_in_items", "explain"),
    ),
    "EnsembleMF": Entry(
        f"{RECOMMEND}.rivals.ensemble", "recommender", "the mean of several SubsampledMF", (*FACTORS, "fold_in_items")
    ),
    "SameLossMF": Entry(
        f"{RECOMMEND}.rivals.same_loss",
        "recommender",
        "one loss on every pair, for small data",
        (*FACTORS, "fold_in_items", "explain", *GROWS),
        state=f"{RECOMMEND}.factorization",
    ),
    "Popularity": Entry(
        f"{RECOMMEND}.counts",
        "recommender",
        "the most frequent items: the floor that every model has to beat",
        ("fold_in_users",),
        state=f"{RECOMMEND}.count_state",
    ),
    "TwoTower": Entry(
        f"{RECOMMEND}.two_tower",
        "recommender",
        "networks over features, for combinations that matter",
        (*FACTORS, "fold_in_items", *GROWS),
    ),
    "MultiLabelMF": Entry("everypair.models.multilabel", "classifier", "many labels, some missing, at low rank"),
    "KernelLabels": Entry(
        "everypair.models.multilabel",
        "classifier",
        "the best lists of labels, in closed form, up to some ten thousand rows",
    ),
    "BinaryRelevance": Entry(RIVALS, "classifier", "one linear classifier for every label"),
    "BayesianCompressedSensing": Entry(RIVALS, "classifier", "labels compressed at random, with a sparse prior"),
    "CompressedSensing": Entry(RIVALS, "classifier", "labels found again from few random sums"),
    "LabelCCA": Entry(RIVALS, "classifier", "canonical variates of labels and features"),
    "CPLST": Entry(RIVALS, "classifier", "principal label space that features can predict"),
    "FastXML": Entry(RIVALS, "classifier", "trees whose nodes agree on rankings of labels"),
    "PLST": Entry(RIVALS, "classifier", "principal label space"),
    "SLEEC": Entry(RIVALS, "classifier", "nearest neighbours in an embedding of labels"),
    "WSABIE": Entry(RIVALS, "classifier", "labels ranked by sampled violations"),
    "KernelCompletion": Entry(COMPLETION, "completion", "a matrix with holes from its entries and features, untuned"),
    "GaussianRatings": Entry(COMPLETION, "completion", "ratings by a covariance of all items, with intervals"),
    "NeighborMF": Entry(COMPLETION, "completion", "tested pairs that bind or not, smooth over nearest neighbours"),
    "MLRM": Entry(COMPLETION, "completion", "completion by a ranking loss, with side information"),
    "FNNM": Entry(COMPLETION_RIVALS, "completion", "feature and nuclear norm minimisation"),
    "FPCA": Entry(COMPLETION_RIVALS, "completion", "nuclear norm alone"),
    "IMC": Entry(COMPLETION_RIVALS, "completion", "inductive completion from features alone"),
    "Maxide": Entry(COMPLETION_RIVALS, "completion", "nuclear norm in the span of features"),
    "SIMC": Entry(COMPLETION_RIVALS, "completion", "side information and low rank, interactive"),
}
FIRST = "Blend"  # the recommender to start with, which the command line fits unless it is told another
RECOMMENDERS = tuple(name for name, entry in ESTIMATORS.items() if entry.family == "recommender")


def estimator_class(name: str) -> Any:
    """The class with a name from the table.

    >>> estimator_class("Popularity").__name__
    'Popularity'
    """
    return getattr(import_module(ESTIMATORS[name].home), name)


def import_state(name: str) -> None:
    """Import what a fitted value of an estimator is made of, and the estimator itself only where that needs it."""
    entry = ESTIMATORS[name]
    import_module(entry.state or entry.home)


def is_estimator(model: Any) -> bool:
    """Whether a model is of a class of the table, and not of one that only has its name.

    >>> is_estimator(estimator_class("Popularity")()), is_estimator("Popularity")
    (True, False)
    """
    name = type(model).__name__
    return name in ESTIMATORS and type(model) is estimator_class(name)
