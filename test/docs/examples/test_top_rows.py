"""The example of docs/custom_ops.md runs, and works as a plug-in."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from text_models import model_of

import onnxloom
from onnxloom.transforms.plugins import use_plugins

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "top_rows.py"
MODEL = model_of(
    """g (float[N, 3] x) => (float[2, 3] y, int64[2] negated) {
        rows, numbers = my.domain.TopRows <k = 2> (x)
        y = Relu(rows)
        negated = Neg(numbers)
    }"""
)
X = np.array([[1, 2, -3], [4, 5, 6], [0, 1, 2], [3, 3, 3]], np.float32)


def check(session: onnxloom.InferenceSession) -> None:
    y, negated = session.run(None, {"x": X})
    assert y.tolist() == [[4, 5, 6], [3, 3, 3]]
    assert negated.tolist() == [-1, -3]
    assert session.host_steps == 1


def test_the_session_of_the_example() -> None:
    spec = importlib.util.spec_from_file_location("top_rows_example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    example: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    check(example.session(MODEL))


def test_the_example_as_a_plug_in() -> None:
    with use_plugins([EXAMPLE]):
        session = onnxloom.InferenceSession(MODEL)
    check(session)
    with pytest.raises(onnxloom.UnsupportedOpError, match=r"op TopRows of domain my.domain \(opset 1\)"):
        onnxloom.InferenceSession(MODEL)
