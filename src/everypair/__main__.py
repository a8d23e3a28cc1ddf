"""``python -m everypair`` is the command ``everypair``: Ctrl-C counts from here on, also while it starts."""

import signal
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command."""
    try:
        from everypair.cli import app

        app(prog_name="everypair")
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("everypair: interrupted.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None


if __name__ == "__main__":
    main()
