"""The experiments' scripts run: on small generated data, writing nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

MLRM = Path(__file__).parents[1] / "experiments" / "mlrm"


@pytest.mark.parametrize("script", ["beside", "figures", "multilabel", "scale", "table1"])
def test_it_runs(script):
    done = subprocess.run(
        [sys.executable, f"{script}.py", "--smoke"], cwd=MLRM, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "generated" in done.stdout
