"""How are long attribute arrays read? Tree models have arrays of 100,000 numbers, mostly the same few.

An array of plain numbers and strings is cut with one regular expression, and each spelling of an
element becomes an attribute once. Anything else is left to xDSL.
"""

from __future__ import annotations

import re
from typing import Any, Final

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, f32, f64, i32, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.mlir_lexer import MLIRTokenKind

from onnxloom.dialects.onnx.element_types import si64
from onnxloom.dialects.onnx.quoting import LiteralError, unquote

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_NUMBER = r"-?[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?)?(?:\s*:\s*(?:si64|i64|i32|f32|f64)\b)?"
_ELEMENT = re.compile(f"{_STRING}|{_NUMBER}")
_ARRAY = re.compile(rf"\[\s*(?:{_STRING}|{_NUMBER})(?:\s*,\s*(?:{_STRING}|{_NUMBER}))*\s*\]")
_INTS: Final = {"si64": si64, "i64": i64, "i32": i32, "": i64}
_FLOATS: Final = {"f32": f32, "f64": f64, "": f64}


class ArrayParser(Parser):
    """Reads `[1 : i64, 2 : i64]`, `[0.5 : f32]` and `["a", "b"]` fast."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._elements: dict[str, Attribute] = {}

    def _parse_optional_array_attr(self) -> ArrayAttr | None:
        if self._current_token.kind != MLIRTokenKind.L_SQUARE:
            return None
        match = _ARRAY.match(self.lexer.input.content, self._current_token.span.start)
        elements = None if match is None else self._plain_elements(match.group())
        if match is None or elements is None:
            return super()._parse_optional_array_attr()
        self._resume_from(match.end())
        return ArrayAttr(elements)

    def _plain_elements(self, text: str) -> list[Attribute] | None:
        known = self._elements
        words = _ELEMENT.findall(text)
        for word in set(words).difference(known):
            attr = _plain_element(word)
            if attr is None:
                return None
            known[word] = attr
        return [known[word] for word in words]


def _plain_element(word: str) -> Attribute | None:
    if word[0] == '"':
        try:
            return unquote(word)
        except LiteralError:
            return None
    value, _, type_name = (part.strip() for part in word.partition(":"))
    if "." in value:
        return FloatAttr(float(value), _FLOATS[type_name]) if type_name in _FLOATS else None
    return IntegerAttr(int(value), _INTS[type_name]) if type_name in _INTS else None
