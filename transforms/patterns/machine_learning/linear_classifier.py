"""LinearClassifier(X; coefficients, ..) -> labels[ArgMax(s)], transform(s), s = Gemm(X, coefficients, ..)

Of two classes with one row of coefficients the scores are 1 - s and s, or Sigmoid(-s) and Sigmoid(s), and the
second class is chosen where s is above 0.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.machine_learning.features import as_result, row_problem
from onnxloom.transforms.patterns.machine_learning.linear import coefficient_rows, scores
from onnxloom.transforms.patterns.machine_learning.post_transforms import (
    TRANSFORMS,
    chosen,
    second_above,
    transformed,
    two_scores,
)
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
        rows = _row_count(match)
        if not rows:
            return no_match(match.anchor, "there are no intercepts, one per class")
        if coefficient_rows(match, rows) is None:
            return no_match(match.anchor, "there are fewer coefficients than classes times features")
        if _label_count(match) != (2 if _is_binary(match) else rows):
            return no_match(match.anchor, "there is not one label per class")
        transform = match.attribute("post_transform")
        if transform not in TRANSFORMS or (transform == "PROBIT" and _is_binary(match)):
            return no_match(match.anchor, f"what follows is {transform}")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> tuple[Tensor, Tensor]:
        rows, transform = coefficient_rows(match, _row_count(match)), match.attribute("post_transform")
        assert rows is not None, "asked before"
        score = scores(match, rows)
        if _is_binary(match):
            best, result = second_above(score, 0.0), two_scores(score, transform, 1.0 - score)
        else:
            best = op.ArgMax(score, axis=1, keepdims=0)
            result = transformed(score, transform, _row_count(match))
        labels = (match.attribute("classlabels_ints"), match.attribute("classlabels_strings"))
        return chosen(best, *labels), as_result(match, result)


def _row_count(match: Match) -> int:
    """Rows of coefficients: one per intercept."""
    return len(match.attribute("intercepts") or ())


def _label_count(match: Match) -> int:
    return len(match.attribute("classlabels_strings") or match.attribute("classlabels_ints") or ())


def _is_binary(match: Match) -> bool:
    return _row_count(match) == 1 and _label_count(match) == 2
