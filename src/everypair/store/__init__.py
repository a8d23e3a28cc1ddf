"""Files of JSON-able values and named arrays: what models and checkpoints are kept in."""

from everypair.store.layout import ModelFileError
from everypair.store.read import Contents, read_file
from everypair.store.write import write_file

__all__ = ["Contents", "ModelFileError", "read_file", "write_file"]
