"""com.microsoft Tokenizer: strings as rows of tokens, all rows of one length."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

_START, _END = "\x02", "\x03"
"""What marks the beginning and the end of a text."""


@replaces("Tokenizer", domain="com.microsoft")
def tokenizer(attributes: Attributes, x: Any) -> Sequence[Any]:
    """`[.., longest row]`; a shorter row is filled up with `pad_value`."""
    rows = [_tokens(attributes, str(text)) for text in x.reshape(-1)]
    if attributes.get("mark", 0) and any(rows):
        rows = [[_START, *row, _END] for row in rows]
    longest = max((len(row) for row in rows), default=0)
    padding = attributes.get("pad_value", "")
    filled = np.empty((len(rows), longest), object)
    for at, row in enumerate(rows):
        filled[at] = [*row, *[padding] * (longest - len(row))]
    return [filled.reshape(*x.shape, longest)]


def _tokens(attributes: Attributes, text: str) -> list[str]:
    least = int(attributes.get("mincharnum", 1))
    expression: str | None = attributes.get("tokenexp")
    separators: list[str] = attributes.get("separators") or []
    if expression == "." or separators == [""]:
        return list(text)
    if expression:
        found = [match.group(0) for match in re.finditer(expression, text)]
        return [token for token in found if len(token) >= least]
    parts = [text]
    for separator in separators:
        parts = [piece for part in parts for piece in re.split(separator, part)]
    return [token for token in parts if token and len(token) >= least]
