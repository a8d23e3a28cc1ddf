"""The registry of the papers: complete, its page is what the results say, and its judges can say no."""

from __future__ import annotations

import copy
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ROOT / "experiments"
# every numbered table and figure of the papers; entries may hold several
PRINTED = {
    "negsel": {"table": range(1, 7), "figure": range(1, 4)},
    "ocsmf": {"table": range(1, 4), "figure": range(1, 4)},
    "leml": {"table": range(1, 16), "figure": range(1, 4)},
    "mlrm": {"table": range(1, 2), "figure": range(1, 4)},
    "esl": {"table": range(1, 4), "figure": range(1, 3)},
}
NUMBERED = re.compile(r"\.(table|figure)s?(\d+)(?:-(\d+)|(\d)?)")


@pytest.fixture(scope="module")
def house():
    sys.path.insert(0, str(EXPERIMENTS))
    import registry
    import reproduce
    from reproduction import canary, entry, ledger, page

    yield {"registry": registry, "reproduce": reproduce, "canary": canary, "entry": entry, "ledger": ledger,
           "page": page}  # fmt: skip
    sys.path.remove(str(EXPERIMENTS))
    for name in list(sys.modules):
        if name.partition(".")[0] in ("registry", "reproduce", "reproduction", "esl", "leml", "mlrm"):
            del sys.modules[name]


def numbers(entries, paper, kind):
    found = set()
    for entry in entries:
        match = NUMBERED.search(entry.id)
        if entry.paper != paper or match is None or match[1] != kind:
            continue
        first, last = match[2], match[3] or match[2]
        digits = [first] if int(first) <= 15 and match[3] is None else None
        found |= set(map(int, digits or range(int(first), int(last) + 1)))
        if match[3] is None and int(first) > 15:
            found |= set(map(int, first))  # figures23: two of them
    return found


def test_every_table_and_figure_has_an_entry(house):
    entries = house["registry"].ENTRIES
    for paper, kinds in PRINTED.items():
        for kind, wanted in kinds.items():
            assert set(wanted) <= numbers(entries, paper, kind), (paper, kind)
    for name in ("supp1", "supp2", "supp3", "supp_figure1", "supp_figures23", "supp_figure4"):
        assert f"ocsmf.{name}" in {entry.id for entry in entries}


def test_entries_are_whole(house):
    entries = house["registry"].ENTRIES
    assert len({entry.id for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.kind in house["entry"].KINDS
        assert entry.paper in house["registry"].PAPERS
        for path in entry.tests:
            assert (ROOT / path).exists(), entry.id
        for command in (*entry.quick, *entry.full):
            assert (EXPERIMENTS / shlex.split(command)[0]).exists(), entry.id
        for name in entry.results:  # a result is written by one of the entry's own commands
            assert not entry.full or any(name.split("/")[0] == command.split("/")[0] for command in entry.full)


def test_commands_are_understood_by_their_scripts(house):
    options = {}
    for command in {command for entry in house["registry"].ENTRIES for command in (*entry.quick, *entry.full)}:
        script, *arguments = shlex.split(command)
        text = options.setdefault(script, (EXPERIMENTS / script).read_text())
        common = (EXPERIMENTS / script).parent / "common.py"
        text += common.read_text() if common.exists() else ""
        for argument in arguments:
            if argument.startswith("--"):
                assert f'"{argument}"' in text, command


def test_the_page_is_what_the_results_say(house):
    registry, page = house["registry"], house["page"]
    assert (ROOT / "docs" / "reproduction.md").read_text() == page.written(registry.PAPERS, registry.ENTRIES)
    readme = (ROOT / "README.md").read_text()
    assert readme == page.in_readme(readme, page.summary(registry.PAPERS, registry.ENTRIES))


def test_a_judge_changes_its_mind_with_the_figures(house):
    entries = {entry.id: entry for entry in house["registry"].ENTRIES}

    def judged(name, change):
        records = copy.deepcopy(dict(entries[name].records()))
        change(records)
        return entries[name].judge(records).state

    def swap(records):
        for record in records.values():
            for row in record["rows"]:
                for split in row["splits"]:
                    split["ndcg@10"] = 50.0 if row["method"] == "Subsampled" else 1.0

    assert entries["negsel.table4"].verdict().state != "refuted"
    assert judged("negsel.table4", swap) == "refuted"

    def completed(**auc):  # a run of MLRM's Table 1 in which every rate has the same figures
        cells = {f"GPCRs {rate} {name}": {"runs": [{"auc": auc.get(name[:4], 0.5)}] * 2}
                 for rate in (0.1, 0.3, 0.5, 0.7, 0.9)
                 for name in ("FPCA", "SIMC", "FNNM", "IMC", "MLRM'", "MLRM transductive")}  # fmt: skip
        return {"mlrm/table1_printed": cells}

    for name in ("mlrm.table1", "mlrm.claim.best"):
        assert entries[name].judge(completed(MLRM=0.9)).state == "confirmed"
        assert entries[name].judge(completed(FNNM=0.9, FPCA=0.9, SIMC=0.9, IMC=0.9)).state == "refuted"


def test_a_difference_within_its_noise_is_none(house):
    entry = house["entry"]
    assert entry.beyond_noise([0.1, 0.11, 0.09])
    assert not entry.beyond_noise([0.1, -0.1, 0.2])
    mean, low, high = entry.paired([0, 1] * 100, [1, 0] * 100)
    assert low < mean == 0 < high
    low, high = entry.paired([1.0] * 9, [0.0] * 9)[1:]
    assert (low, high) == (1.0, 1.0)


def test_what_an_earlier_script_stored_is_untested(house, tmp_path):
    entry = next(one for one in house["registry"].ENTRIES if one.id == "mlrm.table1")
    path = house["entry"].result_path(entry.results[0], tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"GPCRs 0.1 FPCA": {}}))
    assert entry.verdict(tmp_path).state == "untested"
    assert "no 'GPCRs, MLRM transductive'" in entry.verdict(tmp_path).sentence


