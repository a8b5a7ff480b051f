"""ai.onnx.ml ZipMap: rows of numbers become dictionaries with the class labels as keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Zip: TypeAlias = Callable[[list[list[float]]], list[dict[Any, float]]]

MAX_WRITTEN: Final = 64
"""Labels of a dictionary that is written down as code."""


@replaces("ZipMap", domain="ai.onnx.ml", plain=True)
def zip_map(attributes: Attributes, x: Any) -> Sequence[Any]:
    """A list with one dictionary per row."""
    try:
        count, make = attributes.made["zip"]
    except KeyError:
        keys: list[Any] = attributes.get("classlabels_strings") or attributes.get("classlabels_int64s") or []
        count, make = attributes.made["zip"] = len(keys), zip_of(keys)
    shape = x.shape
    if count != shape[-1]:
        raise ValueError(f"{count} class labels for rows of {shape[-1]} numbers")
    return [make(x.tolist() if len(shape) == 2 else x.reshape(-1, count).tolist())]


def zip_of(keys: list[Any]) -> Zip:
    """What makes dictionaries of rows. Those of few labels are displays: several times as fast as `dict`."""
    if not 0 < len(keys) <= MAX_WRITTEN:
        return lambda rows: [dict(zip(keys, row, strict=True)) for row in rows]
    names = [f"v{at}" for at in range(len(keys))]
    pairs = ", ".join(f"{key!r}: {name}" for key, name in zip(keys, names, strict=True))
    return eval(
        f"lambda rows: [{{{pairs}}} for {', '.join(names)}, in rows]"
    )  # labels are str or int: literals
