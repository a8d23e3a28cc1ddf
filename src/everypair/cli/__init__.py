"""The command ``everypair``, one file per group of subcommands."""

from everypair.cli import demo
from everypair.cli.app import app

__all__ = ["app", "demo"]
