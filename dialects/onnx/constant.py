"""Which values are constants, and what arrays do they hold?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, UnrankedTensorType, i64
from xdsl.ir import Attribute, SSAValue, TypedAttribute
from xdsl.irdl import opt_prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.onnx.attributes import text_of
from onnxloom.dialects.onnx.constraints import SPARSE_TENSOR_ATTR, TENSOR_ATTR, TypeSet
from onnxloom.dialects.onnx.dense import Array, DenseStringsAttr, dense_array, dense_attr
from onnxloom.dialects.onnx.dtypes import DType, element_of_dtype
from onnxloom.dialects.onnx.element_types import ELEMENT_TYPES
from onnxloom.dialects.onnx.narrow import compatible, is_dense, is_ranked
from onnxloom.dialects.onnx.op import OnnxOp, onnx_op
from onnxloom.dialects.onnx.tensor_text import parse_dense, print_tensor
from onnxloom.dialects.onnx.weights import WeightsAttr, weights_attr

_TENSOR = TypeSet.of(*(f"tensor({name})" for name in ELEMENT_TYPES))


@onnx_op(since_version=25)
class ConstantOp(OnnxOp):
    """A tensor known before the model runs: `onnx.Constant dense<1.0> : tensor<f32>`."""

    name = "onnx.Constant"

    output = result_def(_TENSOR)
    value = opt_prop_def(TENSOR_ATTR)
    sparse_value = opt_prop_def(SPARSE_TENSOR_ATTR)
    traits = traits_def(Pure(), ConstantLike())

    def verify_(self) -> None:
        value = self.value if self.value is not None else self.sparse_value
        if value is None:
            raise VerifyException("has neither value nor sparse_value; expected one")
        assert isinstance(value, TypedAttribute)
        if not compatible(value.get_type(), self.output.type):
            raise VerifyException(f"result output has type {self.output.type}; expected {value.get_type()}")

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        properties = {name: attributes.pop(name) for name in CONSTANT_FORMS if name in attributes}
        start = parser.pos
        value = _parse_value(parser)
        if value is not None:
            if not isinstance(value, TypedAttribute) or not is_ranked(value.get_type()):
                parser.raise_error("expected a tensor constant, dense<...>", start)
            properties["value"] = value
        result_type: Attribute = UnrankedTensorType(i64)
        if parser.parse_optional_punctuation(":") is not None:
            result_type = parser.parse_type()
        elif isinstance(value, TypedAttribute):
            result_type = value.get_type()
        op = cls.create(result_types=[result_type], properties=properties, attributes=attributes)
        return op.normalised()

    def normalised(self) -> ConstantOp:
        """Itself, or with one of the standard's short forms (`value_ints = [1, 2]`) made `value`."""
        for form, convert in CONSTANT_FORMS.items():
            found = self.properties.get(form, self.attributes.get(form))
            if found is not None and convert is not None:
                op = make_constant(convert(found))
                op.attributes.update(self.attributes)
                op.attributes.pop(form, None)
                return op
            if form in self.attributes:
                self.properties[form] = self.attributes.pop(form)
        return self

    def print(self, printer: Printer) -> None:
        value = self.properties.get("value")
        is_plain = isinstance(value, TypedAttribute) and value.get_type() == self.output.type
        attributes = self.attributes if is_plain else {**self.attributes, **self.properties}
        if attributes:
            printer.print_op_attributes(attributes)
        if isinstance(value, TypedAttribute) and is_plain:
            printer.print_string(" ")
            print_tensor(printer, value)
            return
        printer.print_string(" : ")
        printer.print_attribute(self.output.type)


def _parse_value(parser: Parser) -> Attribute | None:
    if parser.parse_optional_keyword("dense") is not None:
        return parse_dense(parser)
    return parser.parse_optional_attribute()


def _strings_array(attr: Attribute) -> Array:
    array = np.array([text_of(element) for element in cast(Any, attr).data], dtype=object)
    return array.reshape(-1)


def _numbers(dtype: type[np.generic[Any]]) -> Callable[[Attribute], Array]:
    return lambda attr: np.array([element.value.data for element in cast(Any, attr).data], dtype=dtype)


def _number(dtype: type[np.generic[Any]]) -> Callable[[Attribute], Array]:
    return lambda attr: np.array(cast(Any, attr).value.data, dtype=dtype)


CONSTANT_FORMS: dict[str, Callable[[Attribute], Array] | None] = {
    "value": None,
    "sparse_value": None,
    "value_float": _number(np.float32),
    "value_floats": _numbers(np.float32),
    "value_int": _number(np.int64),
    "value_ints": _numbers(np.int64),
    "value_string": lambda attr: np.array(text_of(cast(Any, attr)), dtype=object),
    "value_strings": _strings_array,
}
"""How the attribute of each of the standard's short forms becomes an array."""


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
    if isinstance(source, DenseStringsAttr) or is_dense(source):
        return dense_array(source)
    return None
