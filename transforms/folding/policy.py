"""Which constants are too large to be made? The size policy of folding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DEFAULT_SIZE_LIMIT: Final = 16 << 20
"""Bytes: weights in a wider type and tables are below it, fills and broadcasts of long sequences above."""

SHARED_LIMIT: Final = 64
"""Bytes of a shared constant that memory priority lets pass as if they were nothing."""


@dataclass(frozen=True)
class FoldingPolicy:
    """Bounds what folding adds to the memory a model needs."""

    size_limit: int = DEFAULT_SIZE_LIMIT
    """A result of more bytes than this that is also larger than its inputs is not made."""

    memory_priority: bool = False
    """Whether a constant that something else reads as well is left alone: its data would stay, and what
    was made of them would be added."""

    def is_too_large(self, result_bytes: int, input_bytes: int) -> bool:
        return result_bytes > self.size_limit and result_bytes > input_bytes


DEFAULT_POLICY: Final = FoldingPolicy()