@pytest.mark.parametrize("paper", ["negsel", "ocsmf", "leml", "labels", "mlrm", "esl"])
def test_training_computes_what_it_did_when_results_were_made(house, paper):
    canary = house["canary"]
    now = canary.sung(paper)
    assert not canary.moved(now, canary.stored()[paper]), "python experiments/reproduce.py --canary says what to do"
    other = {name: [1.1 * one for one in scores] for name, scores in now.items()}
    assert canary.moved(other, now) == list(now)
    assert canary.moved(now, {}) == list(now)


def test_counts_and_errors_of_verdicts(house):
    entry = house["entry"]
    assert entry.verdict_of([True, True], "x").state == "confirmed"
    assert entry.verdict_of([True, False], "x") == entry.Verdict("partly", "1 of 2: x")
    assert entry.verdict_of([False], "x").state == "refuted"
    mean, error = entry.mean_and_error([1.0, 3.0])
    assert (mean, error) == (2.0, pytest.approx(1.0))
    with pytest.raises(ValueError, match="no verdict"):
        entry.Verdict("surely", "x")


def test_words_do_not_make_a_result_stale(house, tmp_path, monkeypatch):
    ledger = house["ledger"]
    assert ledger.essence("def f():\n    'a'\n    return 1") == ledger.essence("def f():\n    'b c'  # d\n    return 1")
    assert ledger.essence("import a\nx = 1\ndef report(): 0") == ledger.essence("x = 1")
    assert ledger.essence("x = 1") != ledger.essence("x = 2")
    entry = next(one for one in house["registry"].ENTRIES if one.id == "leml.theorem4")
    (command,) = entry.full
    assert ledger.made(entry, tmp_path) == "**stale or not run**: 1 of 1 commands"
    row = {"commit": "abc", "code": ledger.fingerprint(command), "seconds": 1, "day": "2026-01-31"}
    ledger.note(tmp_path, command, row)
    assert not ledger.stale(entry, tmp_path)
    assert ledger.made(entry, tmp_path) == "abc on 2026-01-31"
    ledger.note(tmp_path, command, {**row, "code": "older"})
    assert ledger.stale(entry, tmp_path)
    assert json.loads((tmp_path / ledger.LEDGER).read_text())[command]["code"] == "older"


def test_without_data_it_says_so_and_succeeds(tmp_path):
    done = subprocess.run(
        [sys.executable, "reproduce.py", "--quick", "--only", "negsel.table6", "leml.claims1-2"],
        cwd=EXPERIMENTS, capture_output=True, text=True, timeout=300, env={"PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "negsel.table6: no data (ml1m)" in done.stdout
    assert "leml.claims1-2: confirmed." in done.stdout


def test_an_unknown_entry_is_named():
    done = subprocess.run(
        [sys.executable, "reproduce.py", "--only", "negsel.table9"], cwd=EXPERIMENTS, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "There is no entry 'negsel.table9'" in done.stderr
