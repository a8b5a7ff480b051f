"""Made-up inputs fit what the model declares, and any output can be shown in one line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from onnxloom.errors import InputError
from onnxloom.tools.model_inputs import complete
from onnxloom.tools.value_text import describe_value


@dataclass
class Info:
    name: str
    type: str
    shape: list[int | str | None] = field(default_factory=list[int | str | None])


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        ("float", np.float32),
        ("double", np.float64),
        ("float16", np.float16),
        ("bfloat16", ml_dtypes.bfloat16),
        ("int8", np.int8),
        ("uint64", np.uint64),
        ("bool", np.bool_),
        ("string", np.object_),
        ("complex64", np.complex64),
    ],
)
def test_made_up_array_has_the_declared_type_and_shape(element: str, dtype: Any) -> None:
    info = Info("x", f"tensor({element})", [2, "n", None])
    array = complete([info], {}, {"n": 3}, 0).arrays["x"]
    assert array.dtype == np.dtype(dtype)
    assert array.shape == (2, 3, 1)


def test_inputs_keep_the_order_of_the_model() -> None:
    infos = [Info("a", "tensor(float)"), Info("b", "tensor(float)")]
    feeds = complete(infos, {"b": np.zeros((), np.float32)}, {}, 0)
    assert list(feeds.arrays) == ["a", "b"]
    assert feeds.made_up == ("a",)


def test_what_cannot_be_made_up_must_be_given() -> None:
    with pytest.raises(InputError, match=r"input 's' is a seq\(tensor\(float\)\)"):
        complete([Info("s", "seq(tensor(float))")], {}, {}, 0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array([[1.5, 2.0]], np.float32), "float32 [1, 2]  1.5 2"),
        (np.arange(10), "int64 [10]  0 1 2 3 4 5 ..."),
        (np.zeros((0, 3), np.float32), "float32 [0, 3]"),
        (np.array(True), "bool []  True"),
        (np.array([1.5], ml_dtypes.bfloat16), "bfloat16 [1]  1.5"),
        (np.array([np.nan, -np.inf]), "float64 [2]  nan -inf"),
        (np.array(["a\nb"], object), "string [1]  'a\\nb'"),
        ([np.zeros(1, np.int8)], "sequence of 1, first int8 [1]  0"),
        ([], "sequence of 0"),
        ({1: 2.0}, "map of 1"),
        (None, "none"),
    ],
)
def test_value_in_one_line(value: Any, text: str) -> None:
    assert describe_value(value) == text
