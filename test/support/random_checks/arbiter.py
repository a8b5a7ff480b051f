"""Who is right where the host and what is checked differ? onnxruntime, without optimizations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto

from random_checks.stability import Stability


def outputs_of_onnxruntime(model: ModelProto, feeds: Mapping[str, Any]) -> dict[str, Any] | None:
    """None where it cannot run the model."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    bits = {name: array for name, array in feeds.items() if array.dtype.name == "bfloat16"}
    if bits:
        return None  # numpy's binding has no such type
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        return dict(zip([o.name for o in session.get_outputs()], session.run(None, dict(feeds)), strict=True))
    except Exception:  # it raises classes of its own for types and ops it does not have
        return None


def verdict(stability: Stability, model: ModelProto, feeds: Mapping[str, Any], got: Mapping[str, Any]) -> str:
    """`onnxruntime agrees with ...`."""
    other = outputs_of_onnxruntime(model, feeds)
    if other is None:
        return "onnxruntime does not run it"
    if any(not isinstance(value, np.ndarray) for value in other.values()):
        return "onnxruntime gives no tensor"
    if stability.explains(other):
        return "onnxruntime agrees with the host"
    same = all(_near(other[name], value) for name, value in got.items())
    return "onnxruntime agrees with what is checked" if same else "onnxruntime agrees with neither"


def _near(a: Any, b: Any) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "biu":
        return bool((a == b).all())
    return bool(np.allclose(a.astype(np.float64), b.astype(np.float64), 1e-3, 1e-5, equal_nan=True))
