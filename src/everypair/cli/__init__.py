"""The command ``everypair``, one file per subcommand."""

from importlib import import_module

from everypair.cli.app import app

COMMANDS = (
    *("fit", "recommend", "evaluate", "tune", "report", "update"),
    *("serve", "warm-up", "similar", "explain", "inspect", "card", "export", "models", "doctor", "demo"),
)

for name in COMMANDS:  # in this order in --help
    import_module(f"everypair.cli.{name.replace('-', '_')}")

__all__ = ["COMMANDS", "app"]
