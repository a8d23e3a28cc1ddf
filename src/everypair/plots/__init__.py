"""Pictures: a report as one HTML file, and charts for notebooks (extra ``plot``)."""

from everypair.plots.notebook import plot_history, plot_sensitivity
from everypair.plots.report import report

__all__ = ["plot_history", "plot_sensitivity", "report"]
