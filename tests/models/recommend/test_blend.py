"""Blend: the contract, scores by hand, weights, search, explanation, growth, features, parts and bad input."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import BPR, Blend, ItemItem, OneClassMF, Popularity
from everypair.testing.recommender import RecommenderContract, block_matrix


class TestBlend(RecommenderContract):
    def make_model(self, **params):
        return Blend(**{"random_state": 0, **params})
