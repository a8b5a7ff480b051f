"""How is one op written down in a record, and read back?

As its generic form without regions; operands are named by position, weights the model has by the op that
holds them, all other data inline, bit for bit:

    "onnx.Add"(%was_0.0.1.0.0.3#0, %new_0.0.1.0.0.4#0) <{...}> : (tensor<f32>, tensor<f32>) -> tensor<f32>
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import Any, Final, TypeVar

from xdsl.context import Context
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Position as TextPosition
from xdsl.utils.mlir_lexer import MLIRTokenKind

from onnxloom.dialects.onnx.tensor_text import print_dense
from onnxloom.dialects.onnx.text import OnnxParser, OnnxPrinter
from onnxloom.dialects.onnx.weights import RESOURCE, WeightsAttr
from onnxloom.errors import ModelError, PassError

KEPT: Final = "was"
"""File name in the key of weights the module held before: the key is the position of their op and a name."""

NameOf = Callable[[SSAValue], str]
PlaceOf = Callable[[WeightsAttr], str | None]
WeightsOf = Callable[[str], Attribute | None]
T = TypeVar("T")


def write_op(op: Operation, name_of: NameOf, place_of: PlaceOf) -> str:
    """The text of an op alone. `place_of` gives the key of weights that need not be written."""
    stream = StringIO()
    _Writer(stream, name_of, place_of).write(op)
    return stream.getvalue()


def write_type(attribute: Attribute) -> str:
    stream = StringIO()
    OnnxPrinter(stream=stream).print_attribute(attribute)
    return stream.getvalue()


class _Writer(OnnxPrinter):
    def __init__(self, stream: StringIO, name_of: NameOf, place_of: PlaceOf) -> None:
        super().__init__(stream=stream)
        self._name_of = name_of
        self._place_of = place_of

    def write(self, op: Operation) -> None:
        self.print_string(f'"{op.name}"')
        self.print_operands(op.operands)
        self._print_op_properties(op.properties)
        self.print_op_attributes(op.attributes)
        self.print_string(" : ")
        self.print_operation_type(op)

    def print_ssa_value(self, value: SSAValue) -> str:
        name = f"%{self._name_of(value)}"
        self.print_string(name)
        return name

    def _print_weights(self, attr: WeightsAttr) -> None:
        place = self._place_of(attr)
        if place is not None:
            self.print_string(f'#onnx.weights<"{KEPT}", "{place}" : ')
            self.print_attribute(attr.type)
            self.print_string(">")
        elif attr.place is not None and attr.place.file == RESOURCE:
            super()._print_weights(attr)
        else:  # a record needs no file beside it
            print_dense(self, attr.array(), attr.type, attr.tensor_type.element_type)


@dataclass(frozen=True)
class ReadOp:
    """An op read from a record, detached and with operands that stand for others."""

    op: Operation
    operands: tuple[str, ...]
    """What the text calls them."""

    types: tuple[Attribute, ...]
    """What types the text gives them."""


def read_op(text: str, context: Context, weights_of: WeightsOf) -> ReadOp:
    """Raises PassError when the text is not that of one op. `weights_of` resolves keys of kept weights."""
    return _guarded(text, lambda: _Reader(context, text, weights_of).read())


def read_type(text: str, context: Context) -> Attribute:
    """Raises PassError when the text is not a type."""
    return _guarded(text, lambda: _Reader(context, text, _no_weights).read_type())


def _no_weights(key: str) -> None:
    raise PassError(f"weights {key} in a type")


def _guarded(text: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except ParseError as error:
        reason = " ".join(error.msg.split())
    except (VerifyException, ModelError, ValueError, OverflowError, IndexError, RecursionError) as error:
        reason = " ".join(str(error).split())
    raise PassError(f"{text[:80]!r} does not parse: {reason[:200]}") from None


class _Reader(OnnxParser):
    def __init__(self, context: Context, text: str, weights_of: WeightsOf) -> None:
        super().__init__(context, text, "<record>")
        self._weights_of = weights_of

    def read(self) -> ReadOp:
        op = self.parse_operation()
        self._expect_end()
        if op.regions or op.successors or self.ssa_values:
            self.raise_error("expected one op without results' names and regions")
        names: dict[SSAValue, str] = {
            value: f"{name}#{index}"
            for name, values in self.forward_ssa_references.items()
            for index, value in values.items()
        }
        return ReadOp(op, tuple([names[value] for value in op.operands]), tuple(op.operand_types))

    def read_type(self) -> TypeAttribute:
        found = self.parse_type()
        self._expect_end()
        return found

    def _expect_end(self) -> None:
        if self._current_token.kind != MLIRTokenKind.EOF:
            self.raise_error("expected nothing more")

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: TextPosition | None
    ) -> Any:
        found = super()._parse_dialect_type_or_attribute_body(
            attr_name, is_type, is_opaque, starting_opaque_pos
        )
        if not isinstance(found, WeightsAttr):
            return found
        place = found.place
        if place is None or place.file != KEPT or not isinstance(place.key, str):
            self.raise_error("weights in a record are those of the model or inline")
        kept = self._weights_of(place.key)
        if not isinstance(kept, WeightsAttr) or kept.type != found.type:
            self.raise_error(f"the model has no weights of type {found.type} at {place.key}")
        return kept
