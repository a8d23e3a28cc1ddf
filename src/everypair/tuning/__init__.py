"""Parameters found on held-out entries inside the training data, within a budget."""

from everypair.tuning.result import Tuning
from everypair.tuning.search import tune

__all__ = ["Tuning", "tune"]
