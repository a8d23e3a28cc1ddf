"""Answers of the service are those of the model: every model, every way to describe somebody, every filter."""

import numpy as np
import pytest

from everypair import OneClassMF
from everypair.data import Ids
from everypair.features import table_features
from everypair.serve.loading import load_variant, warm_up
from everypair.serve.questions import RankedItems, Recommend, Score, Similar

from .conftest import MODELS

CLOSE = 2e-6  # batches of another size round the last bits in another way


@pytest.fixture(scope="module")
def served(models):
    return {name: load_variant(model).answers for name, model in models.items()}


def one(answers, **question):
    (answer,) = answers.recommend([Recommend(**question)])
    assert isinstance(answer, RankedItems), str(answer)
    return answer


def same(answer, items, scores):
    there = ~np.isneginf(scores)
    assert [found.item for found in answer.items] == items[there].tolist()
    np.testing.assert_allclose([found.score for found in answer.items], scores[there], rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("name", MODELS)
def test_known_users(name, models, served):
    model = models[name]
    for user in list(model.user_ids_)[::7]:
        answer = one(served[name], user=user, n=6)
        same(answer, *(part[0] for part in model.recommend([user], n=6)))
        assert answer.how == "known"


@pytest.mark.parametrize("name", MODELS)
def test_what_somebody_has(name, models, served):
    model, answers = models[name], served[name]
    items = ["film 3", "film 10", "film 4"]
    answer = one(answers, items=[*items, "no such film"], n=7)
    same(answer, *(part[0] for part in model.recommend(interactions=[items], n=7)))
    assert answer.how == "folded_in"
    assert answer.ignored == ["no such film"]
    weighed = {"film 3": 2.5, "film 9": 0.5}
    same(one(answers, items=weighed), *(part[0] for part in model.recommend(interactions=[weighed])))


@pytest.mark.parametrize("name", MODELS)
def test_a_user_with_the_items_of_a_session(name, models, served):
    model = models[name]
    user = model.user_ids_[5]
    row = model.interactions_[[5]]
    has = {model.item_ids_[int(place)]: float(weight) for place, weight in zip(row.indices, row.data)}
    new = next(item for item in model.item_ids_ if item not in has)
    answer = one(served[name], user=user, items=[new])
    same(answer, *(part[0] for part in model.recommend(interactions=[{**has, new: 1.0}])))
    assert answer.how == "known+items"


@pytest.mark.parametrize("name", MODELS)
def test_filters(name, models, served):
    model, answers = models[name], served[name]
    user, films = model.user_ids_[3], list(model.item_ids_)
    allow, block = films[::2], films[4:9]
    same(
        one(answers, user=user, allow=[*allow, "no such film"], exclude=[*block, "nor this"], n=20),
        *(part[0] for part in model.recommend([user], allow=allow, block=block, n=20)),
    )
    same(
        one(answers, user=user, exclude_seen=False, n=100),
        *(part[0] for part in model.recommend([user], exclude_seen=False, n=100)),
    )
    assert one(answers, user=user, allow=[]).items == []


@pytest.mark.parametrize("name", MODELS)
def test_pages_of_one_ranking(name, models, served):
    answers, user = served[name], models[name].user_ids_[0]
    whole = [found.item for found in one(answers, user=user, n=12).items]
    pages = [found.item for start in (0, 5, 10) for found in one(answers, user=user, n=5, offset=start).items]
    assert pages[: len(whole)] == whole
    assert one(answers, user=user, offset=3000).items == []


@pytest.mark.parametrize("name", MODELS)
def test_questions_together_are_answered_as_alone(name, models, served):
    answers, users = served[name], list(models[name].user_ids_)
    questions = [Recommend(user=user, n=1 + place % 9, exclude=["film 1"]) for place, user in enumerate(users)]
    questions += [Recommend(items=[f"film {place}", f"film {place + 3}"]) for place in range(12)]
    questions += [Recommend(user="nobody"), Recommend(user="nobody", fallback="popular"), Recommend()]
    questions += [Recommend(user=users[0], allow=["film 2"]), Recommend(items={"film 1": 0.0})]
    together = answers.recommend(questions)
    for question, answer in zip(questions, together):
        (alone,) = answers.recommend([question])
        assert type(alone) is type(answer)
        if isinstance(alone, RankedItems):
            same(answer, np.array([found.item for found in alone.items]), np.array([f.score for f in alone.items]))
        else:
            assert alone.body == answer.body


def test_popular_items_for_who_is_not_known(models, served):
    answer = one(served["Blend"], user="nobody", fallback="popular", n=5, exclude=["film 0"])
    floor = models["Popularity"].recommend(interactions=[["film 0"]], n=5)
    assert answer.how == "popular"
    same(answer, *(part[0] for part in floor))


@pytest.mark.parametrize("name", [name for name in MODELS if name != "Popularity"])
def test_neighbours(name, models, served):
    model = models[name]
    (answer,) = served[name].similar([Similar(item="film 4", n=6, exclude=["film 5"])])
    items, cosines = model.similar_items(["film 4"], n=7)
    kept = items[0] != "film 5"
    same(answer, items[0][kept][:6], cosines[0][kept][:6])


@pytest.mark.parametrize("name", MODELS)
def test_scores_of_candidates(name, models, served):
    model, answers = models[name], served[name]
    user, films = model.user_ids_[2], ["film 7", "no such film", "film 1"]
    (answer,) = answers.score([Score(user=user, candidates=films)])
    expected = model.score_pairs([user, user], ["film 7", "film 1"])
    assert answer.scores[1] is None
    np.testing.assert_allclose([answer.scores[0], answer.scores[2]], expected, rtol=CLOSE, atol=CLOSE)
    (answer,) = answers.score([Score(items=["film 2"], candidates=films)])
    expected = model.score_users(interactions=[["film 2"]])[0]
    place = model.item_ids_.index(["film 7", "film 1"])
    np.testing.assert_allclose([answer.scores[0], answer.scores[2]], expected[place], rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("name", ["OneClassMF", "logistic", "ItemItem", "Blend"])
def test_reasons(name, models, served):
    model = models[name]
    user = model.user_ids_[1]
    for found in one(served[name], user=user, n=3, explain=True).items:
        why = model.explain(user, found.item, n=3)
        assert [reason.item for reason in found.reasons] == why.items.tolist()
        np.testing.assert_allclose([reason.contribution for reason in found.reasons], why.contributions, rtol=1e-6)
    items = [str(film) for film in model.item_ids_.names(model.interactions_[[1]].indices)]
    weights = model.interactions_[[1]].data.tolist()
    as_new = one(served[name], items=dict(zip(items, weights)), n=2, explain=True)
    assert all({reason.item for reason in found.reasons} <= set(items) for found in as_new.items)


def test_features_of_somebody_new():
    rng = np.random.default_rng(0)
    users = [f"u{i}" for i in range(40)]
    import pandas as pd

    table = pd.DataFrame({"user": users, "age": rng.integers(20, 60, 40), "town": rng.choice(["Rome", "Oslo"], 40)})
    events = [(user, f"i{rng.integers(12)}") for user in users for _ in range(4)]
    model = OneClassMF(rank=3, random_state=0).fit(events, user_features=table_features(table, Ids(users)))
    variant = load_variant(model)
    assert "features" in variant.card["offers"]
    new = {"age": 33, "town": "Oslo"}
    frame = pd.DataFrame([new])
    same(one(variant.answers, features=new), *(part[0] for part in model.recommend(features=frame)))
    both = model.recommend(features=frame, interactions=[["i3"]])
    same(one(variant.answers, features=new, items=["i3"]), *(part[0] for part in both))
    (answer,) = variant.answers.recommend([Recommend(features={"age": 33})])
    assert answer.status == 422
    assert "town" in str(answer)


def test_positions_and_integers():
    matrix = np.eye(6) + np.eye(6, k=1)
    model = OneClassMF(rank=2, random_state=0).fit(matrix)
    answers = load_variant(model).answers
    items, scores = model.recommend([2], n=3)
    for user in (2, "2"):
        same(one(answers, user=user, n=3), items[0], scores[0])
    rows, columns = np.nonzero(matrix)
    model = OneClassMF(rank=2, random_state=0).fit({"user": rows + 100, "item": columns * 7})
    answers = load_variant(model).answers
    assert [found.item for found in one(answers, user="102").items] == model.recommend([102])[0][0].tolist()[:4]
    for user in (99, "0102", "x", "1e2", -1, "9" * 30):
        (answer,) = answers.recommend([Recommend(user=user)])
        assert (answer.status, answer.body.error.code) == (404, "unknown_user")


@pytest.mark.parametrize("name", MODELS)
def test_warming_changes_nothing(name, models, served):
    before = one(served[name], user="u1")
    warm_up(served[name])
    assert one(served[name], user="u1") == before


def test_a_file_is_named_by_what_is_in_it(tmp_path, models):
    path = tmp_path / "night.ep"
    models["OneClassMF"].save(path)
    first = load_variant(path)
    models["OneClassMF"].save(path)
    assert load_variant(path).card["version"] == first.card["version"]
    models["logistic"].save(path)
    assert load_variant(path).card["version"] != first.card["version"]
    assert (first.name, first.card["class"], len(first.card["version"])) == ("night", "OneClassMF", 12)
