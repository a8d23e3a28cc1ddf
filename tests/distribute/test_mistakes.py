"""Bad input on a cluster: one sentence that names the file and the column."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from distributed import Client

from everypair import Checkpoint, OneClassMF
from everypair.distribute import Cluster, ShardCheckpoint
from everypair.distribute.event_files import pairs_from_events

GOOD = pd.DataFrame({"user": ["a", "b", "c"], "item": ["x", "y", "x"], "weight": [1.0, 2.0, 1.0]})


def fit(source, client, **options):
    return OneClassMF(rank=1, max_iter=1, random_state=0).fit(source, client=Cluster(client, **options))


@pytest.fixture
def folder(tmp_path):
    GOOD.to_parquet(tmp_path / "part-0.parquet")
    return tmp_path


def test_a_file_that_cannot_be_read(folder, clients):
    (folder / "part-1.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match=r"part-1\.parquet"):
        fit(folder, clients(2))


def test_a_column_that_one_file_lacks(folder, clients):
    GOOD.rename(columns={"item": "thing"}).to_parquet(folder / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part-1\.parquet.*item"):
        fit(folder, clients(2))


def test_ids_that_are_strings_in_one_file_and_numbers_in_another(folder, clients):
    GOOD.assign(user=[1, 2, 3]).to_parquet(folder / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part-1\.parquet: column 'user' holds integers, but strings in .*part-0"):
        fit(folder, clients(2))


def test_weights_that_are_text_in_one_file(folder, clients):
    GOOD.assign(weight=["many", "few", "1"]).to_parquet(folder / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part-1\.parquet.*weight"):
        fit(folder, clients(2))


def test_a_file_without_events(folder, clients):
    GOOD.iloc[:0].to_parquet(folder / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part-1\.parquet.*no events"):
        fit(folder, clients(2))


def test_dislikes_alone(tmp_path, clients):
    GOOD.assign(weight=-1.0).to_parquet(tmp_path / "part-0.parquet")
    with pytest.raises(ValueError, match="no positive weight"):
        fit(tmp_path, clients(2))


def test_folders_that_are_not_there_or_hold_nothing(tmp_path, clients):
    with pytest.raises(FileNotFoundError, match="does not exist: give a folder"):
        fit(tmp_path / "none", clients(2))
    with pytest.raises(ValueError, match="has no files that end with"):
        fit(tmp_path, clients(2))


def test_what_is_no_input(clients):
    with pytest.raises(TypeError, match="a folder of Parquet or CSV files, a Dask data frame or a matrix, got list"):
        fit([("a", "x")], clients(2))
    with pytest.raises(ValueError, match="options for files of events"):
        fit(np.eye(4), clients(2), read={"threshold": 4})
    with pytest.raises(ValueError, match='the "last" is not known'):
        fit(__file__, clients(2), read={"threshold": 4})


def test_what_is_no_client(clients):
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client or a Cluster, got str"):
        OneClassMF().fit(np.eye(4), client="tcp://here:1")
    closed = Client(clients(2).scheduler_info()["address"])
    closed.close()
    with pytest.raises(ValueError, match="the client is closed: connect a new one"):
        fit(np.eye(4), closed)


def test_what_a_cluster_does_not_do(clients):
    for parameters, given, words in (
        ({"solver": "cd", "loss": "squared"}, {}, '"auto" or "newton"'),
        ({}, {"right_graph": np.ones((4, 4))}, "no graphs"),
        ({}, {"start": OneClassMF(rank=1).fit(np.eye(4))}, "start="),
        ({"patience": 2}, {}, "patience needs validation data"),
    ):
        with pytest.raises(ValueError, match=words):
            OneClassMF(rank=1, **parameters).fit(np.eye(4), **given, client=clients(2))
    with pytest.raises(ValueError, match="was not trained on a cluster"):
        OneClassMF(rank=1).fit(np.eye(4)).gather()
    with pytest.raises(ValueError, match="shards must be a number or a"):
        Cluster(clients(2), shards=(1, 2, 3))
    with pytest.raises(ValueError, match="gather must be True, False"):
        Cluster(clients(2), gather="yes")


def test_a_validation_of_another_shape(clients):
    with pytest.raises(ValueError, match=r"validation has the shape \(3, 4\), it must be \(4, 4\)"):
        OneClassMF(rank=1, max_iter=1).fit(np.eye(4), validation=sp.csr_array((3, 4)), client=clients(2))


def test_a_checkpoint_of_another_version(tmp_path, clients):
    (tmp_path / "checkpoint.json").write_text('{"format": 99}')
    with pytest.raises(ValueError, match="checkpoint of another version"):
        OneClassMF(rank=1, random_state=0).fit(np.eye(4), client=clients(2), callbacks=[ShardCheckpoint(tmp_path)])


def test_dask_is_imported_for_a_cluster_only():
    code = "import sys, everypair; print('dask' in sys.modules or 'distributed' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_the_wrong_kind_of_checkpoint(clients, tmp_path):
    with pytest.raises(ValueError, match="kept by a ShardCheckpoint"):
        OneClassMF(rank=1).fit(np.eye(4), client=clients(2), callbacks=[Checkpoint(tmp_path / "one.ep")])
    with pytest.raises(ValueError, match="use Checkpoint here"):
        OneClassMF(rank=1).fit(np.eye(4), callbacks=[ShardCheckpoint(tmp_path / "run")])


def test_what_goes_with_a_matrix_alone_is_refused_before_files_are_read(clients):
    for given, words in (
        ({"left_features": np.ones((2, 1))}, "features need a matrix"),
        ({}, "weighting= need a matrix"),
    ):
        parameters = {} if given else {"weighting": ("degree", 0.25)}
        with pytest.raises(ValueError, match=words):
            OneClassMF(rank=1, **parameters).fit("no/such/folder", client=clients(2), **given)
    with pytest.raises(ValueError, match="min_user_events is not known file by file"):
        pairs_from_events(None, [], {"min_user_events": 2, "duplicates": "sum"}, (None, None), np.float32)


def test_a_model_that_is_fitted_again_answers_from_the_new_one(clients):
    first, second = np.ones((5, 4)), np.ones((7, 6))
    first[0, 0] = second[0, 0] = 0
    model = OneClassMF(rank=1, random_state=0).fit(first)
    model.fit(second, client=Cluster(clients(2), gather=False))
    assert not hasattr(model, "left_factors_")
    assert model.recommend([6], n=6, exclude_seen=False)[0].shape == (1, 6)
    model.fit(first)
    assert not hasattr(model, "sharded_")
    assert model.left_factors_.shape[0] == 5
