"""Model files: how a model becomes a file and a file a model.

The bytes are written and read by :mod:`everypair.store`, which knows nothing of models and therefore stands above them:
:meth:`Estimator.save` needs no import inside a function, and checkpoints use the same files. A class is looked up in
the registry; a name that is found in a file is never imported.
"""

from __future__ import annotations

from typing import Any

from everypair.models.registry import ESTIMATORS, estimator_class, is_estimator
from everypair.models.state_checks import ChecksNumbers
from everypair.store import ModelFileError, read_file, write_file

KIND = "model"


def model_class(name: Any) -> Any:
    """Return the class of this library with a name from the table."""
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise ModelFileError(f"it names the class {name!r}, which this EveryPair does not have.")
    return estimator_class(name)


def save_model(model: Any, path: Any, serve_only: bool) -> None:
    """Write a fitted model to ``path``, atomically."""
    if not is_estimator(model):
        name = type(model).__name__
        raise TypeError(f"{name} is not a class of EveryPair, and a file cannot hold the code of another.")
    values, arrays = model.to_parts(serve_only=serve_only)
    write_file(path, KIND, values, arrays)


def load(path: Any, *, mmap: bool = True, verify: bool = True) -> Any:
    """Return the model that ``model.save(path)`` wrote: the same answers, to the last bit.

    No code comes out of a file: whatever is wrong with it (cut short, altered, of a newer version, not a model at all)
    is a :class:`~everypair.store.ModelFileError`, a ``ValueError`` that says so.

    Parameters
    ----------
    path : a file written by ``save``.
    mmap : use arrays where they lie in the file, so that several processes share them in memory; the file may then be
        replaced by another ``save``, but must not be changed in place. ``False`` reads everything into memory.
    verify : compare all bytes with their checksums (some 1.5 GB/s), and refuse factors that are not finite. Without it
        only the header is compared, and a model of any size opens at once.

    Examples
    --------
    >>> import tempfile
    >>> from everypair import Popularity
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Popularity().fit([[1, 1, 0], [1, 0, 0]]).save(f"{folder}/model.ep")
    ...     model = load(f"{folder}/model.ep", mmap=False)
    >>> model.recommend([1], n=1)[0].tolist()
    [[1]]
    """
    kind, values, arrays = read_file(path, mmap=mmap, verify=verify)
    try:
        if kind != KIND:
            raise ModelFileError(f"it is a {kind}, not a model.")
        cls = model_class(values.get("class"))
        try:
            model = cls.from_parts(values, arrays)
            if verify and isinstance(model.state_, ChecksNumbers):
                model.state_.check_numbers()
            return model
        except Exception as failure:  # whatever cannot be built from a file is the file's fault
            raise ModelFileError(f"what it holds does not make a {cls.__name__}: {failure}") from failure
    except ModelFileError as failure:
        raise ModelFileError(f"{path} cannot be read: {failure}") from failure.__cause__
