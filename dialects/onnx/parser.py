"""Which text does xDSL's parser get wrong or refuse that other ONNX-dialect tools write?

`OnnxParser` reads it: numbers given as bits, string tensors, `dense_resource` and `dense_disposable`,
location aliases defined after their use, encodings, attributes of unknown dialects, data types written
as types (`to = f32`). Constants with many elements become weights, never Python lists.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    NoneAttr,
    TensorType,
    UnrankedTensorType,
    UnregisteredAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.irdl import IRDLOperation
from xdsl.parser import ParserState
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Position
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from onnxloom.dialects.onnx.array_parser import ArrayParser
from onnxloom.dialects.onnx.attributes import decode, int_value
from onnxloom.dialects.onnx.constant import ConstantOp
from onnxloom.dialects.onnx.constraints import INT_ATTR, INTS_ATTR
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_PROTO
from onnxloom.dialects.onnx.element_types import si64
from onnxloom.dialects.onnx.foreign import FOREIGN_OPS, replace_foreign_ops
from onnxloom.dialects.onnx.fused import FusedOp
from onnxloom.dialects.onnx.locations import LocationParser
from onnxloom.dialects.onnx.narrow import is_array, is_int_attr
from onnxloom.dialects.onnx.op import OnnxOp
from onnxloom.dialects.onnx.quoting import LiteralError, unquote_bytes
from onnxloom.dialects.onnx.structure import CustomOp, EntryPointOp
from onnxloom.dialects.onnx.tensor_text import (
    parse_dense,
    parse_disposable,
    parse_resource,
    parse_sparse,
    tensor_of_bytes,
)
from onnxloom.dialects.onnx.weights import WeightsAttr

_PLAIN_TENSOR = re.compile(r"tensor<(?:(?:[0-9]+|\?)x)*(?:[a-z][A-Za-z0-9]*|!onnx\.String)>")
_OPEN_ATTRIBUTES = (CustomOp, EntryPointOp, FusedOp)
"""Ops whose other attributes are their own business, in whichever braces they are written."""


class _Lexer(MLIRLexer):
    """xDSL's lexer takes time exponential in the length of a string whose closing quote is missing."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"')


