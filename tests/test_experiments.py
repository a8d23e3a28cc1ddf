"""The experiments' scripts run: on small generated data, writing nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "experiments" / "mlrm").glob("*.py"))
RUN = [script for script in SCRIPTS if "--smoke" in script.read_text() or "arguments(" in script.read_text()]


@pytest.mark.parametrize("script", [s for s in RUN if s.stem != "common"], ids=lambda script: script.stem)
def test_it_runs(script):
    done = subprocess.run(
        [sys.executable, script.name, "--smoke"], cwd=script.parent, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "generated" in done.stdout
