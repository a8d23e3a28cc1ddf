"""Mistakes on the way from a log to recommendations: each is exit code 2 and one sentence, never a traceback."""

import gzip
import os
import subprocess
import sys

import pytest
import typer

import everypair
from everypair.cli import app

resource = pytest.importorskip("resource")  # which Windows does not have
FIT = ("fit", "{}", "--output", "new.ep", "--rank", "3")
LOG = "user,film,rating\nann,blue,5\nbob,rain,4\nbob,blue,3\n"


def spoil(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# what is in the file, the command on it, what the sentence says
OF_EVENTS = {
    "wrong column": (LOG, (*FIT, "--user", "customer"), "There is no column 'customer'"),
    "column beyond the last": (LOG, (*FIT, "--item", "7"), "There is no column 7"),
    "no column for the item": ("user,when\nann,1\n", FIT, "--item"),
    "one column only": ("user\nann\nbob\n", FIT, "--delimiter ';'"),
    "empty file": ("", FIT, "is empty"),
    "header only": ("user,film\n", FIT, "no events"),
    "binary file": (bytes(range(256)) * 8, FIT, "zero bytes"),
    "a pickle": (b"\x80\x04\x95rest", FIT, "pickle"),
    "an sqlite database": (b"SQLite format 3\x00rest", FIT, "SQLite"),
    "cut gzip": (gzip.compress(LOG.encode() * 99)[:-20], FIT, "damaged or cut off"),
    "wrong delimiter": (LOG, (*FIT, "--delimiter", ";"), "delimiter"),
    "a line with too many fields": (LOG + "cem,a,b,c,d\n", FIT, "line 5"),
    "rating that is no number": ("user,film,rating\nann,blue,good\n", (*FIT, "--min-rating", "4"), "must hold numbers"),
    "decimal comma": ("user;film;rating\nann;blue;4,5\n", (*FIT, "--min-rating", "4"), "decimal point"),
    "missing user": (LOG + ",blue,3\n", FIT, "--missing drop"),
    "not utf-8": ("user,film\nann,caf\xe9\n".encode("latin-1"), FIT, "encoding"),
    "threshold without ratings": ("user,film\nann,blue\n", (*FIT, "--min-rating", "4"), "--weight"),
    "everything below the threshold": (LOG, (*FIT, "--min-rating", "9"), "No event is left"),
    "too few events each": (LOG, (*FIT, "--min-user-events", "9"), "--min-user-events"),
    "ids that are no integers": (LOG, (*FIT, "--ids", "integer"), "--ids"),
    "two roles in one column": (LOG, (*FIT, "--user", "film", "--item", "film"), "same column"),
    "a header of numbers, or an event": ("0,1\n4,1\n3,2\n", FIT, "Say --header yes, --header no"),
    "zero bytes in an id": ("user,film\nann,a\0b\nbob,c\n", FIT, "zero bytes"),
    "UTF-16": ("user,film\nann,blue\n".encode("utf-16"), FIT, "UTF-16"),
    "another encoding": (LOG, (*FIT, "--encoding", "utf-16"), "convert the file to UTF-8"),
    "dates in another order": (
        "user,film,when\nann,blue,31/12/2024\n",
        (*FIT, "--time", "when"),
        "neither a number nor an ISO date",
    ),
    "nothing left to hold out": (
        "user,film,time\nann,blue,1\nbob,rain,2\n",
        ("evaluate", "{}", "--split", "last", "--rank", "1"),
        "choose another --split or --test-share",
    ),
    "no times to split by": (LOG, ("evaluate", "{}", "--split", "last"), "time"),
}
# the command in a folder with events.csv, test.csv, films.csv and model.ep; what the sentence says
OF_CALLS = {
    "no such file": (("fit", "event.csv", "-o", "new.ep"), "Did you mean 'events.csv'?"),
    "a folder for a file": (("fit", ".", "-o", "new.ep"), "is a folder"),
    "no argument": (("fit",), "events"),
    "no output": (("fit", "events.csv"), "--output"),
    "unknown command": (("fitt", "events.csv"), "No such command"),
    "unknown option": (("fit", "events.csv", "-o", "new.ep", "--rnak", "3"), "No such option"),
    "unknown value": (("fit", "events.csv", "-o", "new.ep", "--missing", "keep"), "'keep'"),
    "a word for a number": (("fit", "events.csv", "-o", "new.ep", "--rank", "many"), "'--rank'"),
    "unknown model": (("fit", "events.csv", "-o", "new.ep", "--model", "SVD"), "there is no model 'SVD'"),
    "a model that is none here": (("fit", "events.csv", "-o", "new.ep", "--model", "MultiLabelMF"), "choose one of"),
    "unknown parameter": (("fit", "events.csv", "-o", "new.ep", "--set", "rnak=3"), "did you mean 'rank'?"),
    "a parameter in a number": (
        ("fit", "events.csv", "--model", "OneClassMF", "-o", "new.ep", "--set", "rank.high=3"),
        "rank=64 has no parameters",
    ),
    "a parameter that a side lacks": (
        ("fit", "events.csv", "--model", "OneClassMF", "-o", "new.ep", "--set", "users.feature_rge=3"),
        "Side has no parameter 'feature_rge', did you mean 'feature_reg'?",
    ),
    "a solver without parameters": (
        (
            "fit",
            "events.csv",
            "--model",
            "OneClassMF",
            "-o",
            "new.ep",
            "--set",
            "solver=tron",
            "--set",
            "solver.cg_steps=3",
        ),
        "solver='tron' has no parameters",
    ),
    "a parameter of the factors": (
        ("fit", "events.csv", "-o", "new.ep", "--set", "reg=0.2"),
        "Blend has no parameter 'reg', OneClassMF has: say --model OneClassMF",
    ),
    "checkpoints of a blend": (
        ("fit", "events.csv", "-o", "new.ep", "--checkpoint", "run.ckpt"),
        "Blend has no checkpoints: say --model OneClassMF",
    ),
    "bad --set": (("fit", "events.csv", "-o", "new.ep", "--set", "rank"), "--set rank=32"),
    "bad list in --set": (("fit", "events.csv", "-o", "new.ep", "--set", "reg=(1, 2)"), "JSON"),
    "bad parameter": (("fit", "events.csv", "--model", "OneClassMF", "-o", "new.ep", "--set", "loss=hinges"), "hinges"),
    "rank 0": (("fit", "events.csv", "-o", "new.ep", "--rank", "0"), "--rank"),
    "rank above all": (("fit", "events.csv", "-o", "new.ep", "--rank", "99"), "rank=99"),
    "holdout of 2": (("fit", "events.csv", "-o", "new.ep", "--holdout", "2"), "share"),
    "no folder for the output": (("fit", "events.csv", "-o", "no/such/new.ep"), "does not exist; create it first"),
    "output is a folder": (("fit", "events.csv", "-o", "."), "it is a folder"),
    "output in a file": (("fit", "events.csv", "-o", "events.csv/new.ep"), "is not a folder"),
    "output is a device": (("fit", "events.csv", "-o", "/dev/full"), "it is a device"),
    "folder that cannot be written": (("fit", "events.csv", "-o", "/proc/new.ep"), "cannot write /proc/new.ep"),
    "features without ids": (
        ("fit", "events.csv", "-o", "new.ep", "--item-features", "no_ids.csv"),
        "Say --item-id.",
    ),
    "features of other items": (
        ("fit", "events.csv", "-o", "new.ep", "--item-features", "few.csv"),
        "--absent zeros",
    ),
    "features that a model does not read": (
        ("fit", "events.csv", "-o", "new.ep", "--model", "Popularity", "--item-features", "films.csv"),
        "reads no features",
    ),
    "unknown kind of feature": (
        ("fit", "events.csv", "-o", "new.ep", "--item-features", "films.csv", "--item-kind", "kind=colour"),
        "colour",
    ),
    "kinds without a table": (("fit", "events.csv", "-o", "new.ep", "--item-kind", "kind=list"), "--item-features"),
    "checkpoint of a model without": (
        ("fit", "events.csv", "-o", "new.ep", "--model", "ItemItem", "--checkpoint", "a.ckpt"),
        "no checkpoints",
    ),
    "no model file": (("recommend", "modle.ep", "--all", "-o", "out.csv"), "there is no file modle.ep"),
    "zero-byte model": (("recommend", "zero.ep", "--all", "-o", "out.csv"), "it is empty"),
    "cut model": (("recommend", "cut.ep", "--all", "-o", "out.csv"), "cut short"),
    "altered model": (("recommend", "altered.ep", "--all", "-o", "out.csv"), "damaged"),
    "a log for a model": (("recommend", "events.csv", "--all", "-o", "out.csv"), "it is not an EveryPair file"),
    "a classifier for a recommender": (("recommend", "labels.ep", "--all", "-o", "out.csv"), "no recommender"),
    "a model of a newer format": (("inspect", "newer.ep"), "install a newer one"),
    "unknown user": (("recommend", "model.ep", "--user", "u99"), "Did you mean 'u9'"),
    "user without events": (("recommend", "model.ep", "--user", ""), "unknown user"),
    "unknown item": (("similar", "model.ep", "--item", "film 99"), "unknown item"),
    "unknown item liked": (("recommend", "model.ep", "--likes", "film 99"), "unknown item"),
    "nobody asked for": (("recommend", "model.ep"), "--user, --users, --all"),
    "two ways of asking": (("recommend", "model.ep", "--all", "--user", "u1"), "one of"),
    "negative n": (("recommend", "model.ep", "--user", "u1", "-n", "-3"), "--n"),
    "no format": (("recommend", "model.ep", "--all", "-o", "out.xls"), ".csv, .parquet or .jsonl"),
    "recommendations into a folder": (("recommend", "model.ep", "--all", "-o", "folder.csv"), "it is a folder"),
    "empty file of users": (("recommend", "model.ep", "--users", "blank.txt"), "no users"),
    "a model without a test file": (("evaluate", "model.ep"), "name the file of held-out events"),
    "a test of other users": (("evaluate", "model.ep", "strangers.csv"), "no pair of a user and an item"),
    "a test that was trained on": (("evaluate", "model.ep", "events.csv"), "train"),
    "explanation of a model without": (
        ("explain", "floor.ep", "u1", "film 3"),
        "Popularity has no explain: Blend, ",
    ),
    "update of a model that does not grow": (
        ("update", "floor.ep", "test.csv", "-o", "new.ep"),
        "Popularity has no update: Blend, ",
    ),
    "a parameter twice": (("fit", "events.csv", "-o", "new.ep", "--rank", "3", "--set", "rank=4"), "set twice"),
    "options of a fit for a fitted model": (("evaluate", "model.ep", "test.csv", "--rank", "3"), "fitted already"),
    "a split beside a test file": (("evaluate", "events.csv", "test.csv", "--split", "last"), "leave out --split"),
    "options of a log for a model": (("inspect", "model.ep", "--min-rating", "4"), "is a model"),
    "a format without a file": (("recommend", "model.ep", "--user", "u1", "--format", "csv"), "--output"),
    "nothing to compare": (("similar", "model.ep"), "--item or --user"),
    "config that is not there": (("fit", "--config", "no.toml"), "there is no file no.toml"),
    "config that is no TOML": (("fit", "--config", "events.csv"), "is not TOML"),
    "config of something else": (("fit", "--config", "other.toml"), "--save-config"),
    "config of a newer version": (("fit", "--config", "newer.toml"), "install a newer one"),
    "config of another command": (("fit", "--config", "evaluate.toml"), "everypair evaluate"),
    "config with an unknown option": (("fit", "--config", "unknown.toml"), "no option colour"),
    "bad space": (("tune", "events.csv", "-o", "new.ep", "--space", "reg=a:b"), "reg=0.01:1"),
    "unknown metric": (("tune", "events.csv", "-o", "new.ep", "--metric", "accuracy"), "accuracy"),
    "threads of nobody": (("fit", "events.csv", "-o", "new.ep", "--rank", "3", "--threads", "0"), "--threads must be"),
    "threads of nobody asked": (("recommend", "model.ep", "--user", "u1", "--threads", "0"), "--threads must be"),
    "a share of all": (("evaluate", "events.csv", "--test-share", "1"), "--test-share must be"),
    "a model for a log": (("fit", "model.ep", "-o", "new.ep"), "is a model file of EveryPair"),
    "two logs": (("fit", "events.csv", "test.csv", "-o", "new.ep"), "extra argument"),
    "model and log swapped": (("update", "events.csv", "model.ep", "-o", "new.ep"), "it is not an EveryPair file"),
    "a table for a list of users": (("recommend", "model.ep", "--users", "events.csv"), "is a table with the columns"),
    "ratings of nobody new": (("recommend", "model.ep", "--user", "u1", "--min-rating", "4"), "--new-users"),
    "unknown item allowed": (("recommend", "model.ep", "--user", "u1", "--allow", "film 99"), "unknown item"),
    "unknown items allowed": (("recommend", "model.ep", "--user", "u1", "--allow", "film 99"), "unknown item"),
    "unknown item typed": (("recommend", "model.ep", "--likes", "film 99"), "unknown item"),
    "no table to choose by": (("recommend", "model.ep", "--user", "u1", "--where", "kind=a"), "needs a table of items"),
    "no column to choose by": (
        ("recommend", "model.ep", "--user", "u1", "--items", "films.csv", "--where", "colour=a"),
        "the table of items has no column 'colour'; it has 'kind'",
    ),
    "no condition": (("recommend", "model.ep", "--user", "u1", "--where", "kind"), "must be a condition on a column"),
    "no limit": (("recommend", "model.ep", "--user", "u1", "--at-most", "kind"), "must be a column and a number"),
    "too much diversity": (("recommend", "model.ep", "--user", "u1", "--diversity", "3"), "--diversity"),
    "a model in the place of its events": (("fit", "events.csv", "-o", "events.csv"), "would be replaced"),
    "a table in that of its items": (("tune", "events.csv", "-o", "./events.csv"), "would be replaced"),
    "lists in the place of users": (
        ("recommend", "model.ep", "--users", "test.csv", "-o", "test.csv"),
        "would be replaced",
    ),
    "nothing to update with": (("update", "model.ep", "-o", "new.ep"), "say what is new"),
    "an update with itself": (("update", "model.ep", "events.csv", "-o", "new.ep"), "read already"),
    "cold items of nothing": (("fit", "events.csv", "-o", "new.ep", "--cold-items", "include"), "--item-features"),
    "a moment and the last": (
        ("evaluate", "events.csv", "--split", "last", "--since", "5"),
        "--since belongs to",
    ),
    "no moment": (("evaluate", "events.csv", "--since", "spring"), "--since must be a number"),
    "tuned on new users": (("tune", "events.csv", "-o", "new.ep", "--split", "new-users"), "evaluate alone can"),
    "n of 0": (("recommend", "model.ep", "--user", "u1", "-n", "0"), "--n"),
    "no memory at all": (("recommend", "model.ep", "--all", "-o", "out.csv", "--memory-mb", "0"), "--memory-mb"),
    "a report as PDF": (("report", "events.csv", "-o", "report.pdf"), "must end in .html"),
    "a report of tuning as PDF": (("tune", "events.csv", "-o", "new.ep", "--report", "a.pdf"), "must end in .html"),
    "a report of a model": (("report", "model.ep", "-o", "report.html"), "name the file of held-out events too"),
    "config into no folder": (
        ("fit", "events.csv", "-o", "new.ep", "--rank", "3", "--save-config", "no/run.toml"),
        "does not exist; create it first",
    ),
    "checkpoint into no folder": (
        ("fit", "events.csv", "--model", "OneClassMF", "-o", "new.ep", "--rank", "3", "--checkpoint", "no/a.ckpt"),
        "does not exist: create it first",
    ),
    "a log for a checkpoint": (
        ("fit", "events.csv", "--model", "OneClassMF", "-o", "new.ep", "--rank", "3", "--checkpoint", "events.csv"),
        "it is not an EveryPair file",
    ),
    "features with an id twice": (
        ("fit", "events.csv", "-o", "new.ep", "--rank", "3", "--item-features", "twice.csv"),
        "has two rows",
    ),
    "storage into no folder": (
        ("tune", "events.csv", "-o", "new.ep", "--rank", "3", "--storage", "no/search.db"),
        "does not exist; create it first",
    ),
    "a log for a storage": (
        ("tune", "events.csv", "-o", "new.ep", "--rank", "3", "--storage", "events.csv"),
        "is not a file of optuna's",
    ),
    "a storage for the plain search": (
        ("tune", "events.csv", "-o", "new.ep", "--storage", "search.db", "--search", "plain"),
        "leave out --search plain",
    ),
    "a floor tuned": (("tune", "events.csv", "-o", "new.ep", "--model", "Popularity"), "--space"),
    "space of nothing": (("tune", "events.csv", "-o", "new.ep", "--space", "depth=1:2"), "no parameter 'depth'"),
    "no time at all": (("tune", "events.csv", "-o", "new.ep", "--budget", "-1"), "budget"),
    # serving
    "nothing to serve": (("serve", "nothing.ep"), "there is no file nothing.ep"),
    "a folder served": (("serve", "."), "is a folder"),
    "a log served": (("serve", "events.csv"), "is no model file"),
    "an empty model served": (("serve", "zero.ep"), "is no model file"),
    "a cut model served": (("serve", "cut.ep", "--check"), "cut short"),
    "a second model without a share": (("serve", "model.ep", "items.ep"), "give the second model a share"),
    "more than all users": (("serve", "model.ep", "items.ep=150%"), "from 0 to 100%"),
    "a share in words": (("serve", "model.ep", "items.ep=half"), "write it as 10%"),
    "three models": (("serve", "model.ep", "items.ep=10%", "plain.ep=10%"), "one model, or two"),
    "one model against itself": (("serve", "model.ep", "model.ep=10%"), "two models need two names"),
    "a port beyond all": (("serve", "model.ep", "--port", "99999"), "--port"),
    "nobody who answers": (("serve", "model.ep", "--workers", "0"), "--workers"),
    "a table of items that is not there": (("serve", "model.ep", "--items", "nothing.csv", "--check"), "nothing.csv"),
    "a table without items": (("serve", "model.ep", "--items", "no_ids.csv", "--check"), "'item' or 'id'"),
    "everybody may ask": (("serve", "model.ep", "--host", "0.0.0.0"), "--token-file"),
    "an address of nobody": (("serve", "model.ep", "--host", "nowhere.invalid"), "there is no address"),
    "a short secret": (("serve", "model.ep", "--token-file", "blank.txt"), "at least 16 letters"),
    "a secret that is not there": (("serve", "model.ep", "--token-file", "nothing.txt"), "nothing.txt"),
    "a secret and none": (("serve", "model.ep", "--token-file", "blank.txt", "--no-token"), "leave one out"),
    "users in no log": (("serve", "model.ep", "--log-users"), "give --log a file"),
    "a log in no folder": (("serve", "model.ep", "--log", "no/such/log"), "no/such/log"),
    # cards, vectors, compiling
    "a card of nothing": (("card", "nothing.ep"), "there is no file nothing.ep"),
    "a card of a log": (("card", "events.csv"), "it is not an EveryPair file"),
    "a card of a cut model": (("card", "cut.ep"), "cut short"),
    "a card of a classifier": (("card", "labels.ep"), "which is no recommender"),
    "two cards": (("card", "model.ep", "floor.ep"), "extra argument"),
    "vectors nowhere": (("export", "model.ep"), "--vectors"),
    "vectors as text": (("export", "model.ep", "--vectors", "v.csv"), "end it in .parquet, .npz"),
    "vectors in no folder": (("export", "model.ep", "--vectors", "no/v.npz"), "does not exist; create it first"),
    "vectors in the place of the model": (
        ("export", "model.ep", "--vectors", "model.ep", "--format", "npz"),
        "would be replaced",
    ),
    "vectors of a model without": (("export", "items.ep", "--vectors", "v.npz"), "ItemItem has no vectors"),
    "vectors of a third side": (("export", "model.ep", "--vectors", "v.npz", "--side", "films"), "'items', 'users'"),
    "vectors of a classifier": (("export", "labels.ep", "--vectors", "v.npz"), "which is no recommender"),
    "nothing to warm up": (("warm-up", "nothing.ep"), "there is no file nothing.ep"),
    "a log warmed up": (("warm-up", "events.csv"), "it is not an EveryPair file"),
    "a classifier warmed up": (("warm-up", "labels.ep"), "which is no recommender"),
    "an empty model warmed up": (("warm-up", "zero.ep"), "it is empty"),
    # asking
    "neighbours of a floor": (("similar", "floor.ep", "--item", "film 1"), "Popularity has no similar_items"),
    "neighbours of a user in ItemItem": (("similar", "items.ep", "--user", "u1"), "ItemItem has no similar_users"),
    "somebody without --user": (("recommend", "model.ep", "u1"), "recommend takes {model}; all else are options"),
    "half an explanation": (("explain", "model.ep", "u1"), "item"),
    "an explanation of nobody": (("explain", "model.ep", "u99", "film 1"), "Did you mean 'u9'"),
    "no reasons": (("explain", "model.ep", "u1", "film 1", "-n", "0"), "--n"),
    "titles in a table without items": (("explain", "model.ep", "u1", "film 1", "--items", "no_ids.csv"), "'item' or"),
    "a name for a position": (("recommend", "plain.ep", "--user", "u1"), "are numbers, such as 0"),
    "a position beyond the last": (("recommend", "plain.ep", "--user", "99"), "user 99 is unknown"),
    "new users from nowhere": (("recommend", "model.ep", "--new-users", "nothing.csv"), "There is no file nothing.csv"),
    "titles from nowhere": (("recommend", "model.ep", "--user", "u1", "--items", "nothing.csv"), "There is no file"),
    "new users in no column": (("recommend", "model.ep", "--new-users", "no_ids.csv"), "Call it 'user'."),
    "unknown ids perhaps": (("recommend", "model.ep", "--user", "u1", "--unknown", "maybe"), "'error', 'skip'"),
    "a limit of nothing": (
        ("recommend", "model.ep", "--user", "u1", "--items", "films.csv", "--at-most", "kind=0"),
        "an integer ≥ 1",
    ),
    # updates, measures, reports, demo
    "an update by nothing": (("update", "model.ep", "nothing.csv", "-o", "new.ep"), "There is no file nothing.csv"),
    "an update of positions": (("update", "plain.ep", "test.csv", "-o", "new.ep"), "has no ids"),
    "an update of a classifier": (("update", "labels.ep", "test.csv", "-o", "new.ep"), "which is no recommender"),
    "features of a model that read none": (
        ("update", "model.ep", "test.csv", "-o", "new.ep", "--item-features", "films.csv"),
        "fitted without item_features",
    ),
    "known users perhaps": (("update", "model.ep", "test.csv", "-o", "new.ep", "--known", "maybe"), "'fold-in'"),
    "a model in the place of its day": (("update", "model.ep", "test.csv", "-o", "test.csv"), "would be replaced"),
    "repeats of a third kind": (("evaluate", "model.ep", "test.csv", "--repeats", "both"), "'drop', 'count'"),
    "a classifier evaluated": (("evaluate", "labels.ep", "test.csv"), "which is no recommender"),
    "a report on nothing": (("report", "model.ep", "nothing.csv", "-o", "a.html"), "no file nothing.csv"),
    "fewer samples than none": (("report", "events.csv", "--samples", "-1"), "--samples"),
    "a demo of rank 0": (("demo", "--rank", "0"), "--rank"),
    "a demo into no folder": (("demo", "--events", "no/such.csv"), "does not exist; create it first"),
    "something more for the doctor": (("doctor", "extra"), "extra argument"),
    "something more for the models": (("models", "--json", "extra"), "extra argument"),
}


@pytest.fixture
def spoilt(folder):
    """Files that have something wrong with them."""
    whole = (folder / "model.ep").read_bytes()
    spoil(folder, "zero.ep", b"")
    spoil(folder, "cut.ep", whole[:-100])
    spoil(folder, "altered.ep", whole[:-1] + bytes([whole[-1] ^ 1]))
    spoil(folder, "newer.ep", whole[:8] + bytes([9]) + whole[9:])
    spoil(folder, "no_ids.csv", "kind,year\na,1\nb,2\n")
    spoil(folder, "few.csv", "film,kind\nfilm 1,a\nfilm 2,b\n")
    spoil(folder, "twice.csv", "film,kind\n" + "".join(f"film {j},a\n" for j in [*range(30), 3]))
    spoil(folder, "blank.txt", "\n\n")
    spoil(folder, "strangers.csv", "user,film\nxan,film 1\n")
    top = 'everypair = "0.1.0"\ncommand = "fit"\n'
    spoil(folder, "other.toml", "a = 1\n")
    spoil(folder, "newer.toml", f"format = 2\n{top}[options]\n")
    spoil(folder, "evaluate.toml", f"format = 1\n{top.replace('fit', 'evaluate')}[options]\n")
    spoil(folder, "unknown.toml", f"format = 1\n{top}[options]\ncolour = 1\n")
    (folder / "folder.csv").mkdir()
    return folder


MADE = {
    "floor.ep": lambda: everypair.Popularity().fit("events.csv"),
    "items.ep": lambda: everypair.ItemItem().fit("events.csv"),
    "plain.ep": lambda: everypair.OneClassMF(rank=1, max_iter=1).fit([[1.0, 0.0], [1.0, 1.0]]),
    "labels.ep": lambda: everypair.MultiLabelMF(rank=1, max_iter=1).fit([[0.0], [1.0]] * 4, [[1, 0], [0, 1]] * 4),
}


def check_refusal(result, sentence):
    assert sentence in result.stderr
    told = [line for line in result.stderr.splitlines() if line.startswith("everypair: ")]
    assert len(told) == 1
    assert "Traceback" not in result.output
    assert result.stdout == ""


@pytest.mark.parametrize("mistake", OF_EVENTS)
def test_mistakes_in_a_log(tmp_path, monkeypatch, run, mistake):
    content, command, sentence = OF_EVENTS[mistake]
    monkeypatch.chdir(tmp_path)
    path = spoil(tmp_path, "log.csv", content)
    check_refusal(run(*(one.format(path) for one in command), code=2), sentence)
    assert os.listdir(tmp_path) == ["log.csv"]


@pytest.mark.parametrize("mistake", OF_CALLS)
def test_mistakes_in_a_call(spoilt, run, mistake):
    command, sentence = OF_CALLS[mistake]
    for name in MADE:
        if any(name in part for part in command):
            MADE[name]().save(name)
    before = sorted(os.listdir(spoilt))
    check_refusal(run(*command, code=2), sentence)
    assert sorted(os.listdir(spoilt)) == before


def test_a_byte_order_mark_is_no_mistake(tmp_path, run):
    path = spoil(tmp_path, "log.csv", b"\xef\xbb\xbf" + LOG.replace("\n", "\r\n").encode())
    run("fit", path, "-o", tmp_path / "new.ep", "--rank", 2)
    assert everypair.load(tmp_path / "new.ep").user_ids_.values.tolist() == ["ann", "bob"]


def test_a_pipe_is_refused(tmp_path):
    """It could be read only once, and tables are looked at before they are read."""
    command = f"cat log.csv | {sys.executable} -m everypair fit /dev/stdin -o new.ep"
    spoil(tmp_path, "log.csv", LOG)
    told = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert told.returncode == 2
    assert told.stderr == (
        "everypair: /dev/stdin is a pipe or a device, and tables are read twice: write it to a file first.\n"
    )


def test_a_locale_without_letters(tmp_path):
    """What is typed is UTF-8, whatever the locale says."""
    everypair.Popularity().fit([("Zoë", "blue"), ("bob", "rain")]).save(tmp_path / "model.ep")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "everypair", "recommend", "model.ep", "--user", "Zoë", "-n", "1"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, env=os.environ | plain)
    assert told.returncode == 0
    assert b"rain" in told.stdout


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def test_a_full_disk(folder):
    """The limit of a file's size stands for a full disk: the old file stays, and nothing is left beside it."""
    (folder / "out.csv").write_text("old")
    command = [sys.executable, "-m", "everypair", "recommend", "model.ep", "--all", "-o", "out.csv"]
    told = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=small_files)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith("everypair: cannot write")
    assert "the disk is full" in told.stderr
    assert len(told.stderr.splitlines()) == 1
    assert (folder / "out.csv").read_text() == "old"
    assert not list(folder.glob(".out*"))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("options", [["--all", "-o", "-"], ["--user", "u1"], ["--user", "u1", "--json"]])
def test_a_full_disk_behind_standard_output(folder, options):
    command = [sys.executable, "-m", "everypair", "recommend", "model.ep", *options]
    with open("/dev/full", "w") as full:
        told = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert told.returncode == 2
    assert told.stderr.startswith("everypair: cannot write: the disk is full")
    assert len(told.stderr.splitlines()) == 1


def test_mistakes_are_tried_in_every_command():
    """At least two in each, and three of what writes a file or opens a port; doctor and models have no arguments."""
    tried = [command[0] for command, _ in OF_CALLS.values()] + [command[0] for _, command, _ in OF_EVENTS.values()]
    for name in typer.main.get_command(app).commands:
        assert tried.count(name) >= {"doctor": 1, "models": 1, "demo": 2, "similar": 2, "inspect": 2}.get(name, 3), name
