"""Random nests of Loop, Scan and If give what onnxruntime gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from random_loops import random_loops

from onnxloom.lowering.compile import CompileOptions, compile_model

Array = np.ndarray[Any, Any]

SIZES = ((3, 2), (1, 0), (4, -2), (3, 5))
"""Length of the vectors, and the integer."""


def check(seed: int, opt_level: int) -> None:
    proto = random_loops(seed)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    model = compile_model(proto, CompileOptions(cache=False, opt_level=opt_level))
    rng = np.random.default_rng(seed)
    for length, number in SIZES:
        x, y = (rng.standard_normal(length).astype(np.float32) for _ in range(2))
        feeds: dict[str, Array] = {"x": x, "y": y, "k": np.array(number)}
        expected: list[Any] = list(session.run(None, feeds))
        for (name, value), wanted in zip(model.run(feeds).items(), expected, strict=True):
            place = f"seed {seed}, {name}, length {length}, k {number}"
            assert value.shape == wanted.shape, place
            np.testing.assert_allclose(value, wanted, rtol=1e-3, atol=1e-4, err_msg=place)
    # Without shape inference, values of no known rank are left to Python.
    assert opt_level == 0 or model.host_steps == 0


@pytest.mark.parametrize("first", range(0, 12, 4))
def test_random_loops(first: int) -> None:
    for seed in range(first, first + 4):
        check(seed, 3)


@pytest.mark.filterwarnings("ignore::onnxloom.HostStepWarning")
def test_random_loops_unoptimized() -> None:
    for seed in range(100, 103):
        check(seed, 0)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_many_random_loops(seed: int) -> None:
    check(seed, 3)
