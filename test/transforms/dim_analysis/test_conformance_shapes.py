"""Inferred types of the standard's own test cases, with the dims they have and with symbols instead."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnrankedTensorType,
)
from xdsl.dialects.func import FuncOp

from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects.onnx import ConstantOp, make_constant
from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.errors import ModelError
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.shape_inference import infer_shapes, set_type

Arrays = list[np.ndarray[Any, Any] | None]
SHARDS = 4


@cache
def _cases() -> list[TestCase]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the generators of the data overflow and divide by zero
        cases = load_model_tests(kind="node")
    return [case for case in cases if case.model is not None and case.data_sets]


def _arrays(values: Sequence[Any]) -> Arrays:
    """None for sequences and optionals."""
    arrays: Arrays = []
    for value in values:
        if isinstance(value, TensorProto):
            value = numpy_helper.to_array(value)
        arrays.append(np.asarray(value) if isinstance(value, np.ndarray | np.generic) else None)
    return arrays


def _function(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


def _make_symbolic(module: ModuleOp) -> None:
    """Dims of arguments become symbols, one for each size; results keep their element types only."""
    function = _function(module)
    block = function.body.block
    attributes: list[DictionaryAttr] = []
    for argument in block.args:
        names: dict[str, StringAttr] = {}
        if isinstance(argument.type, TensorType):
            shape = argument.type.get_shape()
            text = ",".join(f"{axis}:d{dim}" for axis, dim in enumerate(shape) if dim > 0)
            names = {"onnx.dim_params": StringAttr(text)}
            dims = [DYNAMIC_INDEX if dim > 0 else dim for dim in shape]
            set_type(argument, TensorType(argument.type.element_type, dims))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        attributes.append(DictionaryAttr(names))
    function.properties["arg_attrs"] = ArrayAttr(attributes)
    for op in module.walk():
        for result in op.results if not isinstance(op, ConstantOp) else ():
            element = element_type(result.type)
            if element is not None:
                set_type(result, UnrankedTensorType(element))
    function.properties["function_type"] = FunctionType.from_lists(
        block.arg_types, function.function_type.outputs.data
    )


def _fix_small_inputs(module: ModuleOp, inputs: Arrays) -> None:
    """Vectors and scalars among the inputs (axes, sizes, scales, ...) become constants."""
    block = _function(module).body.block
    for argument, array in zip(block.args, inputs, strict=False):
        if (
            array is not None
            and array.ndim < 2
            and array.size <= 16
            and element_type(argument.type) is not None
        ):
            constant = make_constant(array)
            first = block.first_op
            assert first is not None
            block.insert_op_before(constant, first)
            argument.replace_all_uses_with(constant.output)


def _symbol_values(inputs: Arrays) -> dict[str, int]:
    return {f"d{dim}": dim for array in inputs if array is not None for dim in array.shape}


def _compare(module: ModuleOp, inputs: Arrays, outputs: Arrays) -> Iterator[tuple[str, bool]]:
    """Complaints; and, as an empty one, whether the rank and all dims of an output are told."""
    infer_shapes(module)
    dims = DimAnalysis.of(module)
    values = _symbol_values(inputs)
    end = _function(module).body.block.last_op
    assert end is not None
    for value, array in zip(end.operands, outputs, strict=True):
        element = element_type(value.type)
        if array is None or element is None:
            continue
        if array.dtype.kind not in "OUS" and dtype_of_element(element) != array.dtype:
            yield f"element type {element}, observed {array.dtype}", False
        shape = dims.shape(value)
        if shape is None:
            yield "", False
            continue
        if len(shape) != array.ndim:
            yield f"rank {len(shape)}, observed {array.ndim}", False
            continue
        told = True
        for axis, (dim, actual) in enumerate(zip(shape, array.shape, strict=True)):
            if any(symbol.serial for symbol in dim.symbols()):
                told = False
            elif dim.evaluate(values) != actual:
                yield f"dim {axis} is {dim}, observed {actual}", False
        yield "", told


def _run(cases: Sequence[TestCase], *, symbolic: bool, constants: bool) -> tuple[list[str], int, int]:
    """Complaints; number of tensor results; number of those of which rank and all dims are told."""
    complaints: list[str] = []
    total = told = 0
    for case in cases:
        assert case.model is not None and case.data_sets is not None
        inputs, outputs = (_arrays(values) for values in case.data_sets[0])
        try:
            module = import_model(case.model)
        except ModelError:
            continue  # what import refuses is import's business
        if constants:
            _fix_small_inputs(module, inputs)
        if symbolic:
            _make_symbolic(module)
        try:
            found = list(_compare(module, inputs, outputs))
        except ModelError as error:
            found = [(str(error), False)]
        complaints += [f"{case.name}: {message}" for message, _ in found if message]
        total += sum(not message for message, _ in found)
        told += sum(is_told for message, is_told in found if not message)
    return complaints, total, told


@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize(
    ("symbolic", "constants", "share"),
    [(False, True, 0.95), (True, False, 0.7), (True, True, 0.9)],
    ids=["dims", "symbols", "symbols-and-constants"],
)
def test_inferred_types_agree_with_the_results(shard: int, symbolic: bool, constants: bool, share: float):
    complaints, total, told = _run(_cases()[shard::SHARDS], symbolic=symbolic, constants=constants)
    assert complaints == []
    assert told > share * total
