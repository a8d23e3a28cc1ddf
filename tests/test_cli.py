"""The command line, as a person would call it."""

from typer.testing import CliRunner

import everypair
from everypair.cli import app


def test_demo_trains_and_shows_answers_by_name():
    result = CliRunner().invoke(app, ["demo", "--rank", "4"])
    assert result.exit_code == 0, result.output
    for word in ("Popularity", "OneClassMF", "ndcg@10", "gimp", "sweeps"):
        assert word in result.output


def test_version_and_help():
    assert everypair.__version__ in CliRunner().invoke(app, ["--version"]).output
    assert "demo" in CliRunner().invoke(app, ["--help"]).output


def test_a_bad_option_is_refused():
    result = CliRunner().invoke(app, ["demo", "--rank", "0"])
    assert result.exit_code == 2
    assert "rank" in result.output
