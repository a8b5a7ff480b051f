"""SVMRegressor(X; support_vectors, coefficients, rho) -> MatMul(K(X, support_vectors), coefficients) + rho

The kernel K is linear, poly ((gamma x v + coef0)^degree), sigmoid (tanh(gamma x v + coef0)) or rbf
(exp(-gamma |x - v|^2), with the difference itself: a product of X would cancel). Coefficients go into the
support vectors of a linear kernel. Without support vectors K is
X; no runtime has a `post_transform` here. With one_class the result is 1 where it is above 0, -1 elsewhere.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.machine_learning.features import (
    Array,
    as_computed,
    as_result,
    computed_dtype,
    feature_count,
    numbers,
    row_problem,
)
from onnxloom.transforms.rewriting.declarative import DecomposePattern, Inputs, Match, Tensor, op
from onnxloom.transforms.rewriting.pattern import Numerics

KERNELS: Final = ("LINEAR", "POLY", "RBF", "SIGMOID")


class SVMRegressorPattern(DecomposePattern):
    """A support vector regression becomes products and elementwise ops."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.SVMRegressorOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def requirements(self, match: Match) -> Miss | None:
        problem = row_problem(match)
        if problem is not None:
            return problem
        features, supports = feature_count(match), match.attribute("n_supports")
        coefficients, rho = numbers(match, "coefficients"), numbers(match, "rho")
        if not features or coefficients is None or coefficients.size != (supports or features):
            return no_match(match.anchor, "there is not one coefficient per support vector, or per feature")
        if supports and _size(match, "support_vectors") != supports * features:
            return no_match(match.anchor, "the support vectors do not have as many features as X")
        if rho is None:
            return no_match(match.anchor, "there is no rho")
        if supports and match.attribute("kernel_type") not in KERNELS:
            return no_match(match.anchor, f"the kernel is {match.attribute('kernel_type')}")
        if _needs_parameters(match) and _size(match, "kernel_params") != 3:
            return no_match(match.anchor, "the kernel has no gamma, coef0 and degree")
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor:
        dtype = computed_dtype(match)
        coefficients, rho = numbers(match, "coefficients"), numbers(match, "rho")
        assert coefficients is not None and rho is not None, "asked before"
        supports = match.attribute("n_supports")
        x, weights = as_computed(match), coefficients.astype(dtype).reshape(-1, 1)
        product = weighted(match, dtype, supports, x, weights) if supports else op.MatMul(x, weights)
        total = product + rho[:1].astype(dtype)
        if match.attribute("one_class"):
            total = op.Where(op.Greater(total, 0.0), np.array([1.0], dtype), np.array([-1.0], dtype))
        return as_result(match, total)


def weighted(match: Match, dtype: Any, supports: int, x: Tensor, coefficients: Array) -> Tensor:
    """K(x, support vectors) times `[supports, scores]`."""
    given = numbers(match, "support_vectors")
    assert given is not None, "asked before"
    vectors = given.reshape(supports, -1).astype(dtype)
    if match.attribute("kernel_type") == "LINEAR":
        # Coefficients are large and cancel: in f64, each weight is rounded once.
        weights = vectors.T.astype(np.float64) @ coefficients.astype(np.float64)
        return op.MatMul(x, np.ascontiguousarray(weights, dtype))
    return op.MatMul(_similarities(match, dtype, vectors, x), coefficients)


def _similarities(match: Match, dtype: Any, vectors: Array, x: Tensor) -> Tensor:
    """K(x, support vectors) as `[rows, supports]`, of a kernel that is not linear."""
    kernel = match.attribute("kernel_type")
    gamma, shift, degree = match.attribute("kernel_params") or (0.0, 0.0, 0.0)
    if kernel == "RBF":
        # Support vectors stand side by side: there are more of them than features.
        differences = op.Unsqueeze(x, [2]) - np.ascontiguousarray(vectors.T)
        return op.Exp(op.ReduceSumSquare(differences, [1], keepdims=0) * -gamma)
    shifted = op.MatMul(x, np.ascontiguousarray(vectors.T)) * gamma + shift
    return op.Tanh(shifted) if kernel == "SIGMOID" else op.Pow(shifted, np.array(int(degree), dtype))


def _needs_parameters(match: Match) -> bool:
    return bool(match.attribute("n_supports")) and match.attribute("kernel_type") != "LINEAR"


def _size(match: Match, name: str) -> int:
    return len(match.attribute(name) or ())
