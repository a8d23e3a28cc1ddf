"""Every command on a small log whose answers are known."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from pyarrow import parquet

import everypair
from everypair.data import read_events

FACTORS = ("--model", "OneClassMF")


def test_the_model_to_start_with_is_a_blend(folder, run):
    run("fit", "events.csv", "-o", "again.ep", "--rank", 3)
    model = everypair.Blend(rank=3, random_state=0).fit(read_events("events.csv", verbose=False))
    again = everypair.load("again.ep")
    assert (type(again), again.rank_) == (everypair.Blend, 3)
    assert np.array_equal(again.score_users(), model.score_users())


def lines(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_fit_is_the_fit_of_the_library(folder, run):
    shown = run("fit", "events.csv", *FACTORS, "--output", "again.ep", "--rank", 3, "--set", "reg=0.2", "--json")
    told = json.loads(shown.stdout)
    assert (told["users"], told["items"], told["pairs"]) == (44, 21, 274)
    events = read_events("events.csv", verbose=False)
    model = everypair.OneClassMF(rank=3, reg=0.2, random_state=0).fit(events)
    again = everypair.load("again.ep")
    assert np.array_equal(again.user_factors_, model.user_factors_)
    assert again.user_ids_ == model.user_ids_
    assert "user 'user', item 'film', time 'timestamp'" in shown.stderr


def test_parameters_inside_parameters(folder, run):
    """The order in which they are said does not matter."""
    few = (
        "fit",
        "events.csv",
        *FACTORS,
        "-o",
        "again.ep",
        "--rank",
        3,
        "--set",
        "max_iter=2",
        "--item-features",
        "films.csv",
    )
    inside = ("items.own_vectors=false", "items.feature_reg=2", "solver.cg_steps=3", "solver=newton")
    run(*few, *(word for one in inside for word in ("--set", one)))
    model = everypair.load("again.ep")
    assert model.items == everypair.Side(own_vectors=False, feature_reg=2)
    assert model.solver == everypair.Newton(cg_steps=3, momentum=False)
    assert model.feature_reg_[1] == 2


@pytest.mark.parametrize("name", ["ItemItem", "Popularity", "BPR", "Blend", "SubsampledMF", "EnsembleMF"])
def test_every_model_is_fitted_and_asked(folder, run, name):
    ranked = ["--rank", 3] if name in ("BPR", "SubsampledMF", "EnsembleMF") else []
    run("fit", "events.csv", "-o", "model.ep", "--model", name, *ranked, "--quiet")
    assert type(everypair.load("model.ep")).__name__ == name
    assert len(json.loads(run("recommend", "model.ep", "-u", "u3", "-n", 2, "--json").stdout)["items"]) == 2


def test_fit_measures_on_what_it_holds_out(folder, run):
    shown = run("fit", "events.csv", *FACTORS, "-o", "model.ep", "--rank", 3, "--holdout", 0.2)
    assert "Popularity" in shown.stdout
    assert "±" in shown.stdout
    assert everypair.load("model.ep").interactions_.nnz == 274
    told = json.loads(
        run("fit", "events.csv", *FACTORS, "-o", "model.ep", "--rank", 3, "--holdout", 0.2, "--json").stdout
    )
    assert told["held_out"]["OneClassMF"]["metrics"]["ndcg@10"] > told["held_out"]["Popularity"]["metrics"]["ndcg@10"]


def test_fit_reads_features_and_goes_on_from_a_checkpoint(folder, run):
    told = ("--rank", 3, "--item-features", "films.csv", "--item-kind", "kind=category", "--set", "tol=0")
    run("fit", "events.csv", *FACTORS, "-o", "model.ep", *told, "--checkpoint", "run.ckpt", "--set", "max_iter=10")
    model = everypair.load("model.ep")
    assert model.item_feature_weights_.shape[0] == 3
    assert (folder / "run.ckpt").exists()
    run("fit", "events.csv", *FACTORS, "-o", "more.ep", *told, "--checkpoint", "run.ckpt", "--set", "max_iter=12")
    kept, more = model.history_[:5], everypair.load("more.ep").history_
    assert more[:5] == kept  # seconds too: those sweeps were not taken again
    assert len(more) > 5  # how many follow, rounding decides


def test_a_run_is_repeated_from_its_file(folder, run):
    options = ("--rank", 3, "--set", "tol=1e-5", "--set", 'negative_scheme=["item-count", 0.5]', "--seed", 7)
    run("fit", "events.csv", *FACTORS, "-o", "first.ep", *options, "--min-item-events", 2, "--save-config", "run.toml")
    run("fit", "--config", "run.toml", "--output", "second.ep")
    first, second = everypair.load("first.ep"), everypair.load("second.ep")
    assert np.array_equal(first.user_factors_, second.user_factors_)
    assert first.get_params() == second.get_params()
    assert second.negative_scheme == ("item-count", 0.5)
    run("fit", "--config", "run.toml", "-o", "third.ep", "--seed", 8)
    assert not np.array_equal(first.user_factors_, everypair.load("third.ep").user_factors_)


def test_recommend_one_user(folder, run, held_out):
    shown = run("recommend", "model.ep", "--user", "u3", "-n", 2).stdout.splitlines()
    assert shown[0] == "u3"
    assert shown[2].split()[:3] == ["1", *held_out["u3"].split()]
    told = json.loads(run("recommend", "model.ep", "--user", "u3", "-n", 2, "--json").stdout)
    model = everypair.load("model.ep")
    items, scores = model.recommend(["u3"], n=2)
    assert told["items"] == items[0].tolist()
    assert np.allclose(told["scores"], scores[0], rtol=1e-6)


def test_recommend_all_users_in_three_formats(folder, run):
    items, scores = everypair.load("model.ep").recommend(n=5)
    for name in ("out.csv", "out.parquet", "out.jsonl"):
        run("recommend", "model.ep", "--all", "-n", 5, "--output", name)
    rows = lines("out.csv")
    assert len(rows) == 44 * 5
    assert [row["item"] for row in rows] == items.ravel().tolist()
    assert np.allclose([float(row["score"]) for row in rows], scores.ravel(), rtol=1e-6)
    assert [row["rank"] for row in rows[:6]] == ["1", "2", "3", "4", "5", "1"]
    table = parquet.read_table("out.parquet")
    assert table.column_names == ["user", "item", "score", "rank"]
    assert table["item"].to_pylist() == items.ravel().tolist()
    assert np.array_equal(table["score"].to_numpy(), scores.ravel())
    told = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [one["items"] for one in told] == items.tolist()
    assert [one["user"] for one in told] == everypair.load("model.ep").user_ids_.values.tolist()


def test_recommend_is_the_same_in_small_blocks(folder, run, monkeypatch):
    run("recommend", "model.ep", "--all", "-o", "whole.csv")
    monkeypatch.setattr("everypair.cli.recommend.MOST_ROWS", 7)
    run("recommend", "model.ep", "--all", "-o", "blocks.csv")
    assert (folder / "whole.csv").read_text() == (folder / "blocks.csv").read_text()


def test_blocks_of_many_users_give_the_bits_of_one_call(folder, run, monkeypatch):
    random = np.random.default_rng(0)
    seen = sp.random_array((9000, 300), density=0.01, format="csr", dtype=np.float32, rng=random)
    model = everypair.Popularity().fit(seen)
    left, right = (random.standard_normal((rows, 16), np.float32) for rows in seen.shape)
    model.state_ = replace(model.state_, user_factors=left, item_factors=right)
    model.save("many.ep")
    monkeypatch.setattr("everypair.cli.recommend.MOST_ROWS", 4100)
    run("recommend", "many.ep", "--all", "-n", 5, "-o", "many.parquet")
    items, scores = model.recommend(n=5)
    table = parquet.read_table("many.parquet")
    assert np.array_equal(table["item"].to_numpy(), items.ravel())
    assert np.array_equal(table["score"].to_numpy(), scores.ravel())
    assert parquet.ParquetFile("many.parquet").metadata.num_row_groups == 2


def test_lists_may_be_short(folder, run):
    run("recommend", "model.ep", "--user", "u0", "--allow", "film 0", "--allow", "film 1", "-o", "out.csv")
    assert [row["item"] for row in lines("out.csv")] == ["film 0"]  # the other one has been seen
    run("recommend", "model.ep", "--user", "u0", "--include-seen", "-n", 99, "-o", "out.csv")
    assert len(lines("out.csv")) == 21


def test_recommend_users_of_a_file_and_new_ones(folder, run):
    (folder / "users.txt").write_bytes("\ufeffuser\r\nu3\r\n\r\nu30\r\n".encode())
    run("recommend", "model.ep", "--users", "users.txt", "-n", 1, "-o", "out.csv")
    assert [row["user"] for row in lines("out.csv")] == ["u3", "u30"]
    told = json.loads(run("recommend", "model.ep", "--likes", "film 8", "--likes", "film 9", "-n", 5, "--json").stdout)
    assert {int(item.split()[1]) for item in told["items"]} == {10, 11, 12, 13, 14}
    (folder / "new.csv").write_text("user,film\nzoe,film 0\nzoe,film 1\nyan,film 20\n")
    run("recommend", "model.ep", "--new-users", "new.csv", "-n", 1, "-o", "out.csv")
    assert [row["user"] for row in lines("out.csv")] == ["yan", "zoe"]
    blocked = run("recommend", "model.ep", "-u", "u3", "-n", 1, "--block", "film 3", "--json")
    assert json.loads(blocked.stdout)["items"] != ["film 3"]


def test_integer_ids(folder, run):
    (folder / "numbers.csv").write_text(
        "user,item\n" + "".join(f"{i},{10 + j}\n" for i in range(6) for j in range(i + 1))
    )
    run("fit", "numbers.csv", "-o", "numbers.ep", "--rank", 2)
    told = json.loads(run("recommend", "numbers.ep", "-u", 2, "-n", 1, "--json").stdout)
    assert (told["user"], type(told["items"][0])) == (2, int)
    run("recommend", "numbers.ep", "--all", "-n", 1, "-o", "out.parquet")
    assert str(parquet.read_schema("out.parquet").field("user").type) == "int64"


def test_a_model_without_ids_is_asked_by_position(folder, run):
    everypair.OneClassMF(rank=2, random_state=0).fit(np.kron(np.eye(2), np.ones((6, 5)))).save("matrix.ep")
    told = json.loads(run("recommend", "matrix.ep", "-u", 7, "-n", 2, "--include-seen", "--json").stdout)
    assert told["user"] == 7
    assert set(told["items"]) <= {5, 6, 7, 8, 9}


def test_evaluate_a_model_on_a_test_file(folder, run):
    told = json.loads(run("evaluate", "model.ep", "test.csv", "--k", 1, "--k", 5, "--json").stdout)
    model, floor = told["results"]["OneClassMF"], told["results"]["Popularity"]
    assert told["pairs"] == 44
    assert model["metrics"]["hit_rate@5"] == 1 > floor["metrics"]["hit_rate@5"]
    assert floor["standard_errors"]["ndcg@5"] > 0
    assert "hit_rate@10" in run("evaluate", "model.ep", "test.csv").stdout


@pytest.mark.parametrize("how", ["random", "last", "time", "new-users"])
def test_evaluate_a_part_of_the_events(folder, run, how):
    told = json.loads(run("evaluate", "events.csv", "--split", how, "--test-share", 0.2, "--rank", 3, "--json").stdout)
    assert told["pairs"] > 0
    assert 0 <= told["results"]["Blend"]["metrics"]["ndcg@10"] <= 1


def test_evaluate_since_a_moment(folder, run):
    told = json.loads(run("evaluate", "events.csv", "--since", 1200, "--rank", 3, "--json").stdout)
    assert (told["pairs"], told["repeats"]) == (len((folder / "events.csv").read_text().split("\n")) - 2 - 200, 0)


def test_evaluate_with_repeats(folder, run):
    """A log cut at a date: some users buy again what they had."""
    with (folder / "test.csv").open("a") as file:
        file.write("u0,film 1\nu1,film 2\nu1,film 3\n")
    for first in (("evaluate", "model.ep"), ("evaluate", "events.csv", "--rank", 3)):
        told = json.loads(run(*first, "test.csv", "--json").stdout)
        assert (told["pairs"], told["repeats"]) == (44, told["repeats"])
        assert told["repeats"] in (2, 3)
    assert f"On 44 pairs held out ({told['repeats']} more are of users who have" in run(*first, "test.csv").stdout
    told = json.loads(run(*first, "test.csv", "--repeats", "count", "--json").stdout)
    assert (told["pairs"], told["repeats"]) == (47, 0)


def test_evaluate_fits_on_one_file_and_tests_on_another(folder, run):
    told = json.loads(run("evaluate", "events.csv", "test.csv", "--rank", 3, "--k", 5, "--json").stdout)
    assert told["results"]["Blend"]["metrics"]["hit_rate@5"] == 1


def test_lists_by_a_table_of_items(folder, run):
    (folder / "items.csv").write_text(
        "film,title,kind,price\n" + "".join(f"film {j},The {j},{'abc'[j % 3]},{j}\n" for j in range(21)) + "new,N,a,1\n"
    )
    chosen = ("--where", "kind=a,b", "--where", "price<15", "--at-most", "kind=2", "-n", 5)
    shown = run("recommend", "model.ep", "--user", "u1", "--items", "items.csv", *chosen).stdout
    assert "title" in shown
    run("fit", "events.csv", *FACTORS, "-o", "model.ep", "--rank", 3, "--items", "items.csv", "-q")
    assert run("recommend", "model.ep", "--user", "u1", *chosen).stdout == shown
    told = json.loads(run("recommend", "model.ep", "--user", "u1", "--json", *chosen).stdout)
    assert len(told["items"]) == 4
    assert told["titles"] == [f"The {item.split()[1]}" for item in told["items"]]
    assert all(int(item.split()[1]) % 3 < 2 and int(item.split()[1]) < 15 for item in told["items"])
    run("recommend", "model.ep", "--all", "-o", "lists.jsonl", "--diversity", 0.5, *chosen)
    every = (folder / "lists.jsonl").read_text().splitlines()
    assert all(len(json.loads(line)["items"]) <= 4 for line in every)
    assert "The 9" in run("similar", "model.ep", "--item", "film 10").stdout
    assert "The 2" in run("explain", "model.ep", "u1", "film 1").stdout


def test_unknown_ids_of_files_are_counted(folder, run):
    (folder / "users.txt").write_text("u1\nnobody\nu2\n")
    told = run("recommend", "model.ep", "--users", "users.txt", "--json", "--block", "new", "--block", "film 1")
    assert len(told.stdout.splitlines()) == 2
    assert "1 of 3 users are not known and left out" in told.stderr
    assert "1 of the items to choose from or to leave out are not known" in told.stderr
    assert "unknown user" in run("recommend", "model.ep", "--users", "users.txt", "--unknown", "error", code=2).stderr
    (folder / "new.csv").write_text("user,film\na,film 1\na,film 99\n")
    told = run("recommend", "model.ep", "--new-users", "new.csv", "--json")
    assert "1 events of 1 items that the model does not know are left out" in told.stderr
    assert "unknown item" in run("recommend", "model.ep", "--new-users", "new.csv", "--unknown", "error", code=2).stderr


def test_a_catalogue_larger_than_the_log(folder, run):
    with (folder / "films.csv").open("a") as file:
        file.write("fresh,a\nfresher,b\n")
    fit = ("fit", "events.csv", "-o", "model.ep", "--rank", 3, "--item-features", "films.csv")
    assert "films.csv: 2 items have no events: training leaves them out" in run(*fit).stderr
    assert everypair.load("model.ep").state_.shape == (44, 21)
    assert "2 items without events are added by their features" in run(*fit, "--cold-items", "include").stderr
    model = everypair.load("model.ep")
    assert {"fresh", "fresher"} <= set(model.item_ids_)
    assert np.isfinite(model.score_users()).all()


def test_similar(folder, run):
    told = json.loads(run("similar", "model.ep", "--item", "film 10", "-n", 6, "--json").stdout)
    assert {int(item.split()[1]) for item in told["similar_items"]} == {8, 9, 11, 12, 13, 14}
    assert "cosine" in run("similar", "model.ep", "--user", "u3", "-n", 2).stdout


def test_explanations_add_up(folder, run):
    told = json.loads(run("explain", "model.ep", "u3", "film 3", "-n", 99, "--json").stdout)
    assert told["base"] + sum(told["contributions"]) == pytest.approx(told["score"], abs=1e-6)
    assert {int(item.split()[1]) for item in told["items"]} == {0, 1, 2, 4, 5, 6, 7}
    assert "5 more" in run("explain", "model.ep", "u3", "film 3", "-n", 2).stdout


def test_explanations_name_what_items_share(folder, run):
    told = ("--model", "ContentItems", "--item-features", "films.csv", "--item-kind", "kind=category")
    run("fit", "events.csv", "-o", "content.ep", *told)
    told = json.loads(run("explain", "content.ep", "u3", "film 3", "--json").stdout)
    (kind,), (share,) = told["features"], told["feature_contributions"]
    assert kind.startswith("kind=")
    assert told["base"] + share == pytest.approx(told["score"], abs=1e-6)
    assert kind in run("explain", "content.ep", "u3", "film 3", "-n", 2).stdout


def test_inspect_a_model_and_a_log(folder, run):
    told = json.loads(run("inspect", "model.ep", "--json").stdout)
    assert (told["model"], told["users"], told["items"], told["pairs"]) == ("OneClassMF", 44, 21, 274)
    assert told["parameters"]["rank"] == 3
    told = json.loads(run("inspect", "events.csv", "--json").stdout)
    assert told["columns"] == {"user": "user", "item": "film", "time": "timestamp"}
    assert told["items per user, quartiles"] == [5, 6, 6, 7, 7]
    assert told["first and last time"] == [1000, 1273]
    assert "274" in run("inspect", "model.ep").stdout
    run("fit", "events.csv", "-o", "served.ep", "--rank", 3, "--serve-only")
    assert json.loads(run("inspect", "served.ep", "--json").stdout)["form"] == "serve-only"


def test_update_adds_and_folds_in(folder, run):
    (folder / "new.csv").write_text("user,film\nzoe,film 0\nzoe,film 1\nzoe,saga\nu5,saga\nu1,film 15\n")
    told = json.loads(run("update", "model.ep", "new.csv", "-o", "model.ep", "--json").stdout)
    assert (told["new_users"], told["new_items"], told["folded_in"]) == (1, 1, 2)
    model = everypair.load("model.ep")
    assert model.user_ids_.values[-1] == "zoe"
    assert model.item_ids_.values[-1] == "saga"
    assert model.interactions_.nnz == 274 + 5
    row = model.user_ids_.index(["u1", "u5", "zoe"])
    assert np.allclose(model.fold_in_users(model.interactions_[row]), model.user_factors_[row], atol=1e-4)
    assert "saga" not in run("recommend", "model.ep", "-u", "zoe").stdout
    (folder / "later.csv").write_text("user,film\nu2,film 15\nyan,film 3\n")
    told = json.loads(run("update", "model.ep", "later.csv", "-o", "model.ep", "--known", "ignore", "--json").stdout)
    assert (told["new_users"], told["folded_in"]) == (1, 0)


def test_update_with_features_of_new_items(folder, run):
    run(
        "fit",
        "events.csv",
        "-o",
        "model.ep",
        "--rank",
        3,
        "--item-features",
        "films.csv",
        "--item-kind",
        "kind=category",
    )
    (folder / "new.csv").write_text("user,film\n" + "".join(f"u{i},saga\n" for i in range(15)))
    (folder / "saga.csv").write_text("film,kind\nsaga,a\n")
    run("update", "model.ep", "new.csv", "-o", "model.ep", "--item-features", "saga.csv")
    told = json.loads(run("similar", "model.ep", "--item", "saga", "-n", 4, "--json").stdout)
    assert {int(item.split()[1]) for item in told["similar_items"]} <= set(range(8))


def test_update_of_item_item_is_what_users_have(folder, run):
    run("fit", "events.csv", "-o", "model.ep", "--model", "ItemItem")
    (folder / "new.csv").write_text("user,film\nu1,film 15\n")
    run("update", "model.ep", "new.csv", "-o", "model.ep")
    model = everypair.load("model.ep")
    assert np.array_equal(
        model.score_users(["u1"]), model.score_users(interactions=model.interactions_[model.user_ids_.index(["u1"])])
    )


def test_tune_writes_model_table_and_report(folder, run):
    shown = run(
        "tune",
        "events.csv",
        *FACTORS,
        "-o",
        "tuned.ep",
        "--rank",
        3,
        "--trials",
        2,
        "--trials-csv",
        "trials.csv",
        "--report",
        "report.html",
        "--space",
        "reg=0.01:1",
        "--json",
        "--quiet",
    )
    told = json.loads(shown.stdout)
    assert len(told["table"]) == len(lines("trials.csv")) == 3
    assert told["verdict"]
    assert everypair.load("tuned.ep").recommend(["u3"], n=1)[0].shape == (1, 1)
    assert "<svg" in (folder / "report.html").read_text()


@pytest.mark.parametrize("how", [("--split", "time"), ("--since", 1200), ("--split", "last"), ()])
def test_a_tuned_report_is_measured_on_what_tuning_never_saw(folder, run, monkeypatch, how):
    seen = {}

    def spy(name, module, function):
        def call(model, *data, **more):
            seen[name] = data
            return function(model, *data, **more)

        monkeypatch.setattr(module, name, call)

    import everypair.plots

    spy("tune", everypair, everypair.tune)
    spy("report", everypair.plots, everypair.plots.report)
    run("tune", "events.csv", "-o", "tuned.ep", "--rank", 3, "--trials", 1, "--report", "page.html", "-q", *how)
    (searched, _), (_, test, _) = seen["tune"], seen["report"]
    assert test.matrix.nnz
    assert not searched.matrix.multiply(test.matrix).nnz
    assert searched.matrix.nnz + test.matrix.nnz == everypair.load("tuned.ep").interactions_.nnz
    assert "held out before tuning" in (folder / "page.html").read_text()


def test_report_of_a_model_file_with_titles(folder, run):
    (folder / "items.csv").write_text("film,title\n" + "".join(f"film {j},The {j}\n" for j in range(21)))
    run("report", "model.ep", "test.csv", "-o", "page.html", "--items", "items.csv")
    page = (folder / "page.html").read_text()
    assert "Measured on 44 test pairs of 44 users: the events of test.csv." in page
    assert "The 12" in page
    assert "name the file of held-out events too" in run("report", "model.ep", "-o", "page.html", code=2).stderr


def test_report(folder, run):
    report = ("report", "events.csv", "test.csv", "--rank", 3, "-o", "page.html", "--title", "Three groups")
    assert run(*report, "--model", "OneClassMF", "--quiet").stderr == ""
    assert " sweeps" in run(*report, "--model", "OneClassMF").stderr
    page = (folder / "page.html").read_text()
    assert "verbose" not in page
    assert "Three groups" in page
    assert "film 3" in page


def test_a_two_tower_is_a_recommender_too(folder, run):
    pytest.importorskip("jax")
    few = ("--rank", "2", "--set", "max_iter=1", "--set", "widths=[4]")
    run("fit", "events.csv", "-o", "towers.ep", "--model", "TwoTower", *few)
    answer = json.loads(run("recommend", "towers.ep", "--user", "u1", "-n", 2, "--json").stdout)
    assert len(answer["items"]) == 2


def test_new_users_by_their_ratings(folder, run):
    """Low ratings say nothing: with a threshold the list is that of the one film that was liked."""
    (folder / "new.csv").write_text("user,film,rating\nxan,film 1,5\nxan,film 30,1\n")
    rated = run("recommend", "model.ep", "--new-users", "new.csv", "--min-rating", 4, "-n", 3, "--json")
    liked = run("recommend", "model.ep", "--likes", "film 1", "-n", 3, "--json")
    assert json.loads(rated.stdout)["items"] == json.loads(liked.stdout)["items"]
    assert json.loads(rated.stdout)["user"] == "xan"


def test_times_are_shown_as_days(folder, run):
    (folder / "dated.csv").write_text("user,film,when\nann,blue,2024-01-31\nbob,rain,2024-02-29T12:00:00\n")
    told = run("inspect", "dated.csv", "--time", "when").stdout
    assert "1706659200 (2024-01-31) 1709208000 (2024-02-29)" in told
