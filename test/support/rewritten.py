"""What is left of a small model after a rewrite?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import onnx as onnx_standard
from onnx import helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.lowering.evaluate_module import evaluate_module
from onnxloom.testing import Tolerance, differences

_OpT = TypeVar("_OpT", bound=Operation)
_UNCOUNTED = (
    ModuleOp,
    FuncOp,
    onnx.ConstantOp,
    onnx.NoValueOp,
    onnx.ReturnOp,
    onnx.YieldOp,
    onnx.EntryPointOp,
)


def op_names(module: ModuleOp) -> list[str]:
    """The ops that compute something, in order, without their dialect: `["Sub", "Div"]`."""
    ops = (op for op in module.walk() if not isinstance(op, _UNCOUNTED))
    return [op.name.removeprefix("onnx.") for op in ops]


def only(module: ModuleOp, op_class: type[_OpT]) -> _OpT:
    """The one op of a class."""
    found = [op for op in module.walk() if isinstance(op, op_class)]
    assert len(found) == 1, f"{len(found)} ops of class {op_class.__name__}"
    return found[0]


def array_of(value: Any) -> np.ndarray[Any, Any]:
    """The array of a constant value."""
    array = onnx.constant_value(value)
    assert array is not None, f"{value} is not constant"
    return array


def assert_compiles_to_the_same(
    module: ModuleOp, feeds: Mapping[str, Any], tolerance: Tolerance, *, opt_level: int = 3
) -> None:
    """The compiled module gives what the host gives."""
    compiled = compile_model(module.clone(), CompileOptions(cache=False, opt_level=opt_level))
    got = compiled.run(dict(feeds))
    found = differences(evaluate_module(module, feeds), dict(got), tolerance)
    assert not found, str(found[0])


def retyped(model: onnx_standard.ModelProto, element: int) -> onnx_standard.ModelProto:
    """A float model with all its inputs, outputs and initializers of f32 in another type."""
    copy = onnx_standard.ModelProto()
    copy.CopyFrom(model)
    infos = [*copy.graph.input, *copy.graph.output]
    for info in infos:
        if info.type.tensor_type.elem_type == onnx_standard.TensorProto.FLOAT:
            info.type.tensor_type.elem_type = element
    for tensor in copy.graph.initializer:
        if tensor.data_type == onnx_standard.TensorProto.FLOAT:
            array = numpy_helper.to_array(tensor).astype(helper.tensor_dtype_to_np_dtype(element))
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return copy
