"""Which matrix do the coefficients of a linear model make?"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.transforms.patterns.machine_learning.features import (
    as_computed,
    computed_dtype,
    feature_count,
    numbers,
)
from onnxloom.transforms.rewriting.declarative import Match, Tensor, op


def coefficient_rows(match: Match, rows: int) -> np.ndarray[Any, Any] | None:
    """`[rows, features]`; None where there are too few. What is beyond is not read."""
    given, features = numbers(match, "coefficients"), feature_count(match)
    if given is None or not features or given.size < rows * features:
        return None
    return given[: rows * features].reshape(rows, features).astype(computed_dtype(match))


def scores(match: Match, coefficients: np.ndarray[Any, Any]) -> Tensor:
    """X times the rows of coefficients, plus the intercepts."""
    dtype = computed_dtype(match)
    intercepts = numbers(match, "intercepts")
    added = np.zeros(1, dtype) if intercepts is None else intercepts.astype(dtype)
    return op.Gemm(as_computed(match), coefficients, added, transB=1)
