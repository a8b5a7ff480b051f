"""What do ops of ai.onnx.ml do to scores in the end? An expression for each `post_transform`.

What two classes with one score get is not said by the standard; this is what runtimes do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from onnx import TensorProto

from onnxloom.transforms.rewriting.declarative import Tensor, op

TRANSFORMS: Final = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""By the numbers of TreeEnsemble."""

_NEAR_ZERO: Final = 1e-7
_WINITZKI: Final = 0.147
_PI: Final = 3.14159


def transformed(scores: Tensor, name: str, count: int) -> Tensor:
    """`[rows, count]` as `name` says; of a single score only PROBIT makes another."""
    if name == "PROBIT":
        return probit(scores)
    if name == "NONE" or count == 1:
        return scores
    if name == "LOGISTIC":
        return op.Sigmoid(scores)
    if name == "SOFTMAX":
        return op.Softmax(scores, axis=1)
    # Scores of 0 stay 0, and do not count.
    largest = op.ReduceMax(scores, [1], keepdims=1)
    is_counted = op.Greater(op.Abs(scores), _NEAR_ZERO)
    powers = op.Exp(scores - largest)
    total = op.ReduceSum(op.Where(is_counted, powers, 0.0), [1], keepdims=1)
    return op.Where(is_counted, powers, scores * op.Exp(op.Neg(largest))) / total


def probit(p: Tensor) -> Tensor:
    """The inverse of the normal distribution function, by Winitzki's approximation of that of erf."""
    x = p * 2.0 - 1.0
    log = op.Log((1.0 - x) * (x + 1.0))
    half = log * 0.5 + 2.0 / (_PI * _WINITZKI)
    root = op.Sqrt(op.Sqrt(half * half - log * (1.0 / _WINITZKI)) - half)
    return op.Where(op.Less(x, 0.0), op.Neg(root), root) * math.sqrt(2.0)


def two_scores(score: Tensor, name: str, opposite: Tensor) -> Tensor:
    """Both scores of two classes, of the second's `[rows, 1]`; `opposite` is the other without LOGISTIC."""
    if name == "LOGISTIC":
        return op.Concat(op.Sigmoid(op.Neg(score)), op.Sigmoid(score), axis=1)
    return op.Concat(opposite, score, axis=1)


def second_above(score: Tensor, least: float) -> Tensor:
    """1 where the score `[rows, 1]` of the second class is above `least`, else 0: the number of the class."""
    return op.Cast(op.Greater(op.Squeeze(score, [1]), least), to=TensorProto.INT64)


def chosen(best: Tensor, numbers: Sequence[int] | None, strings: Sequence[str] | None) -> Tensor:
    """The label of each class number."""
    labels: np.ndarray[Any, Any] = np.array(strings, object) if strings else np.array(numbers, np.int64)
    return op.Gather(labels, best)
