"""Edge lists to graphs: known answers, Laplacian, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from everypair.data import Ids
from everypair.features import edge_graph
from everypair.features.laplacian import Laplacian

IDS = Ids(["ann", "bob", "cem", "dan"])
EDGES = [("ann", "bob", 0.5), ("bob", "ann", 2.0), ("cem", "bob", 1.0), ("cem", "cem", 3.0), ("cem", "bob", 0.25)]
GRAPH = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]


def test_known_answer_from_every_source(tmp_path):
    frame = pd.DataFrame(EDGES, columns=["from", "to", "w"])
    path = tmp_path / "edges.tsv"
    frame.to_csv(path, index=False, sep="\t")
    for source, weight in ((EDGES, 2), (frame, "w"), (path, "w"), (frame.sample(frac=1, random_state=1), "w")):
        graph = edge_graph(source, IDS, weight=weight)
        assert graph.toarray().tolist() == GRAPH
        assert graph.dtype == np.float32
        assert graph.has_sorted_indices
    assert edge_graph(frame, IDS).toarray().tolist() == (np.array(GRAPH) > 0).astype(float).tolist()


def test_an_edge_listed_once_pulls_as_one_listed_twice():
    once, twice = (
        Laplacian.from_similarity(edge_graph(edges, IDS)).matrix.toarray()
        for edges in (
            [("ann", "bob")],
            [("ann", "bob"), ("bob", "ann")],
        )
    )
    np.testing.assert_array_equal(once, twice)
    assert once[0, 1] == -1


def test_strangers_may_be_dropped():
    edges = [("ann", "bob"), ("ann", "zoe")]
    assert edge_graph(edges, IDS, extra="drop").nnz == 2
    with pytest.raises(ValueError, match=r"1 ids of column 1 are unknown: 'zoe'\. Say extra='drop'"):
        edge_graph(edges, IDS)


def test_guessed_ends_are_said(capsys):
    graph = edge_graph({"day": [1], "follower": ["ann"], "followee": ["bob"]}, IDS)
    assert graph.nnz == 2
    assert "edges from 'follower' to 'followee'" in capsys.readouterr().err
    assert edge_graph({"x": ["ann"], "y": ["bob"]}, IDS).nnz == 2


@pytest.mark.parametrize(
    ("source", "arguments", "error", "message"),
    [
        (
            {"x": ["ann"], "y": ["bob"], "z": [1]},
            {},
            ValueError,
            "Which columns are the ends of an edge: 'x', 'y', 'z'",
        ),
        ({"x": ["ann"], "y": ["bob"]}, {"left": "x"}, ValueError, "Which columns are the ends"),
        ({"x": ["ann"], "y": ["bob"]}, {"left": "x", "right": "w"}, ValueError, "no column 'w'"),
        ({"x": ["ann"], "y": ["bob"]}, {"left": "x", "right": "x"}, ValueError, "name the same column"),
        (
            {"x": ["ann"], "y": ["bob"], "w": [-1.0]},
            {"weight": "w"},
            ValueError,
            "negative similarities, the least in row 0",
        ),
        (
            {"x": ["ann"], "y": ["bob"], "w": [np.nan]},
            {"weight": "w"},
            ValueError,
            "missing weights, the first in row 0",
        ),
        ({"x": ["ann"], "y": ["bob"], "w": ["1"]}, {"weight": "w"}, TypeError, "'w' must hold numbers"),
        ({"x": ["ann", None], "y": ["bob", "ann"]}, {}, ValueError, "'x' has 1 missing ids, the first in row 1"),
        ({"x": ["ann", "bob"], "y": ["bob"]}, {}, ValueError, "differ in length: 2, 1"),
        ({"x": [1], "y": ["bob"]}, {}, ValueError, "1 ids of column 'x' are unknown: '1'"),
        ([("ann", "bob")], {"extra": "keep"}, ValueError, 'extra must be "error" or "drop"'),
    ],
)
def test_bad_input_is_refused_with_a_sentence(source, arguments, error, message):
    with pytest.raises(error, match=message):
        edge_graph(source, IDS, **arguments)
    with pytest.raises(TypeError, match="wrap them in Ids"):
        edge_graph(source, ["ann"])
