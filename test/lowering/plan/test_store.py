"""What is stored comes back equal; weights of the model file are stored as places in it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from onnxloom.lowering.plan.program import Block, HostNode, HostStep, LaunchStep, Spec
from onnxloom.lowering.plan.store import Unstorable, dumps, loads, source_of


@pytest.mark.parametrize(
    "value",
    [
        None,
        (1, "a", 2.5, True, b"\x00\xff"),
        {("k", 1): [1, 2], 3: (4,)},
        Spec("tensor", "float32", (2, -1), "tensor(float)"),
        Block((LaunchStep("k", (1,), (2,), (3, 4), ((0,),), (5,)),), (5,)),
        HostStep((HostNode(b"proto", "Op", "", "n"),), ("a",), ("b",), (1,), (2,), (0,), False, "why"),
    ],
)
def test_plain_data_round_trips(value: Any) -> None:
    assert loads(dumps(value)) == value


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int64).reshape(2, 3),
        np.array(np.nan, np.float32),
        np.empty((0, 3), np.float16),
        np.array([1.5, -2], ml_dtypes.bfloat16),
        np.array(["a", ""], object),
        np.array([True, False]),
    ],
)
def test_arrays_round_trip(array: np.ndarray[Any, Any]) -> None:
    found = loads(dumps([array]))[0]
    assert found.dtype == array.dtype and found.shape == array.shape
    if array.dtype == object:
        assert found.tolist() == array.tolist()
    else:
        assert found.tobytes() == array.tobytes()
        assert array.size == 0 or not found.flags.writeable


def test_a_view_of_the_source_is_stored_as_its_place() -> None:
    model = bytes(range(256)) * 1000
    weight = np.frombuffer(model, np.uint8)[512 : 512 + 200_000].view(np.float32)
    assert source_of([weight]) == memoryview(model)
    data = dumps(weight, memoryview(model))
    assert len(data) < 1000
    copy = bytes(model)
    np.testing.assert_array_equal(loads(data, memoryview(copy)).view(np.uint8), weight.view(np.uint8))


def test_what_is_no_plain_data_is_refused() -> None:
    with pytest.raises(Unstorable, match="object"):
        dumps([object()])
