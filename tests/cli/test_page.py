"""The page on the command line: every command runs, and prints what the page says it prints."""

import re
import shlex
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
EXIT_CODE = re.compile(r"  # exit code (\d)$")


def test_commands_of_the_page(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    tables = re.findall(r"^```csv\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for name, table in zip(("today.csv", "items.csv"), tables, strict=True):
        (tmp_path / name).write_text(table)
    blocks = BLOCK.findall(PAGE)
    assert len(blocks) >= 6
    for commands, output in blocks:
        printed = ""
        for line in commands.splitlines():
            program, *arguments = shlex.split(line, comments=True)
            assert program == "everypair"
            code = EXIT_CODE.search(line)
            result = run(*arguments, code=int(code[1]) if code else 0)
            printed += result.stderr if code else result.stdout
        assert numbers(printed) == pytest.approx(numbers(output), rel=0.02, abs=0.02)
        assert words(printed) == words(output)
    assert (tmp_path / "recommendations.parquet").exists()


def numbers(text):
    return [float(one.replace(",", "")) for one in re.findall(r"(?<![\w.-])[-+]?[\d,]*\d\.?\d*(?![\w-])", text)]


def words(text):
    return re.sub(r"(?<![\w.-])[-+]?[\d,]*\d\.?\d*(?![\w-])", "#", text).split()


def test_every_command_is_on_the_page():
    from everypair.cli import COMMANDS

    assert all(f"`{name}`" in PAGE for name in COMMANDS)
