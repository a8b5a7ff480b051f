"""How does a lowering say that it cannot lower an op? It returns a `Decline`, or raises `Declined`.

Both carry the reason, which `explain` shows; the op then runs as a host step or is unfused.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation


@dataclass(frozen=True)
class Decline:
    """A lowering's answer for an op it does not cover."""

    reason: str


class Declined(Exception):
    """Raised from inside a lowering; becomes a `Decline` with the same reason."""

    @property
    def reason(self) -> str:
        """Why the op is not lowered."""
        return str(self.args[0])


class FusionFallbackWarning(UserWarning):
    """A fused op could not be lowered as one kernel; its ops run one by one."""

    def __init__(self, message: str, op: Operation) -> None:
        super().__init__(message)
        self.op = op
