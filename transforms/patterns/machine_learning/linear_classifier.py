"""LinearClassifier(X; coefficients, ..) -> labels[ArgMax(s)], transform(s), s = Gemm(X, coefficients, ..)

The transform is none, the logistic function or a softmax. Of two classes with one row of coefficients the
scores are -s and s, and the second class is chosen where the transformed s is above 0, or above 0.5 of the
logistic function.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from onnx import TensorProto
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.machine_learning.features import as_result, row_problem
from onnxloom.transforms.patterns.machine_learning.linear import coefficient_rows, scores
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor, op
from onnxloom.transforms.rewriting.pattern import Numerics


class LinearClassifierPattern(DecomposePattern):
    """A linear classifier becomes a product and the choice of a label."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.LinearClassifierOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def requirements(self, match: Match) -> Miss | None:
        problem = row_problem(match)
        if problem is not None:
            return problem
        if match.attribute("classlabels_strings"):
            return no_match(match.anchor, "the labels are strings")
        rows = _row_count(match)
        if not rows:
            return no_match(match.anchor, "there are no intercepts, one per class")
        if coefficient_rows(match, rows) is None:
            return no_match(match.anchor, "there are fewer coefficients than classes times features")
        labels = match.attribute("classlabels_ints") or ()
        if len(labels) != (2 if _is_binary(match) else rows):
            return no_match(match.anchor, "there is not one label per class")
        if match.attribute("post_transform") not in ("NONE", "LOGISTIC", "SOFTMAX"):
            return no_match(match.anchor, f"what follows is {match.attribute('post_transform')}")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor]:
        rows = coefficient_rows(match, _row_count(match))
        assert rows is not None, "asked before"
        score = scores(match, rows)
        if _is_binary(match):
            score = op.Concat(op.Neg(score), score, axis=1)
        transformed = _transformed(score, match.attribute("post_transform"))
        labels = np.array(match.attribute("classlabels_ints"), np.int64)
        return op.Gather(labels, self._best(match, score, transformed)), as_result(match, transformed)

    def _best(self, match: Match, score: Tensor, transformed: Tensor) -> Tensor:
        if not _is_binary(match):
            return op.ArgMax(score, axis=1, keepdims=0)
        least = 0.5 if match.attribute("post_transform") == "LOGISTIC" else 0.0
        second = op.Gather(transformed, np.array(1, np.int64), axis=1)
        return op.Cast(op.Greater(second, least), to=TensorProto.INT64)


def _row_count(match: Match) -> int:
    """Rows of coefficients: one per intercept."""
    return len(match.attribute("intercepts") or ())


def _is_binary(match: Match) -> bool:
    return _row_count(match) == 1 and len(match.attribute("classlabels_ints") or ()) == 2


def _transformed(score: Tensor, name: str) -> Tensor:
    if name == "LOGISTIC":
        return op.Sigmoid(score)
    return op.Softmax(score, axis=1) if name == "SOFTMAX" else score
