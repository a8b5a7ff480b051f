"""Scaler(X; offset, scale) -> (X - offset) * scale"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.machine_learning.features import (
    as_computed,
    as_result,
    computed_dtype,
    feature_count,
    numbers,
    row_problem,
)
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor
from onnxloom.transforms.rewriting.pattern import Numerics


class ScalerPattern(DecomposePattern):
    """A scaler becomes elementwise ops."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ScalerOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def requirements(self, match: Match) -> Miss | None:
        problem = row_problem(match)
        if problem is not None:
            return problem
        for name in ("offset", "scale"):
            given = numbers(match, name)
            if given is None or given.size not in (1, feature_count(match)):
                return no_match(match.anchor, f"{name} has neither one number nor one per feature")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        offset, scale = (self._row(match, name) for name in ("offset", "scale"))
        return as_result(match, (as_computed(match) - offset) * scale)

    def _row(self, match: Match, name: str) -> np.ndarray[Any, Any]:
        given = numbers(match, name)
        assert given is not None, "asked before"
        return given.astype(computed_dtype(match))
