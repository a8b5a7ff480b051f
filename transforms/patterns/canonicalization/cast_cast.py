"""Cast(Cast(x: T1, to=T2), to=T3) -> Cast(x, to=T3) where the first step loses nothing; x where T1 = T3.

A step loses nothing when T2 holds every value of T1: a wider float, a wider integer, a float with enough
digits for an integer, anything after bool. Also Cast(Cast(x, to=T), to=T) -> Cast(x, to=T).

The inner Cast stays where something else reads it.
"""

from __future__ import annotations

from typing import ClassVar, Final

from xdsl.dialects.builtin import bf16, f16, f32, f64, i1
from xdsl.ir import Attribute, Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.element_types import ELEMENT_TYPES
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)

_DIGITS: Final[dict[Attribute, int]] = {f64: 53, f32: 24, f16: 11, bf16: 8}
"""Float -> binary digits of its significand."""

_WIDER: Final[dict[Attribute, tuple[Attribute, ...]]] = {f32: (f64,), f16: (f32, f64), bf16: (f32, f64)}
"""Float -> the floats that hold all its values."""

_INTEGERS: Final[dict[Attribute, tuple[int, int]]] = {
    ELEMENT_TYPES[f"{sign}int{width}"]: (0 if sign else 1, width - (0 if sign else 1))
    for sign in ("", "u")
    for width in (8, 16, 32, 64)
}
"""Integer -> (sign bits, value bits)."""


class CastCastPattern(PatternOptimization):
    """Two Casts in a row become one or none."""

    priority: ClassVar[int] = 0
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.CastOp,)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.CastOp)
        inner = graph.producer_of(op.input, onnx.CastOp)
        if inner is None:
            return no_match(op, "the input is not cast")
        source, between, target = (
            graph.element_type(value) or value.type for value in (inner.input, inner.output, op.output)
        )
        if between == target:
            return MatchResult((op,), reads=(inner,), data=inner.output)
        if not _is_lossless(source, between):
            return no_match(op, lambda: f"{between} does not hold every {source}")
        if source == target:
            return MatchResult((op,), reads=(inner,), data=inner.input)
        if not _is_same_at_once(source, between, target):
            return no_match(op, lambda: f"{source} to {target} at once may be another value")
        return MatchResult((op,), reads=(inner,), data=None)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert isinstance(op, onnx.CastOp)
        if match.data is not None:
            return Replacement([], {op.output: match.data})
        merged = graph.make(
            onnx.CastOp,
            match.reads[0].operands,
            name_from=op,
            to=op.to,
            saturate=op.saturate,
            round_mode=op.round_mode,
        )
        return Replacement([merged], {op.output: merged.output})


def _is_lossless(source: Attribute, target: Attribute) -> bool:
    """Whether a Cast there and back gives every value again."""
    if source in _WIDER:
        return target in _WIDER[source]
    if source == i1:
        return target in _DIGITS or target in _INTEGERS
    if source not in _INTEGERS:
        return False
    sign, bits = _INTEGERS[source]
    if target in _INTEGERS:
        target_sign, target_bits = _INTEGERS[target]
        return target_sign >= sign and target_bits >= bits
    return _DIGITS.get(target, 0) >= bits


def _is_same_at_once(source: Attribute, between: Attribute, target: Attribute) -> bool:
    """Whether one Cast gives what two do, the first of which loses nothing.

    What a float out of range gives as an integer is nobody's promise, and neither is how a number is
    written or rounded to a narrow float on the way.
    """
    if target == i1:
        return True
    if target in _INTEGERS:
        return between in _INTEGERS or (source not in _DIGITS and _is_lossless(source, target))
    return target in _DIGITS and (source in _DIGITS or target != bf16)
