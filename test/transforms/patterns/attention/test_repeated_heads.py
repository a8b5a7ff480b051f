"""Which values repeat the heads of another one, and which only look like it."""

from __future__ import annotations

import pytest
from rewriting import index_of, value

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.transforms.patterns.attention.repeated_heads import repeated_heads
from onnxloom.transforms.shape_inference import infer_shapes


def times(
    *, source: str = "2x2x7x6", axis: int = 2, by: str = "1, 1, 4, 1, 1", target: str = "2, 8, 7, 6"
) -> int | None:  # fmt: skip
    """How often the heads are repeated."""
    wide, count = by.count(",") + 1, target.count(",") + 1
    module = parse_module(f"""
    func.func @f(%x: tensor<{source}xf32>) -> tensor<*xf32> {{
      %a = onnx.Constant dense<{axis}> : tensor<1xi64>
      %g = onnx.Constant dense<[{by}]> : tensor<{wide}xi64>
      %s = onnx.Constant dense<[{target}]> : tensor<{count}xi64>
      %u = "onnx.Unsqueeze"(%x, %a) : (tensor<{source}xf32>, tensor<1xi64>) -> tensor<*xf32>
      %e = "onnx.Expand"(%u, %g) : (tensor<*xf32>, tensor<{wide}xi64>) -> tensor<*xf32>
      %r = "onnx.Reshape"(%e, %s) : (tensor<*xf32>, tensor<{count}xi64>) -> tensor<*xf32>
      onnx.Return %r : tensor<*xf32>
    }}""")
    infer_shapes(module)
    found = repeated_heads(index_of(module), value(module, "r"))
    return None if found is None else found.times


def test_each_head_several_times_in_a_row():
    assert times() == 4
    assert times(axis=-3) == 4
    assert times(source="?x2x7x6", target="0, 8, 7, 6") == 4


@pytest.mark.parametrize(
    "changes",
    [
        {"axis": 1, "by": "1, 2, 1, 1, 1", "target": "2, 4, 7, 6"},
        {"source": "2x2x7", "by": "1, 1, 4, 1", "target": "2, 8, 7, 1"},
        {"source": "2x?x7x6", "target": "2, -1, 7, 6"},
        {"source": "2x2x1x6", "by": "1, 1, 4, 7, 1", "target": "2, 56, 1, 6"},
        {"source": "2x2x1x6", "by": "1, 1, 4, 7, 1", "target": "2, 8, 7, 6"},
        {"target": "2, 8, 7, 6, 1"},
        {"target": "2, 8, 6, 7"},
        {"target": "2, 56, 1, 6"},
    ],
)
def test_what_repeats_something_else(changes: dict[str, str]):
    assert times(**changes) is None  # pyright: ignore[reportArgumentType]
