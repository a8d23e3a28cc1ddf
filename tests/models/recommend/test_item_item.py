"""ItemItem: the contract, exact least squares over all pairs, EASE's closed form, growth and bad input."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import ItemItem
from everypair.testing.recommender import RecommenderContract, block_matrix


class TestItemItem(RecommenderContract):
    fold_in_tolerance = 0.0

    def make_model(self, **params):
        return ItemItem(**{"reg": 1.0, **params})


class TestFewNeighbors(TestItemItem):
    def make_model(self, **params):
        return ItemItem(**{"neighbors": 4, "reg": 1.0, **params})
