"""LinearRegressor(X; coefficients, intercepts) -> transform(Gemm(X, coefficients, intercepts; transB=1))"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.machine_learning.features import as_result, numbers, row_problem
from onnxloom.transforms.patterns.machine_learning.linear import coefficient_rows, scores
from onnxloom.transforms.patterns.machine_learning.post_transforms import TRANSFORMS, transformed
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor
from onnxloom.transforms.rewriting.pattern import Numerics


class LinearRegressorPattern(DecomposePattern):
    """A linear regression becomes a product."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.LinearRegressorOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def requirements(self, match: Match) -> Miss | None:
        problem = row_problem(match)
        if problem is not None:
            return problem
        targets, given = match.attribute("targets"), match.attribute("coefficients")
        rows = coefficient_rows(match, targets)
        if rows is None or rows.size != len(given):
            return no_match(match.anchor, "there is not one coefficient per target and feature")
        intercepts = numbers(match, "intercepts")
        if intercepts is not None and intercepts.size not in (1, targets):
            return no_match(match.anchor, "there is neither one intercept nor one per target")
        if match.attribute("post_transform") not in TRANSFORMS:
            return no_match(match.anchor, f"what follows is {match.attribute('post_transform')}")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        rows = coefficient_rows(match, match.attribute("targets"))
        assert rows is not None, "asked before"
        transform = match.attribute("post_transform")
        return as_result(match, transformed(scores(match, rows), transform, len(rows)))
