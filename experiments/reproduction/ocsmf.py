"""OCSMF, *A Unified Algorithm for One-class Structured Matrix Factorization with Side Information*: six tables, seven
figures, its claims."""

from __future__ import annotations

from typing import Any

from reproduction.entry import Entry, Records, Verdict, mean_and_error, missing_data, not_run, proven, shown, verdict_of

BIBTEX, GRAPH = "ocsmf/table_multilabel_bibtex", "ocsmf/table_graph_pooled_ml100k"
PUBLISHED_P5 = {
    "SQ-SQ (S)": 24.63,
    "LR-LR (S)": 25.08,
    "SQ-SQ": 28.81,
    "SQ-wSQ": 29.37,
    "LR-wSQ": 29.50,
    "LR-wLR": 28.43,
}
NEAR = 1.0  # points: "as published"


def _raw(records: Records) -> dict[str, dict[str, Any]]:
    """Rows of bibtex with the paper's features and rule, by formulation."""
    rows = records[BIBTEX]["rows"]
    return {row["formulation"]: row["precision@5"] for row in rows if row["variant"] == "raw"}


def _p5(row: dict[str, Any]) -> float:
    return row["test"]["precision@5"]


def _table3(records: Records) -> Verdict:
    rows = _raw(records)
    if "LR-wLR" not in rows:
        return Verdict("untested", "LR-wLR has no stored row.")
    near = [abs(_p5(rows[name]) - PUBLISHED_P5[name]) < NEAR for name in ("LR-wSQ", "LR-wLR")]
    figures = ", ".join(
        f"{name} {rows[name]['test']['precision@1']:.2f}/{_p5(rows[name]):.2f} ({PUBLISHED_P5[name]}) in "
        f"{rows[name]['cpu_seconds']:.0f} CPU s"
        for name in ("LR-wSQ", "LR-wLR")
    )
    return verdict_of(near, f"p@5 on bibtex within {NEAR:g} point of the published; p@1/p@5: {figures}. One split.")


def _supp3(records: Records) -> Verdict:
    rows = _raw(records)
    near = [abs(_p5(row) - PUBLISHED_P5[name]) < NEAR for name, row in rows.items()]
    text = ", ".join(f"{name} {_p5(row):.2f} ({PUBLISHED_P5[name]:.2f})" for name, row in rows.items())
    return verdict_of(near, f"formulations on bibtex within {NEAR:g} point of the published p@5: {text}.")


def _full(records: Records) -> Verdict:
    rows = _raw(records)
    held = [_p5(rows["SQ-SQ"]) > _p5(rows["SQ-SQ (S)"]), _p5(rows["LR-wSQ"]) > _p5(rows["LR-LR (S)"])]
    gaps = _p5(rows["SQ-SQ"]) - _p5(rows["SQ-SQ (S)"]), _p5(rows["LR-wSQ"]) - _p5(rows["LR-LR (S)"])
    return verdict_of(
        held,
        f"Full ahead of its Subsampled on bibtex, p@5: squared +{gaps[0]:.1f} (published +4.2), "
        f"logistic +{gaps[1]:.1f} (+4.4).",
    )


def _losses(records: Records) -> Verdict:
    rows = _raw(records)
    gain = _p5(rows["LR-wSQ"]) - _p5(rows["SQ-wSQ"])
    graph = _pooled(records)
    differences = [a - b for a, b in zip(graph["LR-wSQ", False], graph["SQ-wSQ", False])]
    mean, error = mean_and_error(differences)
    held = [gain > 0, mean - 2 * error > 0]
    return verdict_of(
        held,
        f"LR-wSQ ahead of SQ-wSQ, p@5: bibtex {gain:+.2f} (one split, no interval), ml100k "
        f"{shown(mean, error)} over {len(differences)} splits.",
    )


def _pooled(records: Records) -> dict[tuple[str, bool], list[float]]:
    """p@5 of every split on ml100k, with the plain ridge."""
    return {
        (row["formulation"], row["graph"]): [one["precision@5"] for one in row["test"]]
        for row in records[GRAPH]["rows"]
        if row["power"] == 0
    }


