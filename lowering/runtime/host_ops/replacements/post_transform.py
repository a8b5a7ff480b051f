"""What ai.onnx.ml ops do to scores in the end."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from onnxloom.lowering.runtime.host_ops.replacements.activations import sigmoid

Array: TypeAlias = npt.NDArray[Any]

NAMES = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""In the order of the numbers that TreeEnsemble uses."""


def post_transform(scores: Array, name: str) -> Array:
    """Scores `[rows, classes]` transformed as `name` says; of a single one only PROBIT makes another.

    Raises ValueError for an unknown name.
    """
    if name not in NAMES:
        raise ValueError(f"unknown post_transform {name!r}")
    if name == "PROBIT":
        return probit(scores)
    if name == "NONE" or scores.shape[1] == 1:
        return scores
    if name == "LOGISTIC":
        return sigmoid(scores)
    largest = scores.max(axis=1, keepdims=True, initial=-np.inf)
    e: Array = np.exp(scores - largest)
    if name == "SOFTMAX_ZERO":  # scores of 0 stay 0
        counts = np.abs(scores) > 1e-7
        total = np.where(counts, e, 0).sum(axis=1, keepdims=True)
        zeros: Array = scores * np.exp(-largest)
        chosen: Array = np.where(counts, e, zeros)
        return (chosen / total).astype(scores.dtype)
    return (e / e.sum(axis=1, keepdims=True)).astype(scores.dtype)


def two_scores(score: Array, name: str, opposite: Array) -> Array:
    """Both scores of two classes, of the second's `[rows, 1]`; `opposite` is the other without LOGISTIC.

    Raises ValueError for PROBIT, which leaves the other undefined.
    """
    if name == "PROBIT":
        raise ValueError("PROBIT of one score says nothing about a second class")
    if name == "LOGISTIC":
        return np.hstack([sigmoid(-score), sigmoid(score)])
    return np.hstack([opposite, score])


def probit(p: Array) -> Array:
    """The inverse of the normal distribution function, as good as Winitzki's approximation of that of erf."""
    x = 2 * p - 1
    log = np.log((1 - x) * (1 + x))
    half = 2 / (3.14159 * 0.147) + 0.5 * log
    root = np.sqrt(np.sqrt(half * half - log / 0.147) - half)
    return (np.sqrt(2) * np.where(x < 0, -root, root)).astype(p.dtype)
