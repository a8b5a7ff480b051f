"""Which values are constants, and what arrays do they hold?"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, SSAValue, TypedAttribute
from xdsl.irdl import opt_prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.onnx.constraints import SPARSE_TENSOR_ATTR, TENSOR_ATTR
from onnxloom.dialects.onnx.dense import Array, DenseStringsAttr, dense_array, dense_attr
from onnxloom.dialects.onnx.dtypes import DType, element_of_dtype
from onnxloom.dialects.onnx.op import OnnxOp, onnx_op
from onnxloom.dialects.onnx.weights import WeightsAttr, weights_attr


@onnx_op(since_version=25)
class ConstantOp(OnnxOp):
    """A tensor known before the model runs: `onnx.Constant dense<1.0> : tensor<f32>`."""

    name = "onnx.Constant"

    output = result_def()
    value = opt_prop_def(TENSOR_ATTR)
    sparse_value = opt_prop_def(SPARSE_TENSOR_ATTR)
    traits = traits_def(Pure(), ConstantLike())

    def verify_(self) -> None:
        value = self.value if self.value is not None else self.sparse_value
        if value is None:
            raise VerifyException("has neither value nor sparse_value; expected one")
        assert isinstance(value, TypedAttribute)
        if value.get_type() != self.output.type:
            raise VerifyException(f"result output has type {self.output.type}; expected {value.get_type()}")

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        value = parser.parse_attribute()
        if not isinstance(value, TypedAttribute):
            parser.raise_error("expected a tensor constant after onnx.Constant")
        return cls.create(result_types=[value.get_type()], properties={"value": value}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.attributes:
            printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        value = self.value if self.value is not None else self.sparse_value
        if value is not None:
            printer.print_attribute(value)


def constant_attr(
    array: Array | np.generic[Any],
) -> DenseIntOrFPElementsAttr | DenseStringsAttr | WeightsAttr:
    """The attribute for an array: inline when small or made of strings, else by reference.

    The array of a large constant is kept, not copied: do not write to it afterwards.
    """
    array = np.asarray(array)
    if array.dtype.kind in "USTO" or array.size <= WeightsAttr.INLINE_LIMIT:
        return dense_attr(array)
    return weights_attr(_native(array))


def _native(array: Array) -> Array:
    """The machine's byte order, contiguous; the array itself when it already is."""
    dtype: DType = array.dtype
    if dtype.kind in "iufc" and not dtype.isnative:
        array = array.astype(dtype.newbyteorder("="))
    element_of_dtype(array.dtype)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def make_constant(array: Array | np.generic[Any] | Attribute) -> ConstantOp:
    """An `onnx.Constant` for an array, a numpy scalar, or a ready tensor attribute."""
    value = array if isinstance(array, Attribute) else constant_attr(array)
    assert isinstance(value, TypedAttribute)
    return ConstantOp.create(result_types=[value.get_type()], properties={"value": value})


def constant_value(source: SSAValue | Attribute | None) -> Array | None:
    """The read-only array of a constant value or tensor attribute; None when it is not a constant.

    Sparse constants are given dense. Raises ModelError when the data of a weight cannot be read.
    """
    if isinstance(source, SSAValue):
        owner = source.owner
        if not isinstance(owner, ConstantOp):
            return None
        source = owner.value if owner.value is not None else owner.sparse_value
    if isinstance(source, WeightsAttr):
        return source.array()
    if isinstance(source, DenseIntOrFPElementsAttr | DenseStringsAttr):
        return dense_array(source)
    return None