def _graph(records: Records) -> Verdict:
    found = _pooled(records)
    published = {"SQ-SQ": 2.1, "SQ-wSQ": 1.1, "LR-wSQ": 0.5}
    parts, held = [], []
    for name, gain in published.items():
        mean, error = mean_and_error([a - b for a, b in zip(found[name, True], found[name, False])])
        held.append(mean - 2 * error > 0)
        parts.append(f"{name} {shown(mean, error)} (+{gain})")
    return verdict_of(
        held, f"a graph of 20 neighbours raises p@5 on ml100k by more than two standard errors: {', '.join(parts)}."
    )


def _features(records: Records) -> Verdict:
    held, parts = [], []
    for name, record in records.items():
        k = "recall@100" if "citeulike" in name else "recall@20"
        plain = max(row["test"][k] for row in record["rows"] if not row["features"])
        best = max(row["test"][k] for row in record["rows"] if row["features"])
        held.append(best > plain)
        parts.append(f"{name.removeprefix('ocsmf/table_features_')} {k} {plain:.1f} → {best:.1f}")
    return verdict_of(
        held, f"features of items raise recall: {', '.join(parts)}. The best row of each table, on test entries."
    )


def _nystrom(records: Records) -> Verdict:
    (record,) = records.values()
    (row,) = (row for row in record["rows"] if row["variant"] == "scaled")
    plain, mapped = row["without"]["test"], row["all"]["test"]
    text = (
        f"delicious, unit rows: p@1/p@5 {plain['precision@1']:.2f}/{plain['precision@5']:.2f} without, "
        f"{mapped['precision@1']:.2f}/{mapped['precision@5']:.2f} with (69.64/58.84)"
    )
    return Verdict(
        "partly" if mapped["precision@5"] > plain["precision@5"] else "refuted",
        f"Nyström features gain, 1.5 points below the published: {text}.",
    )


