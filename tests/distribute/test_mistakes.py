"""Bad input on a cluster: one sentence that names the file and the column."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from distributed import Client

from everypair import Checkpoint, OneClassMF
from everypair.data import read_events
from everypair.distribute import Cluster, ShardCheckpoint
from everypair.distribute.reading.event_files import pairs_from_events
from everypair.distribute.solving.shard_checkpoint import parsed_manifest

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


def test_nothing_runs_on_after_a_refusal(folder, clients):
    """A worker that is closed while it reads would log a warning beside the sentence."""
    (folder / "part-1.csv").write_text("user,thing\na,x\n")
    for number in (2, 3, 4):
        rows = "\n".join(f"u{row},i{row % 99},1" for row in range(150_000))
        (folder / f"part-{number}.csv").write_text(f"user,item,weight\n{rows}\n")
    with pytest.raises(ValueError, match=r"part-1\.csv"):
        fit(folder, clients(2))
    assert not any(clients(2).run(lambda dask_worker: len(dask_worker.state.executing)).values())


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
    with pytest.raises(ValueError, match=r"part-1\.parquet.*no events\. Leave the file out\."):
        fit(folder, clients(2))


@pytest.mark.parametrize(("role", "read"), [("weight", {}), ("time", {"duplicates": "last"})])
def test_a_weight_or_time_that_only_a_later_file_has(role, read, tmp_path, clients):
    plain = GOOD.drop(columns="weight")
    plain.to_parquet(tmp_path / "part-0.parquet")
    plain.assign(**{role: [1.0, -2.0, 30.0]}).to_parquet(tmp_path / "part-1.parquet")
    with pytest.raises(ValueError, match=rf"part-1\.parquet: column '{role}' looks like a {role}, and .*part-0.* none"):
        fit(tmp_path, clients(2), read=read)
    found = fit(tmp_path, clients(2), read={**read, role: None}).interactions_
    assert set(found.data) == ({1.0} if read else {2.0})


def test_files_that_leave_nothing(tmp_path, clients):
    for number in range(2):
        GOOD.assign(weight=0.0).to_parquet(tmp_path / f"part-{number}.parquet")
    with pytest.raises(ValueError, match="No event is left"):
        fit(tmp_path, clients(2))


def test_weights_that_are_small_in_every_file_add_up(tmp_path, clients):
    for number in range(2):
        weights = [1.0, 4e-46, 1.0]  # nothing in float32, but twice that is something
        GOOD.assign(weight=weights).to_parquet(tmp_path / f"part-{number}.parquet")
    assert fit(tmp_path, clients(2)).interactions_.shape == (3, 2)


def test_a_partition_of_a_frame_is_named(clients):
    import dask.dataframe as dd

    bad = GOOD.assign(weight=["many", "few", "1"])
    parts = [GOOD, GOOD.iloc[:0], GOOD], [GOOD, GOOD, bad]
    for frames, words in zip(parts, ("partition 1: The table has no events", "partition 2: .*'weight'")):
        frame = dd.from_map(lambda part: part, frames, meta=GOOD.iloc[:0], enforce_metadata=False)
        with pytest.raises(ValueError, match=words):
            fit(frame, clients(2))


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
    with pytest.raises(TypeError, match="a Dask data frame, events or a matrix, got list"):
        fit(["a.parquet", "b.parquet"], clients(2))
    for source in (np.eye(4), read_events(GOOD)):
        with pytest.raises(ValueError, match="options for files and frames of events: leave them out here"):
            fit(source, clients(2), read={"min_rating": 4})


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
        ({}, {"item_graph": np.ones((4, 4))}, "no graphs"),
        ({}, {"start": OneClassMF(rank=1).fit(np.eye(4))}, "start="),
        ({"patience": 2}, {}, "patience needs validation data"),
    ):
        with pytest.raises(ValueError, match=words):
            OneClassMF(rank=1, **parameters).fit(np.eye(4), **given, client=clients(2))
    with pytest.raises(ValueError, match="nothing to gather: this model is not on a cluster"):
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
    with pytest.raises(ValueError, match="checkpoint of version 99 of the format, and this EveryPair reads version"):
        OneClassMF(rank=1, random_state=0).fit(np.eye(4), client=clients(2), callbacks=[ShardCheckpoint(tmp_path)])


def test_nothing_of_the_cluster_is_imported_without_one():
    code = """
