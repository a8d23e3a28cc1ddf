"""The command itself: help, version, exit codes, and how little it needs to start."""

import json
import os
import subprocess
import sys

import pytest

import everypair
from everypair.cli import COMMANDS

FACTORS = ("--model", "OneClassMF", "--rank", "3")


def process(*arguments, **more):
    command = [sys.executable, "-m", "everypair", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def test_version_and_help(run):
    assert run("--version").stdout == f"everypair {everypair.__version__}\n"
    listed = run("--help").stdout
    assert all(name in listed for name in COMMANDS)


def test_no_argument_shows_the_help_page(run):
    shown = run(code=2)
    assert "recommend" in shown.output
    assert "everypair: " not in shown.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(run, name):
    from typer.main import get_command

    from everypair.cli import app

    assert "--help" in run(name, "--help").stdout
    for parameter in get_command(app).commands[name].params:
        assert parameter.name == "help" or parameter.help, f"{name}: {parameter.name}"


def test_help_imports_nothing_slow():
    code = (
        "import sys\nfrom everypair.cli import app\n"
        "try:\n    app(['fit', '--help'])\nexcept SystemExit: pass\n"
        "print('SLOW', *({'numba', 'scipy', 'sklearn', 'numpy', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.splitlines()[-1].strip() == "SLOW"


def test_help_starts_in_half_the_time_of_numba_and_sklearn():
    timed = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
    help_page = "from everypair.cli import app; app(['--help'], standalone_mode=False)"
    mine, needed = (
        float(
            subprocess.run(
                [sys.executable, "-c", timed.format(what)], capture_output=True, text=True, check=True
            ).stdout.split()[-1]
        )
        for what in (help_page, "import numba, sklearn.base")
    )
    assert mine <= needed / 2


def test_demo_trains_and_shows_answers_by_name(run):
    shown = run("demo", "--rank", "4").output
    for word in ("Popularity", "OneClassMF", "Blend", "ndcg@10", "gimp", "sweeps"):
        assert word in shown


def test_demo_writes_a_shop(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "The shop is generated." in run("demo", "--events", "shop.csv", "--items", "items.csv").stdout
    run("fit", "shop.csv", "-o", "shop.ep", "--rank", 4, "--items", "items.csv")
    assert "title" in run("recommend", "shop.ep", "--user", "ada-0000", "--where", "category=baking").stdout
    assert "say --events FILE too" in run("demo", "--items", "items.csv", code=2).stderr


def test_models_lists_those_that_can_be_fitted(run):
    assert "OneClassMF" in run("models").stdout
    lines = [json.loads(line) for line in run("models", "--json").stdout.splitlines()]
    assert [line["model"] for line in lines[:2]] == ["Blend", "OneClassMF"]
    assert lines[1]["parameters"]["rank"] == 64


def test_doctor_tries_a_fit(run):
    found = json.loads(run("doctor", "--json").stdout)
    assert found["a small fit"].startswith("works")
    assert found["everypair"] == everypair.__version__
    assert "kernels" in found["kernel cache"]
    assert "openblas" in run("doctor").stdout


def test_doctor_says_why_threads_are_few(run, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = json.loads(run("doctor", "--json").stdout)
    assert os.cpu_count() == 1 or found["cores"].endswith("1 threads by default, as OMP_NUM_THREADS=1 says")
    assert {"dask", "distributed", "starlette"} <= set(found)


def test_a_fault_of_the_program_is_no_mistake_of_the_user(run, monkeypatch):
    def broken(*_, **__):
        raise KeyError("of the program")

    monkeypatch.setattr("everypair.cli.model_files.load_to_ask", broken)
    with pytest.raises(KeyError):
        run("recommend", "model.ep", "--all", "--output", "-", code=1)


def test_traceback_on_request(run, monkeypatch):
    monkeypatch.setenv("EVERYPAIR_TRACEBACK", "1")
    with pytest.raises(FileNotFoundError):
        run("inspect", "nothing.csv", code=1)


def interrupted(*arguments, after=2):
    """Run a command that gets Ctrl-C once its progress has come so far."""
    script = (
        "import os, signal, everypair.progress as p\n"
        "def reach(self, done, note=''):\n"
        f"    if done >= {after} and not self.quiet: self.quiet = True; os.kill(os.getpid(), signal.SIGINT)\n"
        "p.Progress.reach = reach\n"
        "from everypair.cli import app\n"
        f"app({arguments!r})\n"
    )
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def test_ctrl_c_keeps_what_was_learnt(folder):
    """The second of two sweeps is far away: the first Ctrl-C ends training, the model is written, the code is 130."""
    told = interrupted("fit", "events.csv", *FACTORS, "-o", "part.ep", "--set", "tol=0", "--set", "max_iter=9")
    assert told.returncode == 130, told.stderr
    assert "Traceback" not in told.stderr
    assert len(everypair.load("part.ep").history_) == 2


def test_ctrl_c_leaves_a_whole_model_alone(folder):
    part = ("fit", "events.csv", *FACTORS, "-o", "model.ep", "--set", "tol=0", "--set", "max_iter=9")
    whole = (folder / "model.ep").read_bytes()
    told = interrupted(*part)
    assert told.returncode == 130, told.stderr
    assert "model.ep is left as it was: --keep-partial" in told.stderr
    assert (folder / "model.ep").read_bytes() == whole
    assert interrupted(*part, "--keep-partial").returncode == 130
    assert len(everypair.load("model.ep").history_) == 2


def test_ctrl_c_while_the_program_starts():
    """Wherever it comes after Python itself has started, the code is 130 and there is no traceback."""
    script = (
        "import os, runpy, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == sys.argv[1]: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "runpy.run_module('everypair', run_name='__main__')\n"
    )
    for name in ("typer", "everypair.cli.app", "everypair.cli.doctor"):
        told = subprocess.run([sys.executable, "-c", script, name], capture_output=True, text=True, check=False)
        assert (told.returncode, told.stderr) == (130, "everypair: interrupted.\n")


@pytest.mark.parametrize("command", ["inspect model.ep", "models", "recommend model.ep --all -o lists.csv --json"])
def test_a_closed_standard_output(folder, command):
    told = subprocess.run(
        f"{sys.executable} -m everypair {command} >&-", shell=True, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    assert "Traceback" not in told.stderr


def test_ctrl_c_elsewhere_writes_nothing(folder):
    """Interrupted while all users are written: the old file stays and nothing is left beside it."""
    (folder / "out.csv").write_text("old")
    told = interrupted("recommend", "model.ep", "--all", "-o", "out.csv", after=1)
    assert told.returncode == 130, told.stderr
    assert told.stderr == "everypair: interrupted.\n"
    assert (folder / "out.csv").read_text() == "old"
    assert not list(folder.glob(".out*"))


def test_python_m_everypair(folder):
    told = process("recommend", "model.ep", "--user", "u0", "-n", 1, "--json")
    assert told.returncode == 0
    assert json.loads(told.stdout)["user"] == "u0"


def test_a_reader_that_has_seen_enough(folder):
    command = f"{sys.executable} -m everypair recommend model.ep --all -n 20 -o - | head -n 1"
    told = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert told.stdout == "user,item,score,rank\n"
    assert told.stderr == ""


@pytest.mark.parametrize("asked", ["recommend model.ep --all -n 20 -o -", "recommend model.ep --all --json", "--help"])
def test_a_reader_that_reads_nothing(folder, asked):
    """A closed pipe is no fault of the program, whoever notices it first."""
    command = [sys.executable, "-m", "everypair", *asked.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as told:
        told.stdout.close()
        assert told.stderr.read() == ""
    assert told.returncode == 0


def test_ctrl_c_while_something_is_measured(folder):
    """Metrics of a part of the training are shown, and the exit code says that it is a part."""
    told = interrupted("evaluate", "events.csv", *FACTORS, "--set", "tol=0", "--set", "max_iter=9")
    assert told.returncode == 130, told.stderr
    assert "2 of 9 sweeps" in told.stderr
    assert "ndcg@10" in told.stdout


def test_ctrl_c_in_an_import_is_no_mistake(run, monkeypatch):
    def load(name):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as pressed:
            raise ImportError("initialization failed") from pressed

    monkeypatch.setattr("everypair.models.registry.estimator_class", load)
    assert run("fit", "events.csv", "-o", "new.ep", code=130).stderr.endswith("everypair: interrupted.\n")