RAW = "ocsmf/table_multilabel.py --data bibtex --variants raw --formulations"
MULTILABEL = tuple(f"{RAW} '{name}'" for name in PUBLISHED_P5)
ENTRIES = (
    Entry(
        "ocsmf.table1",
        "table",
        "Formulations: structures × losses",
        "4 × 3",
        proven("Each is a choice of parameters of one class; every combination is tested against all m·n pairs."),
        tests=("tests/problem/test_objective.py",),
    ),
    Entry(
        "ocsmf.table2",
        "table",
        "Statistics of the data",
        "bibtex, mediamill, delicious, eurlex, wiki10, ml100k, flixster, douban",
        missing_data(
            "bibtex, delicious, ml100k, parts of flixster and douban are at hand; mediamill, eurlex, wiki10 are not."
        ),
    ),
    Entry(
        "ocsmf.table3",
        "table",
        "LR-wLR against LR-wSQ",
        "bibtex p@5 28.43 and 29.50, 85 and 22 s",
        _table3,
        (BIBTEX,),
        (f"{RAW} LR-wSQ LR-wLR",),
        MULTILABEL[-2:],
        ("ml_bibtex",),
        differs="another split of bibtex than the paper's (11,616 training positives for 11,729); a 3 × 3 grid",
    ),
    Entry(
        "ocsmf.supp1",
        "table",
        "Graph structured factorisation on ml100k, flixster, douban",
        "gains of p@5 +2.1, +1.1, +0.5",
        _graph,
        (GRAPH,),
        (),
        ("ocsmf/table_graph.py --data ml100k", "ocsmf/table_graph_pooled.py"),
        ("ml100k",),
        differs="own splits, a cosine graph of 20 neighbours where the paper's seems to have 30; "
        "a side with a graph has another solver",
    ),
    Entry(
        "ocsmf.supp2",
        "table",
        "Beside SLEEC and FastXML",
        "bibtex p@1 63.6 (FastXML), 65.3 (SLEEC)",
        not_run("FastXML and SLEEC were not run beside it in one table yet."),
        data=("ml_bibtex", "ml_delicious"),
    ),
    Entry(
        "ocsmf.supp3",
        "table",
        "All formulations on multi-label data",
        "bibtex, delicious, mediamill, eurlex",
        _supp3,
        (BIBTEX,),
        ("ocsmf/table_multilabel.py --data bibtex --variants raw",),
        MULTILABEL,
        ("ml_bibtex",),
        differs="bibtex only; the SQ-SQ (S) row of the paper is inconsistent in itself (p@2 below p@3)",
    ),
    Entry(
        "ocsmf.figure1",
        "figure",
        "Full against Subsampled, multi-label",
        "bars of Table Supp-3",
        _full,
        (BIBTEX,),
        ("ocsmf/table_multilabel.py --data bibtex --variants raw",),
        MULTILABEL,
        ("ml_bibtex",),
        differs="bibtex only",
    ),
    Entry(
        "ocsmf.figure2",
        "figure",
        "Improvement over SQ-SQ",
        "LR-wSQ best",
        _losses,
        (BIBTEX, GRAPH),
        (),
        MULTILABEL,
        ("ml_bibtex", "ml100k"),
        differs="bibtex and ml100k only",
    ),
    Entry(
        "ocsmf.figure3",
        "figure",
        "Nyström features on delicious",
        "p@1 69.64",
        _nystrom,
        ("ocsmf/table_nystrom_delicious",),
        (),
        ("ocsmf/table_nystrom.py --data delicious",),
        ("ml_delicious",),
        differs="landmarks and γ at ends of what was tried",
    ),
    Entry(
        "ocsmf.supp_figure1",
        "figure",
        "Full against Subsampled, further data",
        "bars",
        missing_data("mediamill and eurlex are not at hand."),
    ),
    Entry(
        "ocsmf.supp_figures23",
        "figure",
        "Improvement over SQ-SQ, further measures",
        "bars",
        missing_data("mediamill and eurlex are not at hand."),
    ),
    Entry(
        "ocsmf.supp_figure4",
        "figure",
        "Non-linear classifiers, further data",
        "bars",
        missing_data("mediamill and eurlex are not at hand."),
    ),
    Entry(
        "ocsmf.claim.cost",
        "claim",
        "Value, gradient and H·s cost O(|Ω|k + nnz(X)k + (m + n)k²)",
        "(6)–(15), Algorithms 1–3",
        proven("They equal the sums over all m·n pairs, and no array of m·n numbers is made."),
        tests=("tests/problem/test_objective.py",),
    ),
    Entry(
        "ocsmf.claim.methods",
        "claim",
        "Gradient descent, nonlinear CG, truncated and trust-region Newton all run on Algorithms 1–3",
        "3.3, (1.14)–(1.18)",
        proven("All five, with the first-order region of (1.14), end at one optimum and never raise the objective."),
        tests=("tests/solvers/test_side.py",),
    ),
    Entry(
        "ocsmf.claim.full",
        "claim",
        "Full beats Subsampled",
        "always",
        _full,
        (BIBTEX,),
        full=MULTILABEL,
        data=("ml_bibtex",),
    ),
    Entry(
        "ocsmf.claim.loss",
        "claim",
        "LR-wSQ beats SQ-wSQ",
        "clearly",
        _losses,
        (BIBTEX, GRAPH),
        full=MULTILABEL,
        data=("ml_bibtex", "ml100k"),
    ),
    Entry(
        "ocsmf.claim.features",
        "claim",
        "Side information helps",
        "on all data",
        _features,
        tuple(f"ocsmf/table_features_{name}" for name in ("citeulike_p1", "citeulike_p10", "debian")),
        ("ocsmf/table_features.py --data debian",),
        tuple(f"ocsmf/table_features.py --data {name}" for name in ("citeulike_p1", "citeulike_p10", "debian")),
        ("citeulike_t",),
    ),
)
