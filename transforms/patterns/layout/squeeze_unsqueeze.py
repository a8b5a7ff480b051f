"""Squeeze(Unsqueeze(x, a), b) and Unsqueeze(Squeeze(x, a), b) -> x, one Squeeze(x, c) or one Unsqueeze(x, c).

What one op inserts and the other removes goes. The axes are constant, or those of a Squeeze without axes
whose input has known dims; for negative ones the rank is known. Squeeze(Unsqueeze(x, a)) without axes of its
own removes every 1, those of x too: Squeeze(x). Where one op would have to insert and remove, nothing is
done. An inner op that something else reads stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Final

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.transforms.patterns.layout.unit_axes import Axes, axes_of, with_inserted, without
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)

_MAX_AXES: Final = 8
"""Of one op: the choice among the axes is a search."""


@dataclass(frozen=True)
class _Single:
    """The op that does the work of two."""

    op_class: type[onnx.SqueezeOp] | type[onnx.UnsqueezeOp]
    axes: Axes | None
    """None: no axes are given; (): there is nothing to do."""


class SqueezeUnsqueezePattern(PatternOptimization):
    """A Squeeze and an Unsqueeze in a row become one op or none."""

    priority: ClassVar[int] = 0
    min_opset: ClassVar[int] = 13
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.SqueezeOp, onnx.UnsqueezeOp)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.SqueezeOp | onnx.UnsqueezeOp)
        other = onnx.UnsqueezeOp if isinstance(op, onnx.SqueezeOp) else onnx.SqueezeOp
        inner = graph.producer_of(op.data, other)
        if inner is None:
            return no_match(op, lambda: f"the input is not the result of an {other.onnx_name}")
        if isinstance(op, onnx.SqueezeOp) and is_none(op.axes):
            return MatchResult((op,), reads=(inner,), data=_Single(onnx.SqueezeOp, None))
        first, second = axes_of(graph, inner), axes_of(graph, op)
        if first is None or second is None:
            return no_match(op, "the axes are not known")
        if max(len(first), len(second)) > _MAX_AXES:
            return no_match(op, "there are too many axes")
        single = (
            _inserted_first(first, second) if other is onnx.UnsqueezeOp else _removed_first(first, second)
        )
        if single is None:
            return no_match(op, "one op would have to insert axes and remove others")
        return MatchResult((op,), reads=(inner,), data=single)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        outer, inner, single = match.ops[0], match.reads[0], match.data
        assert outer is not None and isinstance(single, _Single)
        data, result = inner.operands[0], outer.results[0]
        if single.axes == ():
            return Replacement([], {result: data})
        made: list[Operation] = []
        axes: SSAValue | None = None
        if single.axes is not None:
            made.append(graph.make_constant(np.array(single.axes, np.int64)))
            axes = made[0].results[0]
        made.append(graph.make(single.op_class, [data, axes], result_types=[result.type], name_from=outer))
        return Replacement(made, {result: made[-1].results[0]})


def _inserted_first(inserted: Axes, removed: Axes) -> _Single | None:
    """Both are axes of the tensor between the two ops."""
    if set(removed) <= set(inserted):
        rest = [axis for axis in inserted if axis not in removed]
        return _Single(onnx.UnsqueezeOp, without(rest, removed))
    if set(inserted) <= set(removed):
        rest = [axis for axis in removed if axis not in inserted]
        return _Single(onnx.SqueezeOp, without(rest, inserted))
    return None


def _removed_first(removed: Axes, inserted: Axes) -> _Single | None:
    """`removed` are axes of the input, `inserted` ones of the result; both hold only ones."""
    if len(removed) >= len(inserted):
        for kept in combinations(removed, len(inserted)):
            gone = [axis for axis in removed if axis not in kept]
            if without(kept, gone) == inserted:
                return _Single(onnx.SqueezeOp, tuple(gone))
        return None
    for added in combinations(inserted, len(inserted) - len(removed)):
        if sorted((*with_inserted(removed, added), *added)) == list(inserted):
            return _Single(onnx.UnsqueezeOp, added)
    return None
