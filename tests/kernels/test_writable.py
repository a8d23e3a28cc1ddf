import gc

import numpy as np

from everypair.kernels.writable import writable_view


def test_arrays_that_can_be_written_to_stay_themselves():
    array = np.arange(3)
    assert writable_view(array) is array


def test_read_only_memory_outlives_its_array(tmp_path):
    np.save(tmp_path / "numbers.npy", np.arange(1000))
    array = np.load(tmp_path / "numbers.npy", mmap_mode="r")
    view = writable_view(array)
    assert type(view) is np.ndarray
    assert view.flags.writeable
    assert np.shares_memory(view, array)
    del array
    gc.collect()
    assert view.sum() == 999 * 500


def test_parts_of_an_array():
    array = np.arange(10.0)
    array.setflags(write=False)
    assert writable_view(array[2:5]).tolist() == [2, 3, 4]
