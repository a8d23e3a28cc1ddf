"""What BLAS rounds by, and the tests of bits on every kind of kernel that this processor can run.

    python tools/blas.py probe            a table: which products change a bit by address, order, stride or shape
    python tools/blas.py test [CORE …]    the tests of equal bits with each kind of kernel, then with plain numba

OpenBLAS chooses its kernels by the processor; ``OPENBLAS_CORETYPE`` chooses others. docs/architecture.md says what the
library assumes of them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

CORES = ("SkylakeX", "Haswell", "Zen", "Sandybridge", "Nehalem")
PLAIN_NUMBA = {"NUMBA_CPU_NAME": "generic", "NUMBA_ENABLE_AVX": "0"}
ASKED = "import numpy, threadpoolctl; print(threadpoolctl.threadpool_info()[0]['architecture'])"
BITS = "bits or checkpoint or fold_in or killed or settle or by_id"
FOLDERS = ["tests/distribute", "tests/models", "tests/solvers", "tests/kernels", "tests/cli", "tests/neural"]
ITEM = 4  # bytes
SHAPES = ((1, 20, 4), (12, 1024, 4), (20, 20, 4), (64, 64, 64), (100, 37, 29), (200, 64, 16))


def runnable(core: str) -> bool:
    """Whether OpenBLAS takes that kind; it falls back to another one that the processor can run, or dies."""
    asked = subprocess.run([sys.executable, "-c", ASKED], env=named(core), capture_output=True, text=True, check=False)
    return asked.returncode == 0 and asked.stdout.strip() == core


def named(core: str) -> dict[str, str]:
    return os.environ | {"OPENBLAS_CORETYPE": core}


def probe_here() -> None:
    """Compare products of equal numbers that lie in memory in other ways."""
    import numpy as np
    import threadpoolctl

    def moved(array, offset):
        """A copy whose bytes begin so far behind a border of 64."""
        buffer = np.empty(array.nbytes + 128, np.uint8)
        first = -buffer.ctypes.data % 64 + offset
        out = buffer[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
        out[...] = array
        return out

    def spread(array):
        """A view with the same numbers and gaps between its rows."""
        wide = np.zeros((array.shape[0], array.shape[1] + 3), array.dtype)
        wide[:, : array.shape[1]] = array
        return wide[:, : array.shape[1]]

    def positive(array):
        return array @ array.T + np.eye(len(array), dtype=array.dtype)

    functions = {
        "gemm AB": lambda a, b: a @ b,
        "gemm AᵀB": lambda a, b: a.T @ (a @ b),
        "gemv": lambda a, b: a @ b[:, 0],
        "syrk AᵀA": lambda a, b: a.T @ a,
        "dot": lambda a, b: np.vdot(a, a),
        "eigh": lambda a, b: np.linalg.eigh(positive(a))[1],
        "sum of columns": lambda a, b: a.sum(axis=0),
    }
    others = {
        "address, whole numbers": lambda a: moved(a, 3 * ITEM * (a.itemsize // ITEM)),
        "address, odd": lambda a: moved(a, 1),
        "order (F)": np.asfortranarray,
        "rows apart": spread,
    }
    random = np.random.default_rng(0)
    with threadpoolctl.threadpool_limits(1):
        for dtype in (np.float32, np.float64):
            for name, function in functions.items():
                changes = dict.fromkeys([*others, "one row of many", "half of the rows"], 0)
                for m, k, n in SHAPES:
                    A, B = (random.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n)))
                    for way, other in others.items():
                        changes[way] += not np.array_equal(function(other(A), other(B)), function(A, B))
                    if name == "gemm AB":
                        changes["one row of many"] += not np.array_equal(A[:1] @ B, (A @ B)[:1])
                        half = max(1, m // 2)
                        changes["half of the rows"] += not np.array_equal(A[:half] @ B, (A @ B)[:half])
                found = ", ".join(f"{way} {count}/{len(SHAPES)}" for way, count in changes.items() if count)
                print(f"  {np.dtype(dtype).name} {name}: {found or 'same bits'}")


def test(cores: list[str]) -> int:
    """Run the tests of bits for each kind of kernel; the first failure's code, or 0."""
    kinds = {core: named(core) for core in cores if runnable(core)}
    left_out = [core for core in cores if core not in kinds]
    if left_out:
        print(f"this processor has no kernels of its own for {', '.join(left_out)}: left out.")
    if not cores or cores == list(CORES):
        kinds["numba without AVX"] = os.environ | PLAIN_NUMBA
    for kind, environment in kinds.items():
        print(f"=== {kind}", flush=True)
        folders = ["tests/kernels", "tests/solvers"] if "numba" in kind else FOLDERS
        command = [sys.executable, "-m", "pytest", "-q", "-n", "logical", "--maxprocesses", "4", "--dist", "worksteal"]
        failed = subprocess.run([*command, "-k", BITS, *folders], env=environment, check=False).returncode
        if failed:
            return failed
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["probe", "probe-here", "test"])
    parser.add_argument("cores", nargs="*", default=[])
    arguments = parser.parse_args()
    cores = arguments.cores or list(CORES)
    if arguments.what == "probe-here":
        probe_here()
    elif arguments.what == "test":
        sys.exit(test(cores))
    else:
        for core in filter(runnable, cores):
            print(core, flush=True)
            subprocess.run([sys.executable, __file__, "probe-here"], env=named(core), check=True)


if __name__ == "__main__":
    main()
