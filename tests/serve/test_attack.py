"""A slice of tools/attack_service.py: random requests of every kind, none of which the service minds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ATTACK = Path(__file__).parents[2] / "tools" / "attack_service.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system knows no fork")
def test_random_requests(tmp_path):
    call = [sys.executable, ATTACK, "--requests", "1200", "--output", tmp_path / "attack.json"]
    environment = {**os.environ, "PYTHONPATH": str(ATTACK.parents[1] / "src")}
    done = subprocess.run(call, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "attack.json").read_text())
    for kind in ("recommender", "labels"):
        assert found[kind]["wrong"] == []
        assert found[kind]["restarts"] == found[kind]["faults"] == 0
        assert all(found[kind]["statuses"].get(status) for status in ("200", "400", "403", "404", "405", "415", "422"))
