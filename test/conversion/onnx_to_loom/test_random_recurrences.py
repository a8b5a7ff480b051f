"""LSTM, GRU and RNN with attributes drawn from a seed: kernels, host ops and onnxruntime agree."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from recurrent_cases import Case, build, check_against_onnxruntime, without_host_steps

# Those that grow without bounds are left out: what overflows first depends on the order of sums.
ACTIVATIONS = ("Tanh", "Sigmoid", "HardSigmoid", "Softsign", "Elu", "ThresholdedRelu")
FUNCTIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}
OPTIONAL = {"LSTM": "BLHCP", "GRU": "BLH", "RNN": "BLH"}


def drawn(seed: int, **fixed: Any) -> Case:
    """A case; `fixed` are fields that are not drawn."""
    rng = random.Random(seed)
    op = rng.choice(sorted(FUNCTIONS))
    direction = rng.choice(["forward", "reverse", "bidirectional"])
    functions = FUNCTIONS[op] * (2 if direction == "bidirectional" else 1)
    attrs: dict[str, Any] = {"direction": direction}
    if rng.random() < 0.4:
        attrs["activations"] = [rng.choice(ACTIVATIONS) for _ in range(functions)]
        attrs["activation_alpha"] = [round(rng.uniform(0.1, 0.9), 2) for _ in range(functions)]
        attrs["activation_beta"] = [round(rng.uniform(0.1, 0.9), 2) for _ in range(functions)]
    if rng.random() < 0.3:
        attrs["clip"] = round(rng.uniform(0.2, 1.0), 2)
    if op == "GRU" and rng.random() < 0.5:
        attrs["linear_before_reset"] = 1
    if op == "LSTM" and rng.random() < 0.3:
        attrs["input_forget"] = 1
    given = "".join(name for name in OPTIONAL[op] if rng.random() < 0.5)
    batch, time = rng.choice([1, 1, 2, 3, 9]), rng.choice([1, 2, 3, 7])
    lengths = [rng.randint(0, time) for _ in range(batch)] if "L" in given else ()
    outputs = "".join(name for name in ("YHC" if op == "LSTM" else "YH") if rng.random() < 0.7) or "Y"
    chosen: dict[str, Any] = {
        "time": time, "batch": batch, "features": rng.choice([1, 3, 17]),
        "hidden": rng.choice([1, 5, 16, 33]), "given": given, "lengths": lengths,
        "constant_weights": rng.random() < 0.7, "outputs": outputs,
    }  # fmt: skip
    layout = fixed.pop("layout", 0)
    return Case(op, attrs={**attrs, **({"layout": 1} if layout else {})}, **{**chosen, **fixed})


def check_on_host(cases: Sequence[Case], tolerance: float) -> None:
    """Compares with the host ops in f64."""
    model, feeds, held = build(cases)
    got = iter(without_host_steps(model, feeds))
    for case, inputs in zip(cases, held, strict=True):
        wide = {n: a.astype(np.float64) if a.dtype.kind == "f" else a for n, a in inputs.items()}
        for wanted in case.on_host(wide):
            value = next(got)
            assert value.dtype == case.dtype
            np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance, err_msg=str(case))


@pytest.mark.parametrize("first", [0, 12])
def test_drawn_cases_against_onnxruntime(first: int) -> None:
    check_against_onnxruntime([drawn(seed) for seed in range(first, first + 12)])


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float16", 3e-3)])
def test_drawn_cases_of_other_types_against_host_ops(dtype: str, tolerance: float) -> None:
    check_on_host([drawn(seed, dtype=dtype, layout=seed % 2) for seed in range(100, 108)], tolerance)


def test_drawn_cases_whose_batch_is_first() -> None:
    check_on_host([drawn(seed, layout=1) for seed in range(200, 210)], 3e-5)
