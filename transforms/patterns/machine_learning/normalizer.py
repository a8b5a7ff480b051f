"""Normalizer(X; norm) -> X / Max(ReduceL1(X), 1e-30), and so for L2 and for the largest magnitude"""

from __future__ import annotations

from typing import ClassVar, Final

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.machine_learning.features import as_computed, as_result, row_problem
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor, op
from onnxloom.transforms.rewriting.pattern import Numerics

SMALLEST: Final = 1e-30
"""What a row is divided by at least: a row of zeros stays one."""


class NormalizerPattern(DecomposePattern):
    """Rows over their norm become a reduction and a division."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.NormalizerOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def requirements(self, match: Match) -> Miss | None:
        if match.attribute("norm") not in ("MAX", "L1", "L2"):
            return no_match(match.anchor, f"the norm is {match.attribute('norm')}")
        return row_problem(match)

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        x = as_computed(match)
        norms = {
            "MAX": lambda: op.ReduceMax(op.Abs(x), [1], keepdims=1),
            "L1": lambda: op.ReduceL1(x, [1], keepdims=1),
            "L2": lambda: op.ReduceL2(x, [1], keepdims=1),
        }
        norm = norms[match.attribute("norm")]()
        return as_result(match, x / op.Max(norm, SMALLEST))
