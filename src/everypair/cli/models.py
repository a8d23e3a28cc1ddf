"""``everypair models``: the recommenders that there are."""

from __future__ import annotations

import inspect

from everypair.cli.choice import RECOMMENDERS
from everypair.cli.options import Run, command
from everypair.cli.say import show, table

LINES = {
    "OneClassMF": "factors over every pair, observed or not: the one to start with",
    "Blend": "OneClassMF and ItemItem together: the best lists, for more time",
    "ItemItem": "every item from the others a user has; new users need no fitting",
    "BPR": "factors from pairs of items, ranked by stochastic gradients",
    "SubsampledMF": "factors from a sample of the pairs that were not observed",
    "EnsembleMF": "the mean of several SubsampledMF",
    "Popularity": "the most frequent items: the floor that every model has to beat",
    "TwoTower": "networks over features, for combinations that matter (extra neural)",
}


@command
def models_(run: Run) -> None:
    """List the models that --model takes, and their parameters with --json."""
    if run.json_output:
        from everypair.models.files import model_class

        for name in RECOMMENDERS:
            try:
                defaults = {one.name: one.default for one in inspect.signature(model_class(name)).parameters.values()}
            except ImportError:  # its extra is not installed
                defaults = None
            show({"model": name, "about": LINES[name], "parameters": defaults})
    else:
        table(["model", "what it is"], [[name, LINES[name]] for name in RECOMMENDERS])
