"""``everypair models``: the recommenders that there are."""

from __future__ import annotations

from dataclasses import fields

from everypair.cli.options import Run, command
from everypair.cli.say import show, table


@command
def models_(run: Run) -> None:
    """List the models that --model takes, and their parameters with --json."""
    from everypair.models.registry import ESTIMATORS, RECOMMENDERS, estimator_class

    if run.json_output:
        for name in RECOMMENDERS:
            try:
                defaults = {one.name: one.default for one in fields(estimator_class(name))}
            except ImportError:  # its extra is not installed
                defaults = None
            show({"model": name, "about": ESTIMATORS[name].line, "parameters": defaults})
    else:
        table(["model", "what it is"], [[name, ESTIMATORS[name].line] for name in RECOMMENDERS])
