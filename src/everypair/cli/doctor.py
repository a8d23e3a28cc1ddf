"""``everypair doctor``: what EveryPair runs on, and whether it runs."""

from __future__ import annotations

import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from everypair.cli.options import Run, command
from everypair.cli.say import show, table

NEEDED = (
    "numpy",
    "scipy",
    "numba",
    "llvmlite",
    "scikit-learn",
    "threadpoolctl",
    "narwhals",
    "pyarrow",
    "rich",
    "typer",
)
EXTRAS = {
    "matplotlib": "plot",
    "optuna": "tune",
    "jax": "neural",
    "dask": "cluster",
    "distributed": "cluster",
    "starlette": "serve",
    "uvicorn": "serve",
    "msgspec": "serve",
}
FRAMES = ("pandas", "polars")


@command
def doctor(run: Run) -> None:
    """Show versions, BLAS, threads, cores, memory and the cache of compiled kernels, and try a small fit."""
    import everypair

    cache = _cache(Path(everypair.__file__).parent / "kernels")  # as it was before the small fit
    found: dict[str, Any] = {
        "everypair": everypair.__version__,
        "installed in": str(Path(everypair.__file__).parent),
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        **{name: _version(name) or "MISSING" for name in NEEDED},
        **{name: _version(name) or f"not installed (extra {extra})" for name, extra in EXTRAS.items()},
        **{name: _version(name) or "not installed" for name in FRAMES},
        "cores": _cores(),
        "memory": _memory(),
        "kernel cache": cache,
        "a small fit": _small_fit(),
        "BLAS": _blas(),
    }
    if run.json_output:
        show(found)
    else:
        table(["", "everypair doctor"], [[name, str(value)] for name, value in found.items()])


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cores() -> str:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    from everypair.parallel import resolve_threads

    threads, limit = resolve_threads(None), os.environ.get("OMP_NUM_THREADS")
    why = f", as OMP_NUM_THREADS={limit} says" if usable is not None and threads < usable else ""
    return f"{os.cpu_count()}, {usable} of them for this process; {threads} threads by default{why}"


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "unknown"
    return f"{total / 2**30:.1f} GiB, {free / 2**30:.1f} GiB of them free"


def _cache(kernels: Path) -> str:
    """Where numba keeps what it compiled: beside the kernels if it may write there, else in its own folder."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(named) if named else kernels / "__pycache__"
    files = list(folder.rglob("*.nb?")) if folder.is_dir() else []
    size = sum(path.stat().st_size for path in files) / 2**20
    writable = os.access(folder if folder.is_dir() else kernels, os.W_OK)
    kept = "" if writable else "; not writable, numba falls back to the user's cache folder"
    return f"{folder}, {len(files)} files, {size:.1f} MiB{kept}"


def _small_fit() -> str:
    import numpy as np

    from everypair import OneClassMF

    start = time.perf_counter()
    blocks = np.kron(np.eye(2), np.ones((6, 5)))
    blocks[0, 0] = 0
    items, _ = OneClassMF(rank=2, random_state=0).fit(blocks).recommend([0], n=1)
    good = items.tolist() == [[0]]
    return f"{'works' if good else 'GIVES A WRONG ANSWER'}, {time.perf_counter() - start:.2f} s with compiling"


def _blas() -> str:
    from threadpoolctl import threadpool_info

    return "; ".join(
        f"{one['internal_api']} {one.get('version') or ''} ({one['num_threads']} threads)".replace("  ", " ")
        for one in threadpool_info()
    )
