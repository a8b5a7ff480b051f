"""What do ops of ai.onnx.ml take? Rows of numbers; they compute in f32, or in f64 where they are given it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from onnx import TensorProto

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.operands import static_dim
from onnxloom.transforms.rewriting.declarative import Match, Tensor, op

Array = np.ndarray[Any, Any]

_COMPUTED: Final = {
    np.dtype(np.float32): np.float32,
    np.dtype(np.float64): np.float64,
    np.dtype(np.int32): np.float32,
    np.dtype(np.int64): np.float32,
}


def row_problem(match: Match, name: str = "X") -> Miss | None:
    """Whether an operand is anything but `[rows, features]` of numbers."""
    if match.graph.dtype(match[name]) not in _COMPUTED:
        return no_match(match.anchor, f"{name} is neither f32, f64, i32 nor i64")
    if match.graph.rank(match[name]) != 2:
        return no_match(match.anchor, f"{name} is not known to be rows of features")
    return None


def computed_dtype(match: Match, name: str = "X") -> type[np.generic]:
    """The type that is computed in."""
    dtype = match.graph.dtype(match[name])
    assert dtype is not None, "asked before"
    return _COMPUTED[dtype]


def as_computed(match: Match, name: str = "X") -> Tensor:
    """The operand in the type that is computed in."""
    value: Tensor = getattr(match.inputs, name)
    if match.graph.dtype(match[name]) == computed_dtype(match, name):
        return value
    return op.Cast(value, to=TensorProto.FLOAT)


def as_f32(match: Match, name: str = "X") -> Tensor:
    """The operand as f32."""
    value: Tensor = getattr(match.inputs, name)
    is_f32 = match.graph.dtype(match[name]) == np.float32
    return value if is_f32 else op.Cast(value, to=TensorProto.FLOAT)


def as_result(match: Match, value: Tensor, name: str = "X") -> Tensor:
    """What was computed as f32, the type of results."""
    if computed_dtype(match, name) is np.float32:
        return value
    return op.Cast(value, to=TensorProto.FLOAT)


def feature_count(match: Match, name: str = "X") -> int | None:
    """The number of features, where it is known."""
    return static_dim(match.graph, match[name], 1)


def list_or_tensor(match: Match, name: str) -> Array | None:
    """A list of floats, or the tensor that newer versions have in its place; None where both are absent."""
    tensor = match.attribute(f"{name}_as_tensor")
    return numbers(match, name) if tensor is None else np.asarray(tensor).reshape(-1)


def numbers(match: Match, name: str) -> Array | None:
    """An attribute that lists floats; None where it is absent or empty."""
    given = match.attribute(name)
    return np.array(given, np.float32) if given else None
