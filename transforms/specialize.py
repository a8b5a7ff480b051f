"""Fixing the shapes of a function's inputs, so that shape inference can tell what depends on them.

A model may take its branches by the rank or the dims of its inputs; only with these given do all values
have a rank.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.utils.hints import isa

from onnxloom.errors import InputError
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.shape_inference import set_type


def specialize_inputs(function: FuncOp, shapes: Sequence[Sequence[int]]) -> None:
    """Gives the arguments of `function`, in order, static shapes.

    Raises:
        InputError: a shape contradicts the declared type of its argument.
    """
    args = function.body.block.args
    name = function.sym_name.data
    for index, (arg, shape) in enumerate(zip(args, shapes, strict=True)):
        element = element_type(arg.type)
        if element is None:
            raise InputError(f"input {index} of @{name} is no tensor")
        if isa(arg.type, TensorType) and not _fits(arg.type.get_shape(), shape):
            raise InputError(f"input {index} of @{name} is {arg.type}; it cannot have shape {list(shape)}")
        set_type(arg, TensorType(element, list(shape)))
    outputs = function.function_type.outputs
    function.properties["function_type"] = FunctionType.from_lists([a.type for a in args], outputs.data)


def _fits(declared: Sequence[int], shape: Sequence[int]) -> bool:
    return len(declared) == len(shape) and all(
        d in (s, DYNAMIC_INDEX) for d, s in zip(declared, shape, strict=True)
    )
