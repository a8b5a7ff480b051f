"""Attention: heads as an axis of their own (rank 4) or folded into the last one (rank 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.dim_ops import floor_div
from onnxloom.transforms.dim_analysis.facts import Impossible, Inferred, Result, Rule, Shape
from onnxloom.transforms.dim_analysis.query import OpQuery


class _Heads(NamedTuple):
    """A query, key or value seen as (batch, heads, length, size)."""

    batch: DimExpr | None = None
    heads: DimExpr | None = None
    length: DimExpr | None = None
    size: DimExpr | None = None

    @staticmethod
    def of(query: OpQuery, index: int, heads_attr: str) -> _Heads:
        shape = query.shape(index)
        if shape is None:
            return _Heads()
        if len(shape) == 4:
            return _Heads(*shape)
        if len(shape) != 3:
            raise Impossible(f"input {index} has rank {len(shape)}; expected 3 or 4")
        heads = DimExpr.of(query.int_attr(heads_attr))
        if heads.constant == 0:
            raise Impossible(f"{heads_attr} is 0")
        return _Heads(shape[0], heads, shape[1], floor_div(shape[2], heads))


def _attention(query: OpQuery) -> Sequence[Result]:
    q = _Heads.of(query, 0, "q_num_heads")
    k, v = _Heads.of(query, 1, "kv_num_heads"), _Heads.of(query, 2, "kv_num_heads")
    rank = query.rank(0)
    total_k, total_v = _total(query, 4, k.length), _total(query, 5, v.length)
    output: Sequence[DimExpr | None] | None = None
    if rank == 4:
        output = [q.batch, q.heads, q.length, v.size]
    elif rank == 3:
        width = None if q.heads is None or v.size is None else q.heads * v.size
        output = [q.batch, q.length, width]
    return [
        Inferred(output, query.element(0)),
        Inferred([k.batch, k.heads, total_k, k.size], query.element(1)),
        Inferred([v.batch, v.heads, total_v, v.size], query.element(2)),
        Inferred([q.batch, q.heads, q.length, total_k], query.element(0)),
    ]


def _total(query: OpQuery, past: int, length: DimExpr | None) -> DimExpr | None:
    """Past and present positions together."""
    if not query.has(past):
        return length
    shape: Shape | None = query.shape(past)
    return shape[2] + length if length is not None and shape is not None and len(shape) == 4 else None


def _flex_attention(query: OpQuery) -> Sequence[Result]:
    q, v = query.shape(0), query.shape(2)
    for shape in (q, v):
        if shape is not None and len(shape) != 4:
            raise Impossible(f"an input has rank {len(shape)}; expected 4")
    lead = [None] * 3 if q is None else q[:3]
    return [Inferred([*lead, None if v is None else v[3]], query.element(0))]


RULES: Final[dict[type[Operation], Rule]] = {
    onnx.AttentionOp: _attention,
    onnx.FlexAttentionOp: _flex_attention,
}
