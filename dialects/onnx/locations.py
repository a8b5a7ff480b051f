"""How are source locations read, aliases that are defined after their use included?

MLIR prints `loc(#loc1)` on operations and `#loc1 = loc("model.onnx":3:1)` at the end of the file. Such
a use becomes a placeholder that `parse_module` replaces when the file has been read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, BlockArgument, Operation
from xdsl.parser import Parser
from xdsl.utils.mlir_lexer import MLIRTokenKind

_PLACEHOLDER: Final = "\0alias "


class LocationParser(Parser):
    """Reads `loc(...)` in all of MLIR's spellings."""

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        self._uses_alias_early = False
        module = super().parse_module(allow_implicit_module)
        if self._uses_alias_early:
            self._fill_in(module)
        return module

    def _parse_location(self) -> LocationAttr:
        token = self._current_token
        if token.kind == MLIRTokenKind.HASH_IDENT:
            return self._parse_location_alias()
        text = self.parse_optional_str_literal()
        if text is not None:
            return self._parse_after_name(text)
        word = self.parse_identifier(context_msg=" in a location")
        match word:
            case "unknown":
                return UnknownLoc()
            case "callsite":
                with self.in_parens():
                    callee = self._parse_location()
                    self.parse_keyword("at")
                    return CallSiteLoc(callee, self._parse_location())
            case "fused":
                return self._parse_fused()
            case _:
                self.raise_error(f"{word} is not a kind of location", token.span)

    def _parse_location_alias(self) -> LocationAttr:
        token = self._consume_token()
        found = self.attribute_aliases.get(token.text)
        if found is None:
            self._uses_alias_early = True
            return NameLoc(StringAttr(_PLACEHOLDER + token.text), NoneAttr())
        if not isinstance(found, LocationAttr):
            self.raise_error(f"{token.text} is not a location", token.span)
        return found

    def _parse_after_name(self, text: str) -> LocationAttr:
        if self.parse_optional_punctuation(":") is not None:
            line, column = self._parse_line_and_column()
            return FileLineColLoc(StringAttr(text), IntAttr(line), IntAttr(column))
        nested: Attribute = NoneAttr()
        if self._current_token.kind == MLIRTokenKind.L_PAREN:
            with self.in_parens():
                nested = self._parse_location()
        return NameLoc(StringAttr(text), nested)

    def _parse_line_and_column(self) -> tuple[int, int]:
        """The start of a range; where it ends is not kept."""
        line = self.parse_integer(allow_boolean=False, allow_negative=False)
        column = 0
        if self.parse_optional_punctuation(":") is not None:
            column = self.parse_integer(allow_boolean=False, allow_negative=False)
        if self.parse_optional_keyword("to") is not None:
            self.parse_optional_integer(allow_boolean=False, allow_negative=False)
            self.parse_punctuation(":")
            self.parse_integer(allow_boolean=False, allow_negative=False)
        return line, column

    def _parse_fused(self) -> LocationAttr:
        metadata: Attribute = NoneAttr()
        if self.parse_optional_punctuation("<") is not None:
            metadata = self.parse_attribute()
            self.parse_punctuation(">")
        parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
        return FusedLoc(ArrayAttr(parts), metadata)

    def _fill_in(self, module: ModuleOp) -> None:
        def resolve(location: Attribute) -> Attribute:
            return _resolve(location, self._alias_after_use)

        for op in module.walk():
            op.location = cast(LocationAttr, resolve(op.location))
            for argument in _arguments(op):
                argument.location = cast(LocationAttr, resolve(argument.location))

    def _alias_after_use(self, name: str) -> Attribute:
        found = self.attribute_aliases.get(name)
        if not isinstance(found, LocationAttr):
            self.raise_error(f"location alias {name} is not defined")
        return found


def _arguments(op: Operation) -> Iterator[BlockArgument]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def _resolve(location: Attribute, alias: Callable[[str], Attribute]) -> Attribute:
    match location:
        case NameLoc() if location.desc.data.startswith(_PLACEHOLDER):
            return _resolve(alias(location.desc.data.removeprefix(_PLACEHOLDER)), alias)
        case NameLoc():
            return NameLoc(location.desc, _resolve(location.location, alias))
        case CallSiteLoc():
            return CallSiteLoc(_resolve(location.callee, alias), _resolve(location.caller, alias))
        case FusedLoc():
            parts = [_resolve(part, alias) for part in cast(ArrayAttr[Attribute], location.locations).data]
            return FusedLoc(ArrayAttr(parts), location.metadata)
        case _:
            return location
