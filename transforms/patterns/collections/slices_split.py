"""Slice(x, 0, b), Slice(x, b, c), .., Slice(x, y, dim) -> Split(x, [b, c - b, .., dim - y]).

The slices of `x` along one axis, whatever their order in the graph, tile its whole (static) dim without
gap or overlap, with steps of 1. Other readers of `x` do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.transforms.patterns.operands import static_dim
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)


@dataclass(frozen=True)
class _Tile:
    """A slice along one axis; `begin <= end`, both within the dim."""

    op: onnx.SliceOp
    axis: int
    begin: int
    end: int


class SlicesSplitPattern(PatternOptimization):
    """Slices that tile a tensor become one Split."""

    min_opset: ClassVar[int] = 13
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.SliceOp,)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.SliceOp)
        anchor = _tile(graph, op)
        if isinstance(anchor, Miss):
            return anchor
        if anchor.begin != 0:
            return no_match(op, "the match starts at the slice that begins with the axis")
        tiles = sorted(_siblings(graph, anchor), key=lambda tile: tile.begin)
        bounds = [0, *(tile.end for tile in tiles)]
        if any(tile.begin != end for tile, end in zip(tiles, bounds, strict=False)):
            return no_match(op, "the slices along the axis leave a gap or overlap")
        if bounds[-1] != static_dim(graph, op.data, anchor.axis):
            return no_match(op, "the slices do not reach the end of the axis")
        if len(tiles) < 2:
            return no_match(op, "one slice takes all")
        return MatchResult(tuple(tile.op for tile in tiles), data=tiles)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        tiles: list[_Tile] = match.data
        sizes = graph.make_constant(np.array([tile.end - tile.begin for tile in tiles], np.int64))
        split = graph.make(
            onnx.SplitOp,
            [tiles[0].op.data, sizes.output],
            result_types=[tile.op.output.type for tile in tiles],
            name_from=tiles[0].op,
            axis=tiles[0].axis,
        )
        results: dict[SSAValue, SSAValue] = {
            tile.op.output: part for tile, part in zip(tiles, split.results, strict=True)
        }
        return Replacement([sizes, split], results)


def _siblings(graph: GraphIndex, anchor: _Tile) -> list[_Tile]:
    """All slices of the same value along the same axis."""
    found: list[_Tile] = []
    for reader, position in graph.uses(anchor.op.data):
        if position != 0 or not isinstance(reader, onnx.SliceOp) or reader.parent is not anchor.op.parent:
            continue
        tile = _tile(graph, reader)
        if isinstance(tile, _Tile) and tile.axis == anchor.axis:
            found.append(tile)
    return found


def _tile(graph: GraphIndex, op: onnx.SliceOp) -> _Tile | Miss:
    """The slice as a range of one axis, or why it is none."""
    starts, ends, axes = (graph.constant_ints(v) for v in (op.starts, op.ends, op.axes))
    if starts is None or ends is None or len(starts) != 1:
        return no_match(op, "the bounds are not constant, or of several axes")
    if is_none(op.axes):
        axes = (0,)
    if axes is None:
        return no_match(op, "the axis is not constant")
    if not is_none(op.steps) and graph.constant_ints(op.steps) != (1,):
        return no_match(op, "the step is not 1")
    rank = graph.rank(op.data)
    if not rank:
        return no_match(op, "the rank is not known, or 0")
    axis = axes[0] % rank
    dim = static_dim(graph, op.data, axis)
    if dim is None:
        return no_match(op, "the size of the axis is not known")
    begin, end, _ = slice(starts[0], ends[0]).indices(dim)
    if begin >= end:
        return no_match(op, "the slice is empty")
    return _Tile(op, axis, begin, end)
