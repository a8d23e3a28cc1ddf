"""A generated shop: products with titles and prices, customers with tastes, what they bought. None of it is real.

A purchase is drawn as department ~ taste(customer), kind ~ popularity · favourites(customer), make ~ style(customer):

    p(product | customer) = Σ_department taste · favourites(kind) · style(make),  repeated where it is used up

Departments are related in three circles and makes have a style in every department, so that what somebody buys in one
tells something of the others. A tenth of the products come during the year, and a few were never sold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair import check

KINDS = {  # department: (used up, kinds with their sizes, price of the smallest)
    "coffee": (True, ("espresso beans", "filter coffee", "green tea", "rooibos", "cocoa", "oat drink"), 5.9),
    "baking": (True, ("rye flour", "spelt flour", "dry yeast", "cane sugar", "walnuts", "vanilla pods"), 2.9),
    "kitchen": (False, ("bread knife", "cast-iron pan", "moka pot", "mixing bowl", "kitchen scale", "tea towel"), 14.0),
    "cookbooks": (False, ("sourdough", "one-pot suppers", "street food", "preserving", "pastry", "vegetables"), 19.0),
    "garden": (True, ("tomato seeds", "bean seeds", "compost", "plant pots", "garden twine", "bird food"), 3.5),
    "tools": (False, ("hand saw", "cordless drill", "pruning shears", "spade", "work gloves", "spirit level"), 16.0),
    "camping": (False, ("tent", "sleeping bag", "gas stove", "head torch", "water filter", "dry bag"), 25.0),
    "cycling": (False, ("inner tube", "bicycle pump", "rear light", "pannier", "chain oil", "rain cape"), 9.0),
    "wool": (True, ("sock yarn", "merino yarn", "cotton yarn", "knitting needles", "crochet hooks", "buttons"), 4.5),
    "paper": (True, ("notebook", "fountain pen", "ink", "envelopes", "sketch pad", "watercolours"), 4.0),
    "games": (False, ("dice game", "card game", "jigsaw", "strategy game", "word game", "party game"), 15.0),
    "bath": (True, ("olive soap", "shampoo bar", "bath salt", "hand cream", "razor blades", "sponge"), 3.9),
}
CIRCLES = (
    ("coffee", "baking", "kitchen", "cookbooks"),
    ("garden", "tools", "camping", "cycling"),
    ("wool", "paper", "games", "bath"),
)
MAKES = ("Alder", "Birch", "Cedar", "Dogwood", "Elm")  # one for every style, from plain to precious
SIZES = ("small", "large")
NAMES = (
    "ada",
    "ben",
    "cleo",
    "dina",
    "emil",
    "fay",
    "gus",
    "hana",
    "ida",
    "jon",
    "kim",
    "leo",
    "mia",
    "nils",
    "olga",
    "pia",
)
DAYS = 300
FIRST_DAY = np.datetime64("2026-01-01")
NEW_SHARE, UNSOLD = 0.1, 6  # products that come during the year; those that nobody has bought yet


class Shop(NamedTuple):
    """Two Arrow tables: ``events`` with customer, item and time, ``items`` with item, title, category, price, since."""

    events: Any
    items: Any


def generate_shop(n_customers: int = 2000, random_state: int = 0) -> Shop:
    """Generate a shop's log and its table of items; the same seed gives the same shop.

    >>> shop = generate_shop(50)
    >>> shop.items.slice(0, 2).to_pylist()[0]["title"]
    'Alder espresso beans, small'
    >>> shop.events.column_names, shop.events.num_rows > 500
    (['customer', 'item', 'time'], True)
    """
    import pyarrow

    count = check.integer("n_customers", n_customers)
    random = np.random.default_rng(check.integer("random_state", random_state, 0))
    products = _products(random)
    who, what, when = _purchases(count, products, random)
    customers = [f"{NAMES[number % len(NAMES)]}-{number:04}" for number in range(count)]
    items = pyarrow.table({name: products[name] for name in ("item", "title", "category", "price", "since")})
    events = pyarrow.table(
        {
            "customer": pyarrow.array(customers).take(pyarrow.array(who)),
            "item": pyarrow.array(products["item"]).take(pyarrow.array(what)),
            "time": pyarrow.array(FIRST_DAY.astype("datetime64[s]") + when.astype("timedelta64[s]")),
        }
    )
    return Shop(events, items)


def _products(random: np.random.Generator) -> dict[str, Any]:
    """A product for every department, kind, make and size: columns of the table, and what draws need of them."""
    rows = [
        (department, kind, make, size)
        for department in range(len(KINDS))
        for kind in range(6)
        for make in range(len(MAKES))
        for size in range(len(SIZES))
    ]
    departments, kinds, makes, sizes = np.array(rows).T
    names = list(KINDS)
    title = [
        f"{MAKES[make]} {KINDS[names[department]][1][kind]}, {SIZES[size]}" for department, kind, make, size in rows
    ]
    base = np.array([KINDS[names[department]][2] for department in departments])
    price = base * (1 + 0.3 * kinds) * (1 + 0.35 * makes) * (1 + 0.8 * sizes)
    count = np.zeros(len(names), int)
    item = []
    for department in departments:
        count[department] += 1
        item.append(f"{names[department]}-{count[department]:02}")
    since = np.where(random.random(len(rows)) < NEW_SHARE, random.integers(DAYS // 2, DAYS - 20, len(rows)), 0)
    since[random.choice(len(rows), UNSOLD, replace=False)] = DAYS
    demand = 1 / (1 + random.permutation(len(rows)) % 60) ** 0.7
    return {
        "item": item, "title": title, "category": [names[one] for one in departments], "price": price.round(2),
        "since": (FIRST_DAY + since).astype("datetime64[D]"), "department": departments, "kind": kinds, "make": makes,
        "day": since, "demand": demand, "lasting": np.array([not KINDS[names[one]][0] for one in departments]),
    }  # fmt: skip


def _purchases(
    n_customers: int, products: dict[str, Any], random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Who bought which product in which second of the year, in the order of time."""
    names = list(KINDS)
    circle = np.array([next(number for number, one in enumerate(CIRCLES) if name in one) for name in names])
    who, what, when = [], [], []
    for customer in range(n_customers):
        home = random.integers(len(CIRCLES))
        taste = random.gamma(0.5, size=len(names)) * np.where(circle == home, 1.0, 0.08)
        favourites = random.gamma(0.4, size=(len(names), 6)) + 0.02
        style = np.exp(-1.5 * (np.arange(len(MAKES)) - random.integers(len(MAKES))) ** 2) + 0.02
        liking = products["demand"] * taste[products["department"]] * style[products["make"]]
        liking *= favourites[products["department"], products["kind"]]
        owned: list[int] = []
        for day in np.sort(random.integers(0, DAYS, 2 + random.poisson(random.gamma(2.0, 3.0)))):
            there = liking * (products["day"] <= day)
            there[[one for one in owned if products["lasting"][one]]] *= 0.02  # nobody needs two bread knives
            there[[one for one in owned if not products["lasting"][one]]] *= 5  # and everybody more flour
            size = min(1 + int(random.poisson(1.5)), int(np.count_nonzero(there)))
            basket = random.choice(len(there), size, replace=False, p=there / there.sum())
            second = int(day) * 86_400 + int(random.normal(14, 3) % 24 * 3600)
            owned += basket.tolist()
            who += [customer] * len(basket)
            what += basket.tolist()
            when += [second] * len(basket)
    order = np.argsort(when, kind="stable")
    return np.array(who)[order], np.array(what)[order], np.array(when)[order]
