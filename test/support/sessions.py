"""A model with two inputs, its feeds, and options of a session."""

from __future__ import annotations

from typing import Any

import numpy as np
from text_models import model_of

import onnxloom

ADD = model_of(
    "g (float[batch, 3] x, float[batch, 3] b) => (float[batch, 3] y) { s = Add(x, b) y = Relu(s) }"
)


def options(**attributes: Any) -> onnxloom.SessionOptions:
    made = onnxloom.SessionOptions()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def rows(count: int) -> dict[str, Any]:
    return {name: np.ones((count, 3), np.float32) for name in ("x", "b")}
