"""``python -m everypair`` is the command ``everypair``."""

from everypair.cli import app

if __name__ == "__main__":
    app(prog_name="everypair")
