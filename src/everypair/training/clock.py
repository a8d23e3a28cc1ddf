"""What is left of a time limit that holds for a whole call with several trainings in it."""

from __future__ import annotations

import math
import time
from typing import NamedTuple


class Clock(NamedTuple):
    """Seconds since ``begin``, of which there are ``seconds``; without a limit they never end.

    >>> Clock.start(None).left(), Clock.start(60.0).left() <= 60
    (inf, True)
    """

    begin: float
    seconds: float

    @classmethod
    def start(cls, time_limit: float | None) -> Clock:
        """Start now."""
        return cls(time.perf_counter(), math.inf if time_limit is None else float(time_limit))

    def left(self) -> float:
        """Seconds that are left, below zero where they are over."""
        return self.begin + self.seconds - time.perf_counter()

    def limit(self, share: float = 1.0) -> float | None:
        """What is left, or a share of it, as a ``time_limit``: always enough for one sweep, ``None`` without end."""
        return None if math.isinf(self.seconds) else max(share * self.left(), MOMENT)


MOMENT = 1e-9
