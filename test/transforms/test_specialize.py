"""Shapes given to the arguments of a function, and those that they cannot have."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects.func import FuncOp

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import InputError
from onnxloom.transforms.specialize import specialize_inputs


def specialized(types: str, *shapes: Sequence[int]) -> list[str]:
    """The types of the arguments after it, of the signature too."""
    arguments = ", ".join(f"%a{index}: {text}" for index, text in enumerate(types.split("; ")))
    module = parse_module(f"func.func @f({arguments}) {{\n  onnx.Return\n}}")
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    specialize_inputs(function, shapes)
    found = [str(argument.type) for argument in function.body.block.args]
    assert found == [str(type_) for type_ in function.function_type.inputs]
    return found


def test_open_dims_and_ranks_are_given():
    found = specialized("tensor<?x3xf32>; tensor<*xi64>; tensor<2xf16>", (2, 3), (), (2,))
    assert found == ["tensor<2x3xf32>", "tensor<i64>", "tensor<2xf16>"]


@pytest.mark.parametrize("shape", [(2, 4), (2,), (2, 3, 1)])
def test_a_shape_that_contradicts_the_type(shape: Sequence[int]):
    with pytest.raises(InputError, match=r"input 0 of @f is tensor<\?x3xf32>; it cannot have shape"):
        specialized("tensor<?x3xf32>", shape)


def test_what_is_no_tensor_has_no_shape():
    with pytest.raises(InputError, match="input 1 of @f is no tensor"):
        specialized("tensor<2xf32>; !onnx.Seq<tensor<2xf32>>", (2,), (2,))
