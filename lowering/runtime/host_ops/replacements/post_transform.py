"""What ai.onnx.ml ops do to scores in the end."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from onnxloom.lowering.runtime.host_ops.replacements.activations import sigmoid

Array: TypeAlias = npt.NDArray[Any]

NAMES = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""In the order of the numbers that TreeEnsemble uses."""


def post_transform(scores: Array, name: str) -> Array:
    """Scores `[rows, classes]` transformed as `name` says. Raises ValueError for an unknown name."""
    if name == "NONE":
        return scores
    if name == "LOGISTIC":
        return sigmoid(scores)
    if name == "PROBIT":
        flat = [_probit(p) for p in scores.ravel().tolist()]
        return np.array(flat, scores.dtype).reshape(scores.shape)
    if name not in ("SOFTMAX", "SOFTMAX_ZERO"):
        raise ValueError(f"unknown post_transform {name!r}")
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    if name == "SOFTMAX_ZERO":  # scores of 0 stay 0
        e = np.where(np.abs(scores) > 1e-7, e, 0)
    total = e.sum(axis=1, keepdims=True)
    return (e / np.where(total == 0, 1, total)).astype(scores.dtype)


def _probit(p: float) -> float:
    """The inverse of the normal distribution function."""
    return NormalDist().inv_cdf(p) if 0 < p < 1 else np.nan
