"""Small models with names that are hard to write, an app of each, and a way to ask it."""

import numpy as np
import pytest
from starlette.testclient import TestClient

from everypair import Blend, ItemItem, OneClassMF, Popularity
from everypair.serve import app
from everypair.testing.blocks import block_matrix


def log():
    """Events of three groups of users, with some noise so that no two scores are equal."""
    matrix = block_matrix()[0].copy()
    rng = np.random.default_rng(0)
    matrix[rng.integers(0, matrix.shape[0], 25), rng.integers(0, matrix.shape[1], 25)] = 1
    return [(f"u{i}", f"film {j}") for i, j in np.argwhere(matrix)]


MODELS = {
    "OneClassMF": lambda: OneClassMF(rank=4, random_state=0),
    "logistic": lambda: OneClassMF(rank=4, random_state=0, loss="logistic"),
    "ItemItem": lambda: ItemItem(),
    "Blend": lambda: Blend(),
    "Popularity": lambda: Popularity(),
}


@pytest.fixture(scope="session")
def models():
    events = log()
    return {name: make().fit(events) for name, make in MODELS.items()}


@pytest.fixture(scope="session")
def model(models):
    return models["OneClassMF"]


@pytest.fixture(scope="session")
def films(model):
    """A table of the films, in another order than the model's, with one that it does not know."""
    names = [*reversed(list(model.item_ids_)), "film of nobody"]
    return {
        "item": names,
        "title": [f"The <b>{name}</b> & other stories" for name in names],
        "kind": [("short", "long")[place % 2] for place in range(len(names))],
        "year": [1990 + place % 3 for place in range(len(names))],
    }


def client_of(application):
    return TestClient(application, base_url="http://localhost", raise_server_exceptions=False)


@pytest.fixture(scope="session")
def client(model, films):
    import pandas as pd

    with client_of(app(model, items=pd.DataFrame(films))) as asking:
        yield asking
