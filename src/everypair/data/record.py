"""Where a model comes from: when it was made, by which version, from which code of its owner, and how good it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self


@dataclass(frozen=True)
class Record:
    """``created`` is a time (ISO, UTC), ``version`` that of the library, ``metrics`` are those of held-out events."""

    created: str
    version: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    held_out: str | None = None
    commit: str | None = None

    @classmethod
    def now(cls, version: str, metrics: Any = None, held_out: str | None = None, commit: str | None = None) -> Self:
        """What is true now.

        >>> Record.now("0.1", {"ndcg@10": 0.3}).metrics
        {'ndcg@10': 0.3}
        """
        plain = {str(name): float(value) for name, value in (metrics or {}).items()}
        return cls(datetime.now(UTC).isoformat(timespec="seconds"), version, plain, held_out, commit)
