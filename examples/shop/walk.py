# The walk of docs/tutorials/shop-log.md: run it in a folder of its own, then walk.sh in the same one.
# ruff: noqa
# fmt: off

import csv
import random
from datetime import date, timedelta

draw = random.Random(0)
departments = ["bread", "cheese", "garden", "kitchen", "paper", "wool"]
products = {d: [f"{d} {number}" for number in range(1, 21)] for d in departments}
demand = [1 / (1 + place) ** 0.5 for place in range(20)]
lines = []
for number in range(400):
    for department in draw.sample(departments, 2):
        count = draw.randint(2, 9)
        for product in draw.choices(products[department], demand, k=count):
            day = date(2026, 1, 1) + timedelta(days=draw.randrange(90))
            customer = f"c{number:03}" if draw.random() > 0.002 else ""
            lines.append([customer, product, day])


def write(name, head, rows):
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


head, last = ["customer_id", "product", "date"], date(2026, 3, 31)
write("log.csv", head, [line for line in lines if line[2] < last])
today = [line for line in lines if line[2] == last and line[0]]
today += [["anna", "wool 1", last], ["anna", "wool 4", last], ["c007", "wool 21", last]]
write("today.csv", head, today)
catalogue = [
    [f"{d} {number}", f"{d.title()} no. {number}", d, draw.randint(2, 60)]
    for d in departments
    for number in range(1, 22)
]
write("items.csv", ["product", "title", "department", "price"], catalogue)

from everypair import read_events

try:
    events = read_events("log.csv", verbose=False)
except ValueError as error:
    print(error)

reading = {"missing": "drop", "duplicates": "count", "verbose": False}
events = read_events("log.csv", **reading)
print(events.matrix.shape, events.matrix.nnz, events.duplicates, events.dropped)
print(events.columns)

from everypair import Blend, OneClassMF, Popularity, ranking_metrics
from everypair.data import split_time

train, test = split_time(events, test_share=0.2)
models = {
    "Popularity": Popularity(),
    "OneClassMF": OneClassMF(rank=16, random_state=0),
    "Blend": Blend(random_state=0),
}
quality = {}
for name, model in models.items():
    quality[name] = ranking_metrics(model.fit(train), train, test, ks=(10,))
    error = quality[name].standard_errors["ndcg@10"]
    print(f"{name:10} {quality[name]['ndcg@10']:.3f} ± {error:.3f}")
print(
    quality["Blend"].repeats, "test pairs are of customers who have the product already"
)

from everypair import tune

result = tune(
    OneClassMF(rank=16, random_state=0),
    train,
    trials=8,
    held_out="time",
    random_state=0,
)
print(result.verdict)
quality["tuned"] = ranking_metrics(result.model, train, test, ks=(10,))
print(f"on the test days {quality['tuned']['ndcg@10']:.3f}")

model = OneClassMF(rank=16, random_state=0).fit(events).describe_items("items.csv")
model.record(quality["OneClassMF"], held_out="the latest 20 % of all events").save(
    "shop.ep"
)
lists = model.recommend(n=5, at_most={"department": 2}, output="pandas")
lists.to_csv("lists.csv", index=False)
print(len(lists), *lists.columns)
print(lists.head(3).to_string(index=False))

import warnings

import everypair

shop = everypair.load("shop.ep")
since = read_events("today.csv", **reading)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for repeats in ("drop", "count"):
        found = ranking_metrics(
            shop, shop.interactions_, since, ks=(10,), repeats=repeats
        )
        print(f"{repeats}: recall {found['recall@10']:.2f}, {found.repeats} left out")

print(shop.update("today.csv"))
try:
    shop.update("today.csv")
except ValueError as error:
    print(error)
shop.describe_items("items.csv").save("shop.ep")
print(
    *shop.recommend("anna", n=3, where={"department": "wool", "price": ("<", 50)})[0][0]
)
print(*shop.recommend("anna", n=3, more=[["bread 1", "bread 2"]], diversity=0.3)[0][0])

write("all.csv", head, lines + today[-3:])
tonight = read_events("all.csv", **reading)
options = {"rank": 16, "random_state": 0}
cold, warm = (OneClassMF(**options).fit(tonight, start=start) for start in (None, shop))
print(len(warm.history_) < len(cold.history_), "products:", len(warm.item_ids_))
warm.describe_items("items.csv").save("shop.ep")

best = shop.recommend(["c007"], n=1)[0][0, 0]
why = shop.explain("c007", best)
print(f"{best}: {why.score:.2f}, of which")
for item, share in list(zip(why.items, why.contributions))[:3]:
    print(f"{share:+.2f} for {item}")
assert abs(why.base + why.contributions.sum() - why.score) < 1e-4
