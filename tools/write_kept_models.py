"""Write small models and what they answer to tests/models/kept: every later version has to read them.

    python tools/write_kept_models.py

Run it once for a new version of the format, whose number is part of the files' names; files of earlier versions stay as
they are, since they stand for what people have on their disks.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from everypair import Blend, ItemItem, MultiLabelMF, OneClassMF
from everypair.store.layout import VERSION

FOLDER = Path(__file__).parents[1] / "tests" / "models" / "kept"


def models() -> dict[str, Any]:
    """One model of each kind, a few kilobytes."""
    random = np.random.default_rng(0)
    events = np.kron(np.eye(2), np.ones((5, 4))) * random.uniform(0.5, 2, (10, 8)).round(2)
    events[0, 0] = 0
    X = random.random((20, 3)).round(2)
    Y = (X > 0.5).astype(int)
    few: dict[str, Any] = {"rank": 2, "max_iter": 5, "random_state": 0, "n_threads": 1}
    factors = OneClassMF(**few, biases=True).fit(events, user_features=np.repeat(np.eye(2), 5, axis=0))
    blend = Blend(models=[OneClassMF(**few), ItemItem(neighbors=3, n_threads=1)], random_state=0, n_threads=1)
    return {
        "one_class": factors,
        "blend": blend.fit((events > 0).astype(float)),
        "multi_label": MultiLabelMF(**few, reg=0.1, threshold=0.0).fit(X, Y),
    }


def answers(model: Any) -> dict[str, list[Any]]:
    """What a kept model is asked."""
    if hasattr(model, "predict_topk"):
        labels, scores = model.predict_topk(np.eye(3), 2)
        return {"best": labels.tolist(), "scores": scores.tolist(), "predicted": model.predict(np.eye(3)).tolist()}
    items, scores = model.recommend([0, 7], n=3)
    new, new_scores = model.recommend(interactions=np.eye(1, 8), n=2)
    return {
        "best": items.tolist(), "scores": scores.tolist(), "new": new.tolist(), "new_scores": new_scores.tolist(),
    }  # fmt: skip


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(exist_ok=True)
    said = {}
    for name, model in models().items():
        model.save(FOLDER / f"{name}.v{VERSION}.ep")
        said[name] = answers(model)
    (FOLDER / f"answers.v{VERSION}.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
