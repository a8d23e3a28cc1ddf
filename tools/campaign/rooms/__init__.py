"""One file per room; ``ROOMS`` are all of them."""

from __future__ import annotations

from trials import Room

from rooms import answers, faults, files, memory, objective, readers, signals

ROOMS: dict[str, Room] = {
    module.ROOM.name: module.ROOM for module in (objective, answers, readers, files, faults, memory, signals)
}
