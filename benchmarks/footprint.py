"""What installing and importing a library takes: megabytes, packages, CPU seconds, each in an environment of its own.

    python benchmarks/footprint.py [LIBRARY …]

Pinned in REQUIREMENTS. The environment holds pip and what the library asks for. Importing is timed three times in new
processes after a first one that writes the byte code; the smallest counts. A library that does not install is listed
with what pip said. ``built`` says that pip had to compile it here.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from machine import machine
from smoke import parse

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
REQUIREMENTS = {  # library → what pip is told, what is imported
    "EveryPair": (str(ROOT), "everypair.models.recommend.one_class"),
    "implicit": ("implicit==0.7.3", "implicit.als"),
    "irspack": ("irspack==0.5.2", "irspack"),
    "cmfrec": ("cmfrec==3.5.1.post14", "cmfrec"),
    "LightFM (lightfm-next)": ("lightfm-next", "lightfm"),
    "RecTools": ("rectools==0.19.0", "rectools.models"),
    "SANSA": ("sansa==1.1.0", "sansa"),
    "Surprise": ("scikit-surprise==1.1.5", "surprise"),
    "Spark": ("pyspark==4.3.0", "pyspark.ml.recommendation"),
    "napkinXC": ("napkinxc==0.7.2", "napkinxc.models"),
    "PECOS": ("libpecos==1.2.8", "pecos.xmc"),
    "omikuji": ("omikuji==0.5.2", "omikuji"),
}
IMPORT = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"
MOST_SECONDS = 600


def measured(name: str, requirement: str, module: str) -> dict[str, Any]:
    """Install into a new environment and import."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        site = Path(run(python, "-c", "import site; print(site.getsitepackages()[0])").stdout.strip())
        before, packages = size(site), count(site)
        try:
            told = run(python, "-m", "pip", "install", requirement)
        except subprocess.TimeoutExpired:
            return {"reason": f"not installed within {MOST_SECONDS} s"}
        if told.returncode:
            said = [line for line in told.stderr.splitlines() if line.lower().startswith("error")]
            return {"reason": f"does not install: {(said or ['pip failed'])[-1][:120]}"}
        seconds = []
        for _ in range(4):
            tried = run(python, "-c", IMPORT.format(module), folder=folder)
            if tried.returncode:
                return {"reason": f"installs, but does not import: {tried.stderr.strip().splitlines()[-1][:120]}"}
            seconds.append(float(tried.stdout.split()[-1]))
        package = Path(requirement.split("==")[0]).name.split("-1.0")[0]
        package = "everypair" if name == "EveryPair" else package
        about = run(python, "-m", "pip", "show", package).stdout
        return {
            "version": next(line.split(": ")[1] for line in about.splitlines() if line.startswith("Version")),
            "megabytes": (size(site) - before) / 1e6,
            "packages": count(site) - packages,
            "import_cpu": min(seconds[1:]),
            "built": f"Building wheel for {package}" in told.stdout and name != "EveryPair",
        }


def run(*command: str, folder: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program without this process's own path of modules."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False, env=environment, cwd=folder
    )


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def count(folder: Path) -> int:
    return len(list(folder.glob("*.dist-info")))


def tiny(folder: Path) -> Path:
    """A wheel of one module, which needs no network: what the smoke test installs."""
    about = "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
    wheel = "Wheel-Version: 1.0\nGenerator: footprint\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    path = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("tiny.py", "")
        file.writestr("tiny-1.0.dist-info/METADATA", about)
        file.writestr("tiny-1.0.dist-info/WHEEL", wheel)
        file.writestr("tiny-1.0.dist-info/RECORD", "")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help=f"of {', '.join(REQUIREMENTS)}")
    options = parse(parser, RESULTS)
    wanted = REQUIREMENTS
    if options.smoke:
        wanted = {"tiny": (str(tiny(options.results)), "tiny")}
    elif options.libraries:
        wanted = {name: REQUIREMENTS[name] for name in options.libraries}
    path = options.results / "footprint.json"
    record = json.loads(path.read_text()) if path.exists() else {"libraries": {}}
    record["machine"] = machine()
    for name, (requirement, module) in wanted.items():
        record["libraries"][name] = measured(name, requirement, module)
        print(name, record["libraries"][name], flush=True)
        ordered = [one for one in (*REQUIREMENTS, "tiny") if one in record["libraries"]]
        record["libraries"] = {one: record["libraries"][one] for one in ordered}
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