import sys
from everypair import OneClassMF
OneClassMF(rank=1, max_iter=1).fit([[1, 0], [0, 1]])
print([name for name in sys.modules if name.split(".")[0] in ("dask", "distributed") or "everypair.distribute" in name])
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_the_wrong_kind_of_checkpoint(clients, tmp_path):
    with pytest.raises(ValueError, match="kept by a ShardCheckpoint"):
        OneClassMF(rank=1).fit(np.eye(4), client=clients(2), callbacks=[Checkpoint(tmp_path / "one.ep")])
    with pytest.raises(ValueError, match="use Checkpoint here"):
        OneClassMF(rank=1).fit(np.eye(4), callbacks=[ShardCheckpoint(tmp_path / "run")])


def test_options_that_are_refused_before_files_are_read(clients):
    for options, words in (
        ({"min_user_events": 2}, "min_user_events is not known file by file"),
        ({"labels": "tags"}, "read= has 'labels', which is no option of read_events"),
    ):
        with pytest.raises(ValueError, match=words):
            pairs_from_events(None, [], options, (None, None), np.float32)
    for parameters, words in (
        ({"weighting": ("degree", -1)}, "γ ≥ 0"),
        ({"n_threads": 2}, "the threads it was started with .*leave n_threads out"),
    ):
        with pytest.raises(ValueError, match=words):
            OneClassMF(rank=1, **parameters).fit("no/such/folder", client=clients(2))


def test_features_that_do_not_match_the_ids_of_the_files(folder, clients):
    cases = [
        (pd.DataFrame({"age": [1, 2]}, index=["a", "b"]), "user_features must have one row for every id.*'c'"),
        (pd.DataFrame({"age": [1, 2, 3]}), "user_features is a frame without ids"),
        (pd.DataFrame({"age": 1}, index=["a", "b", "c", "c"]), "the index of user_features: .*'c'"),
        (np.ones((4, 2)), r"one row per entity of that side \(3\), got shape \(4, 2\)"),
        (pd.DataFrame({"user": ["a", "b", "c"], "age": "x"}), "must hold numbers, but its column 'age'"),
    ]
    for features, words in cases:
        with pytest.raises((ValueError, TypeError), match=words):
            OneClassMF(rank=1).fit(folder, user_features=features, client=clients(2))


def test_nothing_above_the_threshold(folder, clients):
    with pytest.raises(ValueError, match="No event is left: all weights are 0 or below min_rating"):
        fit(folder, clients(2), read={"weight": "weight", "min_rating": 9})


def test_a_model_that_is_fitted_again_answers_from_the_new_one(clients):
    first, second = np.ones((5, 4)), np.ones((7, 6))
    first[0, 0] = second[0, 0] = 0
    model = OneClassMF(rank=1, random_state=0).fit(first)
    model.fit(second, client=Cluster(clients(2), gather=False))
    assert not hasattr(model, "user_factors_")
    assert model.recommend([6], n=6, exclude_seen=False)[0].shape == (1, 6)
    with pytest.raises(ValueError, match=r"name users, .*recommend_all"):
        model.recommend()
    model.fit(first)
    assert model.user_factors_.shape[0] == 5


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b'{"format": 1}',
        b"[" * 100_000,
        b'{"format": 1, "training": {}, "sweep": "../x", "state": {}}',
    ],
)
def test_a_damaged_manifest_is_refused(content):
    with pytest.raises(ValueError, match=r"run-7 holds a (damaged )?checkpoint"):
        parsed_manifest("run-7", content)