class OnnxParser(LocationParser, ArrayParser):
    """xDSL's parser, made to read everything the printer and other tools write."""

    def __init__(self, ctx: Any, input: str | bytes, name: str = "<unknown>") -> None:
        text = input if isinstance(input, str) else decode(input)
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(_Lexer(Input(text, name)))
        self._op_start: Position = 0
        self._types: dict[str, TypeAttribute] = {}
        self._resources: dict[str, list[WeightsAttr]] = {}

    def parse_operation(self) -> Operation:
        self._op_start = self.pos
        return super().parse_operation()

    def _get_op_by_name(self, name: str) -> type[Operation]:
        """An unknown op is an error where the op starts, not where its name ends."""
        found = FOREIGN_OPS.get(name)
        if found is None:
            found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if found is None:
            self.raise_error(f"Operation {name} is not registered", self._op_start, self._op_start)
        return found

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            module = super().parse_module(allow_implicit_module)
        except (ValueError, IndexError, OverflowError) as error:
            # xDSL takes for granted that digits are ASCII and few, and that names of blocks are names.
            self.raise_error(" ".join(map(str, error.args)) or type(error).__name__)
        replace_foreign_ops(module)
        return module

    # Strings: any bytes

    def parse_optional_str_literal(self) -> str | None:
        """Escaped text that is UTF-8 is a string, not bytes."""
        token = self._current_token
        if token.kind == MLIRTokenKind.STRING_LIT:
            self._consume_token()
            return decode(self._unquoted(token.text))
        if token.kind != MLIRTokenKind.BYTES_LIT:
            return None
        data = self._unquoted(token.text)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return None
        self._consume_token()
        return text

    def parse_optional_bytes_literal(self) -> bytes | None:
        if self._current_token.kind != MLIRTokenKind.BYTES_LIT:
            return None
        return self._unquoted(self._consume_token().text)

    def _unquoted(self, literal: str) -> bytes:
        try:
            return unquote_bytes(literal)
        except LiteralError as error:
            self.raise_error(str(error))

    # Types

    def parse_optional_type(self) -> TypeAttribute | None:
        """Plain tensor types are read once per spelling."""
        token = self._current_token
        if token.kind != MLIRTokenKind.BARE_IDENT or token.text != "tensor":
            return super().parse_optional_type()
        match = _PLAIN_TENSOR.match(self.lexer.input.content, token.span.start)
        if match is None:
            return super().parse_optional_type()
        found = self._types.get(match.group())
        if found is None:
            found = super().parse_optional_type()
            assert found is not None
            self._types[match.group()] = found
            return found
        self._resume_from(match.end())
        return found

    def _parse_tensor_attrs(self) -> TensorType[Attribute] | UnrankedTensorType[Attribute]:
        shape, element = self.parse_shape()
        encoding: Attribute = NoneAttr()
        if self.parse_optional_punctuation(",") is not None:
            encoding = self.parse_attribute()
        # An unranked tensor has no layout an encoding could describe: it is dropped.
        return UnrankedTensorType(element) if shape is None else TensorType(element, shape, encoding)

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: Position | None
    ) -> Any:
        """Attributes and types of unknown dialects are kept as text."""
        if attr_name == "onnx.dense_disposable":
            return parse_disposable(self)
        known = self.ctx.get_optional_type(attr_name) if is_type else self.ctx.get_optional_attr(attr_name)
        if known is not None and not issubclass(known, UnregisteredAttr):
            try:
                return super()._parse_dialect_type_or_attribute_body(
                    attr_name, is_type, is_opaque, starting_opaque_pos
                )
            except (VerifyException, ValueError) as error:
                if isinstance(error, ParseError):
                    raise
                self.raise_error(f"the parameters of {attr_name} are not right: {error}")
        unknown = _unknown(attr_name, is_type)
        if starting_opaque_pos is not None:
            end = self._raw_scan_balanced(starting_opaque_pos)
            body = self.lexer.input.content[starting_opaque_pos:end]
            self._resume_from(end)
        elif self._current_token.kind == MLIRTokenKind.LESS:
            body = self._parse_dialect_symbol_body()
        else:
            body = ""
        return unknown(attr_name, is_type, is_opaque, body)

    # Tensors

    def _parse_optional_builtin_parametrized_attr(self) -> Attribute | None:
        token = self._current_token
        if token.kind != MLIRTokenKind.BARE_IDENT:
            return None
        match token.text:
            case "dense":
                self._consume_token()
                return parse_dense(self)
            case "sparse":
                self._consume_token()
                return parse_sparse(self)
            case "dense_disposable":
                self._consume_token()
                return parse_disposable(self)
            case "dense_resource":
                self._consume_token()
                attr = parse_resource(self)
                self._resources.setdefault(cast(str, cast(Any, attr.place).key), []).append(attr)
                return attr
            case _:
                return super()._parse_optional_builtin_parametrized_attr()

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> DenseIntOrFPElementsAttr:
        return cast(DenseIntOrFPElementsAttr, parse_dense(self, type))

    def _parse_single_dialect_resources(self) -> None:
        self._parse_token(MLIRTokenKind.BARE_IDENT, "expected the name of a dialect")
        self.parse_punctuation(":")
        self.parse_comma_separated_list(self.Delimiter.BRACES, self._parse_blob)

    def _parse_external_resources(self) -> None:
        self._parse_single_dialect_resources_as_text()

    def _parse_single_dialect_resources_as_text(self) -> None:
        self.parse_attribute()

    def _parse_blob(self) -> None:
        key = self.parse_identifier_or_str_literal()
        self.parse_punctuation(":")
        text = self.parse_str_literal()
        if re.fullmatch("0x(?:[0-9a-fA-F]{2}){4,}", text) is None:
            self.raise_error(f"the data of resource {key} are not a hexadecimal string")
        # The first four bytes give the alignment.
        data = bytes.fromhex(text[10:])
        for attr in self._resources.get(key, ()):
            array = tensor_of_bytes(self, data, attr.tensor_type)
            attr.reference.data.fill(array)

    # Operations

    def _parse_generic_operation(self, op_type: type[Operation]) -> Operation:
        op = super()._parse_generic_operation(op_type)
        if isinstance(op, ConstantOp):
            return op.normalised()
        if isinstance(op, OnnxOp | EntryPointOp):
            _normalise(op)
        return op


@cache
def _unknown(name: str, is_type: bool) -> type[UnregisteredAttr]:
    """One class per name, so that equal text is an equal attribute."""
    return UnregisteredAttr.with_name_and_type(name, is_type)


def _normalise(op: IRDLOperation) -> None:
    """Puts attributes where and how this dialect keeps them."""
    definitions = op.get_irdl_definition().properties
    for name, value in list(op.properties.items()):
        definition = definitions.get(name)
        if definition is None:
            if isinstance(op, _OPEN_ATTRIBUTES) or name == "onnx_node_name":
                op.attributes[name] = op.properties.pop(name)
            continue
        if definition.constr is INT_ATTR:
            op.properties[name] = _int(value)
        elif definition.constr is INTS_ATTR and is_array(value):
            op.properties[name] = _ints(value)


def _int(value: Attribute) -> Attribute:
    if is_int_attr(value):
        return int_value(value.value.data) if value.type in (i32, i64) else value
    code = ELEMENT_TO_PROTO.get(value)
    return value if code is None else int_value(code)


def _ints(array: ArrayAttr[Attribute]) -> Attribute:
    if not any(is_int_attr(value) and value.type == si64 for value in array.data):
        return array
    values = [IntegerAttr(v.value.data, i64) if is_int_attr(v) else v for v in array.data]
    return ArrayAttr(values)
