"""`onnx.attention`: Attention with what moves its heads around it; nothing is copied to reorder them.

    [B, S, H, D] ──► Transpose ──┐
    [B, S, H, D] ──► Transpose ──┼─► Attention ──► Transpose ──► [B, S, H, D]
            past ──► Concat ─────┘

Heads are read and written where they are, by strides. New keys and values go straight into the tensor that
joins them to the past ones, which others may read, too. `attention_sides.py` says what is read through.
"""

from __future__ import annotations

from typing import ClassVar, Final, Self

from xdsl.dialects.builtin import NoneType, f32, f64, i1
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, is_none, opt_float_attr, opt_int_attr
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_PROTO
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.attention_sides import Sides, sides_of
from onnxloom.transforms.fusion.early import is_known_early
from onnxloom.transforms.fusion.estimate import estimate
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.spaces import element_of, shape_of

FLOATS: Final = (f32, f64)


class AttentionFusion(FusionOpKindHelper):
    """See above."""

    kind: ClassVar[str] = "onnx.attention"
    anchors: ClassVar[tuple[type[Operation], ...]] = (onnx.AttentionOp,)
    max_op_count: ClassVar[int] = 10

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        assert isinstance(anchor, onnx.AttentionOp)
        sides = _sides(anchor)
        if isinstance(sides, Miss):
            return sides
        if is_known_early(anchor, dims):
            return Miss("the attention computes from constants alone, before any kernel runs")
        if sides.result.first_use is None:
            return Miss("nothing reads the result of the attention")
        joined = dict.fromkeys(side.joined for side in sides.inputs if side.joined is not None)
        results = [value for value in joined if any(use.operation not in sides.ops for use in value.uses)]
        results.append(sides.result)
        # Always worth it: each op saves a pass over memory and nothing is computed twice.
        return Match(cls(), sides.ops, results, estimate(sides.ops, results))

    def verify(self, body: Body) -> Miss | None:
        attention = next((op for op in body.ops if isinstance(op, onnx.AttentionOp)), None)
        if attention is None:
            return Miss("there is no attention in the body")
        sides = _sides(attention)
        if isinstance(sides, Miss):
            return sides
        for op in body.ops:
            if op not in sides.ops:
                return Miss(f"{op.name} is not read through by the attention")
        known = {sides.result, *(side.joined for side in sides.inputs)}
        if any(value not in known for value in body.results):
            return Miss("a value inside of the chain is read outside")
        return None


def _sides(op: onnx.AttentionOp) -> Sides | Miss:
    """What is read through around an attention that has a kernel."""
    if any(len(shape_of(value) or ()) != 4 for value in op.operands[:3]):
        return Miss("the operands of the attention do not have rank 4")
    sides = sides_of(op)
    if len(sides.ops) == 1:
        return Miss("no Transpose or Concat around the attention can be read through")
    read = [*(side.source for side in sides.inputs), *(side.past for side in sides.inputs), op.attn_mask]
    if any(value is not None and value.owner in sides.ops for value in read):
        return Miss("an operand of the attention is made by moving another one")
    return _unfit_attributes(op) or _unfit_types(sides) or _unfit_sizes(sides) or sides


def _unfit_attributes(op: onnx.AttentionOp) -> Miss | None:
    if any(not is_none(value) for value in op.operands[4:]):
        return Miss("the attention has past keys or a number of valid keys of its own")
    if any(not isinstance(result.type, NoneType) for result in op.results[1:]):
        return Miss("the attention has a second result")
    if any(int_attr(op, f"{side}_window_size", -1) != -1 for side in ("left", "right")):
        return Miss("attention within a window has no kernel")
    precision, element = opt_int_attr(op, "softmax_precision"), element_of(op.Q)
    if precision not in (None, 0, None if element is None else ELEMENT_TO_PROTO.get(element)):
        return Miss("attention with a softmax in another type has no kernel")
    return None


def _unfit_types(sides: Sides) -> Miss | None:
    element, mask = element_of(sides.attention.Q), sides.attention.attn_mask
    if element not in FLOATS:
        return Miss(f"attention of element type {element} has no kernel")
    values: list[SSAValue] = [
        *sides.attention.operands[1:3],
        *(side.past for side in sides.inputs if side.past),
    ]
    if any(element_of(value) != element for value in values):
        return Miss("the operands of the attention differ in type")
    if is_none(mask):
        return None
    shape = shape_of(mask)
    if element_of(mask) not in (i1, element):
        return Miss("the mask of the attention is neither of truth values nor of the type of the scores")
    if shape is None or not 2 <= len(shape) <= 4 or shape[-1] == 1:
        return Miss("the mask of the attention does not have rank 2 to 4, or is one of one key")
    return None


def _unfit_sizes(sides: Sides) -> Miss | None:
    (heads, depth), (key_heads, _) = (side.heads_and_columns for side in sides.inputs[:2])
    if min(heads, key_heads) < 1 or heads % key_heads:
        return Miss("the query heads are not a known multiple of the key heads")
    if depth == 0 or (depth < 0 and opt_float_attr(sides.attention, "scale") is None):
        return Miss("the width of a head is 0 or not known")
    return None
