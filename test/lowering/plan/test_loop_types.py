"""Kernels trust the declared types of a loop's body, so that values of other types never reach them."""

from __future__ import annotations

import numpy as np
import pytest
from text_models import compiled

from onnxloom.errors import ModelError

pytestmark = pytest.mark.filterwarnings("ignore::onnxloom.HostStepWarning")

LOOP = """agraph (int64 m, float[N] x) => (float[K] y) {{
    y = Loop(m, , x) <body = b (int64 i, bool g, {declared} v) => (bool go, {result} o) {{
        go = Identity(g)
        o = Neg(v)
    }}>
}}"""

SCAN = """agraph (float[N] x, float[T, N] rows) => (float[K] y) {{
    y = Scan <num_scan_inputs = 1, body = b ({declared} s, float[M] row) => ({result} o) {{
        o = Add(s, row)
    }}> (x, rows)
}}"""


@pytest.mark.parametrize("declared", ["float[2]", "float[50000]"])
def test_shapes_that_a_loop_body_does_not_declare(declared: str) -> None:
    model = compiled(LOOP.format(declared=declared, result="float[K]"))
    with pytest.raises(ModelError, match=r"has shape \[5\]; the model declares"):
        model(np.array(1), np.ones(5, np.float32))


def test_shapes_that_a_scan_body_does_not_declare() -> None:
    model = compiled(SCAN.format(declared="float[50000]", result="float[K]"))
    with pytest.raises(ModelError, match=r"has shape \[5\]; the model declares"):
        model(np.ones(5, np.float32), np.ones((2, 5), np.float32))


def test_element_types_that_a_loop_does_not_declare() -> None:
    # What is inferred more than once ends with the types that the values have: here nothing is inferred.
    declared = LOOP.format(declared="double[K]", result="double[K]")
    model = compiled(declared, opt_level=0, skip_passes=("shape-inference",))
    with pytest.raises(ModelError, match="has elements of type float32; the model declares float64"):
        model(np.array(2), np.ones(5, np.float32))
