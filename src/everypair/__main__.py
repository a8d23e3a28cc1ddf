"""``python -m everypair`` is the command ``everypair``: Ctrl-C counts from here on, also while it starts.

Half of the time of a short command was the collection of garbage: while modules are imported, where there is none, and
once more of everything when Python ends, which the system takes back anyway.
"""

import gc
import signal
import sys

INTERRUPTED = 130
YOUNG = 300_000  # new objects before a collection: more than imports make


def main() -> None:
    """Run the command."""
    gc.set_threshold(YOUNG)
    try:
        from everypair.cli import app

        try:
            app(prog_name="everypair")
        finally:
            gc.freeze()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("everypair: interrupted.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None


if __name__ == "__main__":
    main()
