"""How are LayerNormalization and RMSNormalization built from what a match found?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import NoneType
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.normalization.parameters import Parameter, materialized, ones
from onnxloom.transforms.rewriting.graph_index import GraphIndex


@dataclass(frozen=True)
class TrailingNorm:
    """A normalization over all axes from one to the last."""

    data: SSAValue
    axis: int
    """Negative."""

    epsilon: float
    output: SSAValue
    """What the normalization takes the place of; its type is the result's."""

    scale: Parameter | None = None
    bias: Parameter | None = None
    """LayerNormalization's only."""


def make_layer_norm(graph: GraphIndex, found: TrailingNorm) -> list[Operation]:
    """Ops whose last is the LayerNormalization."""
    ops, scale = _scale(graph, found)
    bias = None if found.bias is None else materialized(graph, found.bias, ops)
    types: list[Attribute] = [found.output.type, NoneType(), NoneType()]
    norm = graph.make(
        onnx.LayerNormalizationOp,
        [found.data, scale, bias],
        result_types=types,
        name_from=_last(found),
        axis=found.axis,
        epsilon=found.epsilon,
        stash_type=_stash_type(graph, found.data),
    )
    return [*ops, norm]


def make_rms_norm(graph: GraphIndex, found: TrailingNorm) -> list[Operation]:
    """Ops whose last is the RMSNormalization."""
    ops, scale = _scale(graph, found)
    norm = graph.make(
        onnx.RMSNormalizationOp,
        [found.data, scale],
        result_types=[found.output.type],
        name_from=_last(found),
        axis=found.axis,
        epsilon=found.epsilon,
        stash_type=_stash_type(graph, found.data),
    )
    return [*ops, norm]


def _scale(graph: GraphIndex, found: TrailingNorm) -> tuple[list[Operation], SSAValue]:
    ops: list[Operation] = []
    if found.scale is not None:
        return ops, materialized(graph, found.scale, ops)
    dtype: np.dtype[Any] | None = graph.dtype(found.output)
    assert dtype is not None, "a result of Div or Mul has an element type"
    ops = ones(graph, found.data, found.axis, dtype)
    return ops, ops[-1].results[0]


def _last(found: TrailingNorm) -> Operation | None:
    """The op whose node name the normalization takes over."""
    owner = found.output.owner
    return owner if isinstance(owner, Operation) else None


def _stash_type(graph: GraphIndex, data: SSAValue) -> int | None:
    """The type to compute in, None for the default: f32, from which doubles would lose digits."""
    return TensorProto.DOUBLE if graph.dtype(data) == np.float64 else None
