"""`onnx.rotary_embedding`: RotaryEmbedding with the Transposes of heads around it, in one pass over memory.

    [B, S, H, D] ──► Transpose(0, 2, 1, 3) ──► RotaryEmbedding ──► Transpose(0, 2, 1, 3) ──► [B, S, H, D]

One of the two is enough. An op is taken along where nothing else reads what lies between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, is_none
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.attention_sides import swapped_after, swapped_before
from onnxloom.transforms.fusion.early import is_known_early
from onnxloom.transforms.fusion.estimate import estimate
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.spaces import element_of, shape_of


@dataclass(frozen=True)
class Turned:
    """A RotaryEmbedding op with the Transposes around it."""

    rotary: onnx.RotaryEmbeddingOp
    before: onnx.TransposeOp | None
    after: onnx.TransposeOp | None

    @property
    def ops(self) -> tuple[Operation, ...]:
        """In order."""
        return tuple(op for op in (self.before, self.rotary, self.after) if op is not None)

    @property
    def source(self) -> SSAValue:
        """What is turned, `[batch, row, head, column]` behind a Transpose."""
        return self.rotary.X if self.before is None else self.before.data

    @property
    def result(self) -> SSAValue:
        """What it comes to, `[batch, row, head, column]` where a Transpose follows."""
        return self.rotary.Y if self.after is None else self.after.transposed


class RotaryEmbeddingFusion(FusionOpKindHelper):
    """See above."""

    kind: ClassVar[str] = "onnx.rotary_embedding"
    anchors: ClassVar[tuple[type[Operation], ...]] = (onnx.RotaryEmbeddingOp,)
    max_op_count: ClassVar[int] = 3
    benefit: ClassVar[int] = 11
    """Before attention, which could take its second Transpose alone."""

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        assert isinstance(anchor, onnx.RotaryEmbeddingOp)
        found = turned_heads(anchor)
        problem = _unfit(found)
        if problem is not None:
            return problem
        if is_known_early(anchor, dims):
            return Miss("the embedding computes from constants alone, before any kernel runs")
        if found.result.first_use is None:
            return Miss("nothing reads the result of the embedding")
        # Always worth it: each Transpose saves a pass over memory and nothing is computed twice.
        return Match(cls(), found.ops, [found.result], estimate(found.ops, [found.result]))

    def verify(self, body: Body) -> Miss | None:
        rotary = next((op for op in body.ops if isinstance(op, onnx.RotaryEmbeddingOp)), None)
        if rotary is None:
            return Miss("there is no rotary embedding in the body")
        found = turned_heads(rotary)
        # What is read outside is the last result: a Transpose whose result others read is not among them.
        if body.ops != found.ops:
            return Miss("the body is not a rotary embedding with the Transposes around it")
        return _unfit(found)


def turned_heads(rotary: onnx.RotaryEmbeddingOp) -> Turned:
    """What stands around a RotaryEmbedding op."""
    return Turned(rotary, swapped_before(rotary, rotary.X), swapped_after(rotary.Y))


def _unfit(found: Turned) -> Miss | None:
    rotary = found.rotary
    if len(found.ops) == 1:
        return Miss("no Transpose around the embedding can be taken along")
    if not is_none(rotary.position_ids):
        return Miss("rotary embedding with position ids has no kernel")
    element, shape = element_of(found.source), shape_of(found.source)
    if element not in (bf16, f16, f32) or shape is None or len(shape) != 4:
        return Miss("what is turned is no tensor of rank 4 with a kernel")
    for table in (rotary.cos_cache, rotary.sin_cache):
        if element_of(table) != element or len(shape_of(table) or ()) != 3:
            return Miss("a table does not have rank 3 and the element type of the value")
    turned = int_attr(rotary, "rotary_embedding_dim", 0) or shape[3]
    if turned % 2 or not 0 < turned <= shape[3]:
        return Miss("the columns of a head are not known, or cannot be turned in pairs")
    return None
