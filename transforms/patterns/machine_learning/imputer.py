"""Imputer(X; imputed_value_floats, replaced_value_float) -> Where(X == replaced, imputed, X)

IsNaN(X) where NaN is replaced; and so for integers.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.machine_learning.features import feature_count
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor, op
from onnxloom.transforms.rewriting.pattern import Numerics

_TYPES: Final = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64))


class ImputerPattern(DecomposePattern):
    """What is missing is replaced by a selection."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ImputerOp,)
    numerics: ClassVar[Numerics] = Numerics.EXACT

    def requirements(self, match: Match) -> Miss | None:
        dtype = match.graph.dtype(match["X"])
        if dtype not in _TYPES or match.graph.rank(match["X"]) != 2:
            return no_match(match.anchor, "X is not known to be rows of f32, f64 or i64")
        imputed, _ = _values(match)
        if not imputed or len(imputed) not in (1, feature_count(match)):
            return no_match(match.anchor, "there is neither one imputed value nor one per feature")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        dtype = match.graph.dtype(match["X"])
        assert dtype is not None, "asked before"
        imputed, replaced = _values(match)
        is_missing = op.IsNaN(inputs.X) if math.isnan(replaced) else op.Equal(inputs.X, replaced)
        return op.Where(is_missing, np.array(imputed, dtype), inputs.X)


def _values(match: Match) -> tuple[Any, Any]:
    """Imputed values, and the one that is replaced."""
    dtype = match.graph.dtype(match["X"])
    kind = ("int64s", "int64") if dtype == np.int64 else ("floats", "float")
    return match.attribute(f"imputed_value_{kind[0]}"), match.attribute(f"replaced_value_{kind[1]}")
