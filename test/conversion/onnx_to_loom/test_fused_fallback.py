"""Does a fused op that cannot be trusted still give the right numbers, with a warning?"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from onnxloom.conversion.onnx_to_loom.decline import FusionFallbackWarning
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.lowering.compile import CompileOptions, compile_module
from onnxloom.lowering.runtime.model import CompiledModel

PARTS = (Path(__file__).parent / "kinds" / "elementwise.mlir").read_text().split("// -----")
RNG = np.random.default_rng(3)


def compiled(text: str) -> CompiledModel:
    return compile_module(parse_module(text), CompileOptions(opt_level=0, cache=False))


def part(name: str) -> str:
    return next(p for p in PARTS if f"@{name}(" in p)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def test_a_fused_chain_is_one_launch_and_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = compiled(part("chain"))
    x, b = normal(5, 8), normal(8)
    first, second = model(x, b)
    np.testing.assert_array_equal(first, (x + b) * np.float32(0.5))
    np.testing.assert_array_equal(second, np.maximum(first, 0))


@pytest.mark.parametrize(
    ("name", "reason"),
    [("foreign", "there is no lowering for kind 'other.thing'"), ("tampered", "expected rank 3")],
)
def test_fallback_names_its_reason(name: str, reason: str) -> None:
    with pytest.warns(FusionFallbackWarning, match=reason) as caught:
        model = compiled(part(name))
    assert caught[0].filename == __file__
    x = normal(8)
    np.testing.assert_array_equal(model(x)[0], np.maximum(-x, 0))


@pytest.mark.parametrize("edit", [
    (r'%3 = "onnx.Relu"\(%2\)', '%3 = "onnx.Softmax"(%2)'),
    (r"loop_rank = 3 : si64, ", ""),
    (r"loop_rank = 3 : si64", 'loop_rank = "three"'),
    (r"op_count = 2 : si64", "op_count = 7 : si64"),
])  # fmt: skip
def test_edited_text_never_computes_something_else(edit: tuple[str, str]) -> None:
    text = re.sub(*edit, part("tampered").replace("loop_rank = 3", "loop_rank = 1"), count=1)
    if edit[0].startswith("loop_rank"):
        text = re.sub(edit[0], edit[1], part("tampered"), count=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FusionFallbackWarning)
        model = compiled(text)
    x = normal(8)
    if "Softmax" in text:
        e = np.exp(-x - np.max(-x))
        np.testing.assert_allclose(model(x)[0], e / e.sum(), rtol=1e-5)
    else:
        np.testing.assert_array_equal(model(x)[0], np.maximum(-x, 0))


def test_a_dim_condition_that_fails_runs_the_unfused_ops() -> None:
    model = compiled(part("conditional"))
    for n, m in ((4, 4), (1, 4), (4, 1), (1, 1)):
        x, b = normal(n), normal(m)
        first, second = model(x, b)
        np.testing.assert_array_equal(first, -x)
        np.testing.assert_array_equal(second, -x + b)
