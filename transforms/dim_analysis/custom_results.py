"""What do the shape functions of users say about the results of their ops?"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, BytesAttr, FloatAttr, IntegerAttr, NoneType, StringAttr
from xdsl.ir import Attribute, SSAValue

from onnxloom.dialects.custom_ops import CustomOp, TensorInfo
from onnxloom.dialects.onnx.attributes import text_of
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.dtypes import dtype_of_element, element_of_dtype
from onnxloom.errors import CustomOpError, ModelError, OnnxloomError
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.facts import Inferred, TensorFacts


def custom_results(
    op: CustomOp, operands: Sequence[TensorFacts | None], attributes: Mapping[str, Attribute], title: str
) -> Sequence[Inferred]:
    """What the shape function of `op` gives for these operands; nothing without one.

    A function that cannot do without the rank of an operand may raise as long as one is not known.

    Raises:
        CustomOpError: the function raises, or gives what is no type of a tensor. The message starts with
            `title`.
    """
    if op.shape_function is None:
        return ()
    infos = [None if facts is None else _info(facts) for facts in operands]
    given = {name: python_value(attribute) for name, attribute in attributes.items()}
    try:
        results = op.shape_function(*infos, **given)
    except Exception as error:
        if any(info is not None and info.shape is None for info in infos):
            return ()
        reason = f"{type(error).__name__}: {error}"
        raise CustomOpError(f"{title}: its shape function raised {reason}") from error
    listed = cast("list[Any]", results) if isinstance(results, list) else [results]
    try:
        return [_inferred(result) for result in listed]
    except (TypeError, ValueError, OnnxloomError) as error:
        raise CustomOpError(
            f"{title}: its shape function gave {results!r}; expected a pair (dtype, shape) for each result"
        ) from error


def count_given(operands: Sequence[SSAValue]) -> int:
    """How many operands functions get: those that are left out at the end are not passed."""
    count = len(operands)
    while count and isinstance(operands[count - 1].type, NoneType):
        count -= 1
    return count


def python_value(attribute: Attribute) -> Any:
    """An attribute as functions of users get it: numbers, texts, tuples of them, and arrays."""
    if isinstance(attribute, IntegerAttr | FloatAttr):
        return cast(Any, attribute).value.data
    if isinstance(attribute, StringAttr | BytesAttr):
        return text_of(attribute)
    if isinstance(attribute, ArrayAttr):
        return tuple(python_value(element) for element in cast("ArrayAttr[Attribute]", attribute))
    array = constant_value(attribute)
    return attribute if array is None else array


def _info(facts: TensorFacts) -> TensorInfo:
    shape = facts.shape
    dims = None if shape is None else tuple(d if d.constant is None else d.constant for d in shape)
    return TensorInfo(dtype_of_element(facts.element), dims)


def _inferred(result: Any) -> Inferred:
    dtype, shape = result
    element = None if dtype is None else element_of_dtype(np.dtype(dtype))
    return Inferred(None if shape is None else [_dim(dim) for dim in shape], element)


def _dim(dim: Any) -> DimExpr | None:
    if dim is None or isinstance(dim, DimExpr):
        return dim
    number = operator.index(dim)
    if number >= 0:
        return DimExpr.of(number)
    raise ModelError(f"a dim is {dim!r}")
