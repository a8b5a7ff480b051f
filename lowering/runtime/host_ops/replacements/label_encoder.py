"""ai.onnx.ml LabelEncoder: NaN is a key like any other, which the reference never finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

_KINDS = {"strings": ("string", "_Unused"), "int64s": ("int64", -1), "floats": ("float", -0.0)}
_DTYPES: dict[str, Any] = {"strings": object, "int64s": np.int64, "floats": np.float32}
_NAN = "nan"
"""What NaN is in a table: it is not equal to itself."""


@replaces("LabelEncoder", domain="ai.onnx.ml")
def label_encoder(attributes: Attributes, x: Any) -> Sequence[Any]:
    """The value of each key; the default for others."""
    keys, _, _ = _column(attributes, "keys")
    values, dtype, default = _column(attributes, "values")
    table = dict(zip(map(_key, keys), values, strict=True))
    y = np.empty(x.shape, dtype)
    y.reshape(-1)[:] = [table.get(_key(key), default) for key in x.reshape(-1).tolist()]
    return [y]


def _key(value: Any) -> Any:
    return (_NAN,) if value != value else value


def _column(attributes: Attributes, name: str) -> tuple[list[Any], Any, Any]:
    """Keys or values, their dtype, and the default."""
    import onnx

    tensor = attributes.get(f"{name}_tensor")
    if tensor is not None:
        array = onnx.numpy_helper.to_array(tensor)
        flat = [v.decode() if isinstance(v, bytes) else v for v in array.reshape(-1).tolist()]
        text = array.dtype.kind in "OSU"
        default: Any = "_Unused" if text else -1 if array.dtype.kind in "iu" else -0.0
        given = attributes.get("default_tensor")
        if given is not None and name == "values":
            found = onnx.numpy_helper.to_array(given).reshape(-1).tolist()[0]
            default = found.decode() if isinstance(found, bytes) else found
        return flat, object if text else array.dtype, default
    for kind, (singular, default) in _KINDS.items():
        listed = attributes.get(f"{name}_{kind}")
        if listed:
            return listed, _DTYPES[kind], attributes.get(f"default_{singular}", default)
    raise ValueError(f"there are no {name}")
