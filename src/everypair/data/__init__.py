"""What comes in: stored pairs, ids, labels, splits, files and data sets."""

from everypair.data.debian import DebianData, load_debian
from everypair.data.decay import time_decay
from everypair.data.entries import Entries, EntrySplit
from everypair.data.events import Events, read_events
from everypair.data.files import MultiLabelData, read_multilabel, write_multilabel
from everypair.data.ids import Ids
from everypair.data.labels import Labels
from everypair.data.pairs import Pairs
from everypair.data.sampling import sample_negatives
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
