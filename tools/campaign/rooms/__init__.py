"""One file per room; ``ROOMS`` are all of them."""

from __future__ import annotations

from importlib import import_module

from trials import Room

NAMES = (
    "objective", "answers", "growth", "labels", "completion", "metrics", "splits", "readers", "round_trips", "machine",
    "threads", "fuzz", "files", "faults", "memory", "signals", "cluster",
)  # fmt: skip
ROOMS: dict[str, Room] = {name: import_module(f"rooms.{name}").ROOM for name in NAMES}
