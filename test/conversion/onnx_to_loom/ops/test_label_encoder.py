"""Does each key become its value, and anything else the default?"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.numpy_helper
import pytest
from against_peers import check_peers
from lowering_reasons import Case, check, reason_of

RNG = np.random.default_rng(19)
DOMAIN: dict[str, Any] = {"domain": "ai.onnx.ml", "host": False}


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9, 33])
@pytest.mark.parametrize("spread", [1, 10_000])
def test_integers_near_and_far(count: int, spread: int) -> None:
    keys = (RNG.permutation(2 * count)[:count] - count) * spread
    x = np.concatenate([keys, keys + 1, [0, 2**62, -(2**63)]]).astype(np.int64)
    for default in ({}, {"default_float": 2.5}):
        check_peers(
            "LabelEncoder", [x], keys_int64s=keys.tolist(), values_floats=RNG.random(count).tolist(),
            **default, **DOMAIN,
        )  # fmt: skip


def test_floats_with_nan_and_zeros() -> None:
    x = np.array([[np.nan, 0.0, -0.0], [1.5, np.inf, -np.inf], [2, 3, -1]], np.float32)
    check_peers(
        "LabelEncoder",
        [x],
        keys_floats=[2.0, np.nan, 0.0, np.inf, -1.0],
        values_int64s=[5, 6, 7, 8, 9],
        **DOMAIN,
    )


def test_the_first_value_of_a_key_counts() -> None:
    keys, values = [3, 1, 3], [10, 20, 30]
    x = np.array([1, 2, 3], np.int64)
    check_peers("LabelEncoder", [x], keys_int64s=keys, values_int64s=values, **DOMAIN)


@pytest.mark.parametrize(("key", "value"), [("int64", "int64"), ("float64", "float64"), ("int32", "int16")])
def test_tensors_of_keys_and_values(key: str, value: str) -> None:
    def tensor(values: list[float], dtype: str) -> Any:
        return onnx.numpy_helper.from_array(np.array(values, dtype))

    want = np.array([7, 8, -3], value)
    check_peers(
        "LabelEncoder", [np.array([5, 9, 6], key)], want=[want], runtime=False,
        keys_tensor=tensor([9, 5], key), values_tensor=tensor([8, 7], value),
        default_tensor=tensor([-3], value), **DOMAIN,
    )  # fmt: skip


def test_no_elements() -> None:
    check_peers("LabelEncoder", [np.zeros((0, 3), np.int64)], keys_int64s=[1], values_int64s=[2], **DOMAIN)


INTS, FLOATS = "keys_int64s = [1 : si64, 2 : si64]", "values_floats = [1.0 : f32, 2.0 : f32]"
EMPTY = "dense<> : tensor<0xi64>"
TEXT = 'values_strings = ["a", "b"]'


def encoder(attributes: str, result: str = "f32") -> Case:
    return ("LabelEncoder", ["tensor<3xi64>"], attributes, [f"tensor<3x{result}>"])


REASONS: dict[str, tuple[Case, str | None]] = {
    "fits": (encoder(f"{INTS}, {FLOATS}"), None),
    "no keys": (encoder(FLOATS), "LabelEncoder with keys that are no numbers has no kernel"),
    "no values": (encoder(INTS), "LabelEncoder with values that are no numbers has no kernel"),
    "fewer values": (
        encoder(f"{INTS}, values_floats = [1.0 : f32]"),
        "LabelEncoder without keys, or with another number of values, has no kernel",
    ),
    "empty": (
        encoder(f"keys_tensor = {EMPTY}, values_tensor = {EMPTY}, default_tensor = dense<7> : tensor<1xi64>"),
        "LabelEncoder without keys, or with another number of values, has no kernel",
    ),
    "no default": (
        encoder(f"{INTS}, values_tensor = dense<[1.0, 2.0]> : tensor<2xf32>"),
        "LabelEncoder without a default value of its type has no kernel",
    ),
    "text": (
        ("LabelEncoder", ["tensor<3xi64>"], f"{INTS}, {TEXT}", ["tensor<3x!onnx.String>"]),
        "kernels hold no elements of type !onnx.String",
    ),
}


@check(REASONS)
def test_reasons(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
