"""The registry: one entry for every table, figure and claim of the five papers, in the papers' order."""

from __future__ import annotations

from reproduction import esl, leml, mlrm, negsel, ocsmf
from reproduction.entry import Entry

PAPERS = {
    "negsel": "Selection of Negative Samples for One-class Matrix Factorization",
    "ocsmf": "A Unified Algorithm for One-class Structured Matrix Factorization with Side Information",
    "leml": "Large-scale Multi-label Learning with Missing Labels",
    "mlrm": "Multi-Label Ranking Loss Minimization for Matrix Completion (its appendix)",
    "esl": "Efficient Optimization Methods for Extreme Similarity Learning with Nonlinear Embeddings",
}
ENTRIES: tuple[Entry, ...] = tuple(entry for paper in (negsel, ocsmf, leml, mlrm, esl) for entry in paper.ENTRIES)
