"""Readers and writers of multi-label files."""

from everypair.data.files.instances import MultiLabelData
from everypair.data.files.label_file import read_multilabel, write_multilabel

__all__ = ["MultiLabelData", "read_multilabel", "write_multilabel"]
