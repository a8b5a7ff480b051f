"""StringSplit: an empty string has no parts; the reference gives it one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces


@replaces("StringSplit")
def string_split(attributes: Attributes, x: Any) -> Sequence[Any]:
    """Parts `[.., most parts]`, filled up with empty strings, and how many each string has."""
    delimiter, most = attributes.get("delimiter") or None, attributes.get("maxsplit")
    rows = [_parts(str(text), delimiter, -1 if most is None else int(most)) for text in x.reshape(-1)]
    longest = max((len(row) for row in rows), default=0)
    parts = np.empty((len(rows), longest), object)
    for at, row in enumerate(rows):
        parts[at] = [*row, *[""] * (longest - len(row))]
    counts = np.array([len(row) for row in rows], np.int64).reshape(x.shape)
    return [parts.reshape(*x.shape, longest), counts]


def _parts(text: str, delimiter: str | None, most: int) -> list[str]:
    return text.split(delimiter, most) if text else []
