"""Types that signatures share: arrays of any number, arrays of float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Array64 = NDArray[np.float64]
