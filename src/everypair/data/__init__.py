"""What comes in: stored pairs, ids, labels, splits, files and data sets."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everypair.data.debian import DebianData, load_debian
    from everypair.data.decay import time_decay
    from everypair.data.entries import Entries, EntrySplit
    from everypair.data.events import Events, read_events
    from everypair.data.files import MultiLabelData, read_multilabel, write_multilabel
    from everypair.data.ids import Ids
    from everypair.data.labels import Labels
    from everypair.data.pairs import Pairs
    from everypair.data.sampling import sample_negatives
    from everypair.data.shop import Shop, generate_shop
    from everypair.data.splits import (
        RowSplit,
        hold_out,
        split_cold_items,
        split_entries,
        split_leave_last,
        split_per_row,
        split_rows,
        split_time,
    )

__all__ = [
    "DebianData",
    "Entries",
    "EntrySplit",
    "Events",
    "Ids",
    "Labels",
    "MultiLabelData",
    "Pairs",
    "RowSplit",
    "Shop",
    "generate_shop",
    "hold_out",
    "load_debian",
    "read_events",
    "read_multilabel",
    "sample_negatives",
    "split_cold_items",
    "split_entries",
    "split_leave_last",
    "split_per_row",
    "split_rows",
    "split_time",
    "time_decay",
    "write_multilabel",
]
_HOMES = {
    "DebianData": "debian",
    "Entries": "entries",
    "EntrySplit": "entries",
    "Events": "events",
    "Ids": "ids",
    "Labels": "labels",
    "MultiLabelData": "files",
    "Pairs": "pairs",
    "RowSplit": "splits",
    "Shop": "shop",
    "generate_shop": "shop",
    "hold_out": "splits",
    "load_debian": "debian",
    "read_events": "events",
    "read_multilabel": "files",
    "sample_negatives": "sampling",
    "split_cold_items": "splits",
    "split_entries": "splits",
    "split_leave_last": "splits",
    "split_per_row": "splits",
    "split_rows": "splits",
    "split_time": "splits",
    "time_decay": "decay",
    "write_multilabel": "files",
}  # readers of tables and data sets take time that answers do without

if not TYPE_CHECKING:  # what is imported above is all that a type checker should see

    def __getattr__(name: str) -> Any:
        """Import what is asked for when it is first asked for."""
        if name in _HOMES:
            return getattr(import_module(f"everypair.data.{_HOMES[name]}"), name)
        raise AttributeError(f"module 'everypair.data' has no attribute {name!r}")
