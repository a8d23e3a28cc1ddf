"""The same questions answered by implicit: inside the same app, and as people write it by hand with FastAPI.

And the floor: uvicorn with an app that reads a request and always gives the same answer, a list of ten items. Each is a
process of its own: ``python -c "import serve_peers; serve_peers.main()" same|fastapi|floor FILE PORT``.
"""

import json
import socket
import sys
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp


def write(path: Any, user_factors: Any, item_factors: Any, interactions: Any) -> None:
    """What a peer needs to know, in a file."""
    parts = sp.csr_array(interactions)
    np.savez(path, user_factors, item_factors, parts.data, parts.indices, parts.indptr)


def read(path: str) -> tuple[Any, Any]:
    """implicit's model with these factors, and what every user has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from implicit.cpu.als import AlternatingLeastSquares

    loaded = np.load(path)
    users, items, *parts = (loaded[name] for name in loaded.files)
    model = AlternatingLeastSquares(factors=users.shape[1], num_threads=1)
    model.user_factors, model.item_factors = users, items
    return model, sp.csr_matrix(tuple(parts), shape=(len(users), len(items)))


def positions(names: list[str]) -> dict[str, int]:
    """Ids and their positions, as a program by hand keeps them."""
    return {name: place for place, name in enumerate(names)}


class ImplicitAnswers:
    """Answers of implicit in the place of ours: in batches too, which it can."""

    def __init__(self, path: str) -> None:
        self.model, self.seen = read(path)
        users, items = self.seen.shape
        self.users, self.items = positions([f"u{row}" for row in range(users)]), [f"i{row}" for row in range(items)]
        self.places = positions(self.items)

    def recommend(self, questions: Any) -> list[Any]:
        """Lists, of known users together and of new ones together."""
        answers: list[Any] = [None] * len(questions)
        for new in (False, True):
            group = [place for place, one in enumerate(questions) if (one.user is None) == new]
            if not group:
                continue
            if new:
                rows = [[self.places[item] for item in questions[place].items] for place in group]
                ends = np.cumsum([0, *map(len, rows)])
                flat = np.concatenate(rows)
                shape = len(group), len(self.items)
                seen = sp.csr_matrix((np.ones(len(flat), np.float32), flat, ends), shape=shape)
                names = np.arange(len(group))
            else:
                names = np.array([self.users[questions[place].user] for place in group])
                seen = self.seen[names]
            found = self.model.recommend(names, seen, N=questions[group[0]].n, recalculate_user=new)
            for place, items, scores in zip(group, *found):
                answers[place] = self._list(items, scores)
        return answers

    def similar(self, questions: Any) -> list[Any]:
        """Neighbours of items, together."""
        names = np.array([self.places[one.item] for one in questions])
        found = self.model.similar_items(names, N=questions[0].n + 1)
        return [self._list(items[1:], scores[1:]) for items, scores in zip(*found)]

    def _list(self, items: Any, scores: Any) -> Any:
        from everypair.serve.questions import Found, RankedItems

        found = [Found(self.items[item], score) for item, score in zip(items.tolist(), scores.tolist())]
        return RankedItems(found, "known", "0", "implicit")


def same(path: str, port: int) -> None:
    """Our app, connections and batches around implicit."""
    from everypair.serve.service import _METHODS, Service, Variant
    from everypair.serve.worker import Worker

    answers: Any = ImplicitAnswers(path)
    for kind, method in list(_METHODS.items()):
        _METHODS[kind] = getattr(ImplicitAnswers, method.__name__, None)
    card = {"name": "implicit", "version": "0", "class": "implicit", "loaded": 0.0}
    sock = socket.create_server(("127.0.0.1", port), backlog=1024)
    sock.setblocking(False)
    Worker(Service([Variant("implicit", 1.0, answers, card)]), sock).run()


def fastapi(path: str, port: int) -> None:
    """As it is written by hand: pydantic, a function per path in the pool of threads, one call per request."""
    import uvicorn
    from fastapi import FastAPI, HTTPException
    from pydantic import BaseModel

    model, seen = read(path)
    users = positions([f"u{row}" for row in range(seen.shape[0])])
    names = [f"i{row}" for row in range(seen.shape[1])]
    places = positions(names)
    application = FastAPI()

    class Recommend(BaseModel):
        user: str | None = None
        items: list[str] | None = None
        n: int = 10

    class Similar(BaseModel):
        item: str
        n: int = 10

    class Found(BaseModel):
        item: str
        score: float

    class Answer(BaseModel):
        items: list[Found]

    def answer(items: Any, scores: Any) -> Answer:
        pairs = zip(items.tolist(), scores.tolist())
        return Answer(items=[Found(item=names[item], score=score) for item, score in pairs])

    @application.post("/v1/recommend")
    def recommend(asked: Recommend) -> Answer:
        if asked.items is not None:
            own = [places[item] for item in asked.items if item in places]
            row = sp.csr_matrix((np.ones(len(own), np.float32), own, [0, len(own)]), shape=(1, len(names)))
            return answer(*model.recommend(0, row, N=asked.n, recalculate_user=True))
        if asked.user not in users:
            raise HTTPException(404, "unknown user")
        user = users[asked.user]
        return answer(*model.recommend(user, seen[user], N=asked.n))

    @application.post("/v1/similar")
    def similar(asked: Similar) -> Answer:
        items, scores = model.similar_items(places[asked.item], N=asked.n + 1)
        return answer(items[1:], scores[1:])

    @application.get("/ready")
    def ready() -> str:
        return "ready"

    uvicorn.run(application, host="127.0.0.1", port=port, log_level="warning", access_log=False)


def floor(path: str, port: int) -> None:
    """No model, no routing, no JSON: what uvicorn itself takes."""
    import uvicorn

    items = [{"item": f"i{place}", "score": 1.2345678 / (place + 1)} for place in range(10)]
    body = json.dumps({"items": items, "how": "known", "model": "0", "variant": "floor"}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]

    async def application(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    uvicorn.run(application, host="127.0.0.1", port=port, log_level="warning", access_log=False, lifespan="off")


def main() -> None:
    kind, path, port = sys.argv[1:]
    {"same": same, "fastapi": fastapi, "floor": floor}[kind](path, int(port))
