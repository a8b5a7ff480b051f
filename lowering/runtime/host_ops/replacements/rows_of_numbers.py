"""ai.onnx.ml Scaler, Normalizer, FeatureVectorizer, LinearRegressor: f32, whatever they are given.

The reference gives the type of the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces
from onnxloom.lowering.runtime.host_ops.replacements.post_transform import Array, post_transform

_DOMAIN = "ai.onnx.ml"


def _floats(x: Array) -> Array:
    return x if x.dtype == np.float64 else x.astype(np.float32)


@replaces("Scaler", domain=_DOMAIN)
def scaler(attributes: Attributes, x: Array) -> Sequence[Any]:
    """`(x - offset) * scale`."""
    x = _floats(x)
    offset, scale = (np.array(attributes.get(name) or default, x.dtype)
                     for name, default in (("offset", [0.0]), ("scale", [1.0])))  # fmt: skip
    return [((x - offset) * scale).astype(np.float32)]


@replaces("Normalizer", domain=_DOMAIN)
def normalizer(attributes: Attributes, x: Array) -> Sequence[Any]:
    """Rows over their norm; rows of zeros stay."""
    x, name = _floats(x), attributes.get("norm", "MAX")
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    if name == "L1":
        norm = np.abs(rows).sum(axis=1, keepdims=True)
    elif name == "L2":
        norm = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    elif name == "MAX":
        norm = np.abs(rows).max(axis=1, keepdims=True, initial=0)
    else:
        raise ValueError(f"unknown norm {name!r}")
    return [(rows / np.where(norm == 0, 1, norm)).reshape(x.shape).astype(np.float32)]


@replaces("FeatureVectorizer", domain=_DOMAIN)
def feature_vectorizer(attributes: Attributes, *inputs: Array) -> Sequence[Any]:
    """The features of all inputs beside each other, each cut or filled up with zeros to its dimension."""
    widths = attributes.get("inputdimensions") or [x.reshape(len(x), -1).shape[1] for x in inputs]
    parts: list[Array] = []
    for x, width in zip(inputs, widths, strict=True):
        rows = (x.reshape(1, -1) if x.ndim == 1 else x.reshape(len(x), -1))[:, :width].astype(np.float32)
        parts.append(np.pad(rows, [(0, 0), (0, width - rows.shape[1])]))
    return [np.concatenate(parts, axis=1)]


@replaces("LinearRegressor", domain=_DOMAIN)
def linear_regressor(attributes: Attributes, x: Array) -> Sequence[Any]:
    """`x @ coefficients.T + intercepts`, then the post transform."""
    x = _floats(x.reshape(1, -1) if x.ndim == 1 else x)
    targets = int(attributes.get("targets", 1))
    coefficients = np.array(attributes.values["coefficients"], x.dtype).reshape(targets, -1)
    y = x @ coefficients.T + np.array(attributes.get("intercepts") or [0.0], x.dtype)
    return [post_transform(y, attributes.get("post_transform", "NONE")).astype(np.float32)]
