"""What is minimised: losses, negatives, ridge, objective."""

from everypair.problem.losses import Loss, get_loss
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge

__all__ = ["Loss", "Negatives", "Objective", "Ridge", "get_loss"]
