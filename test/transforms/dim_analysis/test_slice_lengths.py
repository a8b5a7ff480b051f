"""Everything that knows what Slice takes agrees with the clamping that the standard prescribes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnx import helper

from onnxloom.dialects.onnx.slice_bounds import python_slice
from onnxloom.lowering.runtime.host_ops import evaluate
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.rules.slicing import slice_length

FAR = 2**63 - 1
STARTS = (-FAR, -7, -5, -3, -2, -1, 0, 1, 2, 4, 7, FAR)
ENDS = (-FAR - 1, *STARTS)


def taken(size: int, start: int, end: int, step: int) -> list[int]:
    """The indices that the text of Slice-13 describes."""
    start, end = (bound + size if bound < 0 else bound for bound in (start, end))
    if step > 0:
        start, end = min(max(start, 0), size), min(max(end, 0), size)
    else:
        start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    return list(range(start, end, step))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("step", [1, 2, -1, -2])
def test_slices_clamp_as_the_standard_says(size: int, step: int) -> None:
    data = np.arange(size)
    node = helper.make_node("Slice", ["x", "s", "e", "a", "t"], ["y"])
    for start, end in itertools.product(STARTS, ENDS):
        expected = taken(size, start, end, step)
        assert data[python_slice(start, end, step, size)].tolist() == expected
        bounds = [np.array([bound], np.int64) for bound in (start, end, 0, step)]
        assert evaluate(node, [data, *bounds])[0].tolist() == expected
        length = slice_length(DimExpr.of(size), DimExpr.of(start), DimExpr.of(end), step)
        assert length == DimExpr.of(len(expected))
