"""Which values are another one with its halves swapped, the second one negated."""

# ruff: noqa: E501 (lines of IR text)

from __future__ import annotations

import pytest
from rewriting import index_of, value

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.transforms.patterns.attention.rotated_halves import rotated_halves
from onnxloom.transforms.shape_inference import infer_shapes


def is_rotated(
    *, x: str = "2x6", start: str = "0", middle: str = "3", end: str = "6", axis: str = "1", step: str = "1", joined: int = -1, second: str = "",
) -> bool:  # fmt: skip
    def constant(name: str, text: str) -> str:
        words = text.split()
        return f"%{name} = onnx.Constant dense<[{', '.join(words)}]> : tensor<{len(words)}xi64>"

    c = {"a": start, "b": middle, "d": second or middle, "e": end, "x_": axis, "t": step}
    n = {name: f"tensor<{len(text.split())}xi64>" for name, text in c.items()}
    module = parse_module(f"""
    func.func @f(%x: tensor<{x}xf32>) -> tensor<*xf32> {{
      {" ".join(constant(name, text) for name, text in c.items())}
      %p = "onnx.Slice"(%x, %a, %b, %x_, %t) : (tensor<{x}xf32>, {n["a"]}, {n["b"]}, {n["x_"]}, {n["t"]}) -> tensor<*xf32>
      %q = "onnx.Slice"(%x, %d, %e, %x_, %t) : (tensor<{x}xf32>, {n["d"]}, {n["e"]}, {n["x_"]}, {n["t"]}) -> tensor<*xf32>
      %n = "onnx.Neg"(%q) : (tensor<*xf32>) -> tensor<*xf32>
      %r = "onnx.Concat"(%n, %p) <{{axis = {joined} : si64}}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      onnx.Return %r : tensor<*xf32>
    }}""")
    infer_shapes(module)
    return rotated_halves(index_of(module), value(module, "r")) is not None


def test_two_slices():
    assert is_rotated()
    assert is_rotated(x="2x?x6", axis="-1")


@pytest.mark.parametrize(
    "changes",
    [
        {"x": "6x6", "axis": "0"},
        {"step": "2"},
        {"x": "2x?"},
        {"x": "2x7", "end": "7"},
        {"start": "0 0", "middle": "2 3", "end": "2 6", "axis": "0 1", "step": "1 1", "second": "0 3"},
        {"middle": "2"},
        {"joined": 0},
    ],
)
def test_slices_that_are_not_halves(changes: dict[str, str]):
    assert not is_rotated(**changes)  # pyright: ignore[reportArgumentType]


def test_bounds_that_are_not_constant():
    module = parse_module("""
    func.func @f(%x: tensor<2x6xf32>, %m: tensor<1xi64>) -> tensor<*xf32> {
      %a = onnx.Constant dense<0> : tensor<1xi64>
      %e = onnx.Constant dense<6> : tensor<1xi64>
      %i = onnx.Constant dense<1> : tensor<1xi64>
      %none = "onnx.NoValue"() <{value}> : () -> none
      %p = "onnx.Slice"(%x, %a, %m, %i, %none) : (tensor<2x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<*xf32>
      %q = "onnx.Slice"(%x, %m, %e, %i, %none) : (tensor<2x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, none) -> tensor<*xf32>
      %n = "onnx.Neg"(%q) : (tensor<*xf32>) -> tensor<*xf32>
      %r = "onnx.Concat"(%n, %p) <{axis = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      onnx.Return %r : tensor<*xf32>
    }""")
    infer_shapes(module)
    assert rotated_halves(index_of(module), value(module, "r")) is None
