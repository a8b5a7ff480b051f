"""Which compiled models are kept on disk, whole?"""

from __future__ import annotations

from typing import Any

from onnxloom.lowering.runtime.model import CompiledModel


class PlanCache:
    """The entry of one model under given options."""

    @staticmethod
    def of(source: Any, options: Any) -> PlanCache | None:
        """The entry for a source; None for sources that have no stable content."""
        return None

    def load(self) -> CompiledModel | None:
        return None

    def save(self, model: CompiledModel) -> None:
        return None
