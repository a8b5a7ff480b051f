"""Tables whose halves are equal, and those of which that is not known."""

from __future__ import annotations

import pytest
from rewriting import index_of, value

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.transforms.patterns.attention.angle_cache import half_table
from onnxloom.transforms.shape_inference import infer_shapes

F = "tensor<2x1x5x3xf32>"


def has_half(line: str) -> bool:
    module = parse_module(f"""
    func.func @f(%f: {F}, %s: tensor<4xi64>) -> tensor<*xf32> {{
      {line}
      onnx.Return %t : tensor<*xf32>
    }}""")
    infer_shapes(module)
    return half_table(index_of(module), value(module, "t")) is not None


def joined(parts: int, axis: int) -> str:
    operands, types = ", ".join(["%f"] * parts), ", ".join([F] * parts)
    return f'%t = "onnx.Concat"({operands}) <{{axis = {axis} : si64}}> : ({types}) -> tensor<*xf32>'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (joined(2, -1), True),
        (joined(2, 3), True),
        (joined(2, 2), False),
        (joined(3, -1), False),
        (f'%t = "onnx.Exp"(%f) : ({F}) -> tensor<*xf32>', False),
        ('%t = "onnx.RandomNormal"() <{shape = [2, 1, 5, 6]}> : () -> tensor<*xf32>', False),
        (joined(2, 1), False),
    ],
)
def test_a_table_is_a_joined_half(line: str, expected: bool):
    assert has_half(line) == expected
