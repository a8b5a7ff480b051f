"""How long does a conversion between layouts take?

An estimate from types and dims. Dims that are not known count as if they had a size that is usual for them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from xdsl.ir import SSAValue

from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_DTYPE
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.rewriting.graph_index import GraphIndex

USUAL_DIM: Final = 64
"""What a symbol of a dim counts as; the first dim of a tensor, the number of images, counts as 1."""

NANOSECONDS_PER_BYTE: Final = 0.04
"""Of a tensor that is transposed: read and written, along rows on one side only."""

LAUNCH: Final = 500.0
"""Nanoseconds that a conversion takes whatever its size."""

VIEW: Final = 100.0
"""Nanoseconds that a conversion costs that moves nothing: the ops around it are not fused."""

FUSION_LOST: Final = 1000.0
"""Nanoseconds that a conversion costs besides, where what it stands between might be one kernel."""


class _Usual(Mapping[Any, int]):
    """Any symbol -> its usual value."""

    def __getitem__(self, key: object) -> int:
        return USUAL_DIM

    def __contains__(self, key: object) -> bool:
        return True

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


_USUAL: Final = _Usual()


def sizes(graph: GraphIndex, value: SSAValue) -> tuple[int, ...]:
    """The dims of a tensor of known rank, guessed where they are not known."""
    shape = graph.shape(value) or ()
    return tuple(_size(dim, is_first=axis == 0) for axis, dim in enumerate(shape))


def _size(dim: DimExpr, *, is_first: bool) -> int:
    if dim.constant is not None:
        return dim.constant
    if is_first:
        return 1
    try:
        return max(dim.evaluate(_USUAL), 1)
    except (ValueError, ZeroDivisionError):
        return USUAL_DIM


def conversion_cost(graph: GraphIndex, value: SSAValue) -> float:
    """Nanoseconds that converting a value takes, a few where nothing moves in memory."""
    dims = sizes(graph, value)
    points = math.prod(dims[2:])
    if points == 1 or dims[1] == 1:
        return VIEW
    element = element_type(value.type)
    dtype = None if element is None else ELEMENT_TO_DTYPE.get(element)
    return LAUNCH + math.prod(dims) * (4 if dtype is None else dtype.itemsize) * NANOSECONDS_PER_BYTE
