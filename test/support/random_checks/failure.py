"""What went wrong with a graph, and what counts as the same thing going wrong with a smaller one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Failure:
    """One graph that one check does not hold for."""

    check: str
    """`pass fuse-ops`, `compiled O3`, `round trip`."""
    stage: str
    """`import`, `apply`, `verify`, `evaluate`, `types`, `values`, `run`."""
    message: str
    """In one line."""
    blame: str = ""
    """What onnxruntime without optimizations says, for values that differ."""

    @staticmethod
    def of(check: str, stage: str, error: BaseException) -> Failure:
        """The failure that an exception stands for."""
        text = " ".join(str(error).split())
        return Failure(check, stage, f"{type(error).__name__}: {text[:300]}")

    @property
    def kind(self) -> tuple[str, str, str]:
        """Equal for failures that are taken for one: names and numbers in the message do not count."""
        message = "" if self.stage == "values" else re.sub(r"%?\b\w*\d\w*|'[^']*'|\(.*", "", self.message)
        return (self.check, self.stage, message[:60])

    def blaming(self, verdict: str) -> Failure:
        return replace(self, blame=verdict)

    def __str__(self) -> str:
        return f"{self.check}: {self.stage}: {self.message}" + (f" [{self.blame}]" if self.blame else "")
