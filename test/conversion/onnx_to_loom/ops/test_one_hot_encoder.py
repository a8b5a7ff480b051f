"""Does each number give 1 in the place of its category, and is one of no category refused?"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from against_peers import check_peers
from lowering_reasons import Case, check, reason_of
from numerics import compiled
from onnx import helper as oh

from onnxloom.errors import InputError
from onnxloom.lowering.compile import CompileOptions, compile_model

CATEGORIES = [3, -2, 0, 2**40]
DOMAIN: dict[str, Any] = {"domain": "ai.onnx.ml", "cats_int64s": CATEGORIES}


@pytest.mark.parametrize("dtype", ["int64", "int32", "float32", "float64"])
@pytest.mark.parametrize("shape", [(5,), (4, 1), (2, 3), (2, 1, 2)])
def test_known_categories(dtype: str, shape: tuple[int, ...]) -> None:
    known = CATEGORIES[: 3 if dtype == "int32" else 4]
    x = np.random.default_rng(4).choice(known, shape).astype(dtype)
    # onnxruntime has no version for i32.
    check_peers("OneHotEncoder", [x], zeros=0, runtime=dtype != "int32", **DOMAIN)


@pytest.mark.parametrize("zeros", [0, 1])
def test_floats_are_cut_to_integers(zeros: int) -> None:
    check_peers("OneHotEncoder", [np.array([[0.75, -2.5, 3.25, -0.5]], np.float32)], zeros=zeros, **DOMAIN)


def test_no_elements() -> None:
    check_peers("OneHotEncoder", [np.zeros((0, 2), np.int64)], zeros=0, runtime=False, **DOMAIN)


@pytest.mark.parametrize("zeros", [1, None])
def test_unknown_numbers_give_zeros(zeros: int | None) -> None:
    given = {} if zeros is None else {"zeros": zeros}
    check_peers("OneHotEncoder", [np.array([7, 3, -9], np.int64)], **given, **DOMAIN)


def test_unoptimized_unknown_numbers_give_zeros() -> None:
    model = compile_model(model_of(1), CompileOptions(cache=False, opt_level=0))
    (hot,) = model.run({"x": np.array([7, -2], np.int64)}).values()
    np.testing.assert_array_equal(hot, np.array([[0, 0, 0, 0], [0, 1, 0, 0]], np.float32))
    assert not model.host_counts


def test_an_unknown_number_is_refused_and_the_next_run_is_not_affected() -> None:
    model = compiled(model_of(0))
    for unknown in (1, -(2**62)):
        with pytest.raises(InputError, match=f"OneHotEncoder.*: value {unknown} is none of the categories"):
            model.run({"x": np.array([3, unknown, 0, 5], np.int64)})
    (hot,) = model.run({"x": np.array([0], np.int64)}).values()
    np.testing.assert_array_equal(hot, np.array([[0, 0, 1, 0]], np.float32))
    assert not model.host_counts


def model_of(zeros: int) -> onnx.ModelProto:
    domain = "ai.onnx.ml"
    node = oh.make_node("OneHotEncoder", ["x"], ["y"], domain=domain, cats_int64s=CATEGORIES, zeros=zeros)
    ins = [oh.make_tensor_value_info("x", onnx.TensorProto.INT64, ["n"])]
    outs = [oh.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)]
    imports = [oh.make_opsetid("", 21), oh.make_opsetid("ai.onnx.ml", 1)]
    return oh.make_model(oh.make_graph([node], "g", ins, outs), opset_imports=imports, ir_version=10)


def encoder(element: str, attributes: str) -> Case:
    return ("OneHotEncoder", [f"tensor<3x{element}>"], attributes, ["tensor<3x2xf32>"])


NUMBERS = "cats_int64s = [1 : si64, 2 : si64]"
STRINGS = 'cats_strings = ["a", "b"]'
REASONS: dict[str, tuple[Case, str | None]] = {
    "refuses": (encoder("i64", f"{NUMBERS}, zeros = 0 : si64"), None),
    "allows": (encoder("f32", f"{NUMBERS}, zeros = 1 : si64"), None),
    "numbers as strings": (encoder("i64", STRINGS), "OneHotEncoder of strings has no kernel"),
    "strings": (encoder("!onnx.String", STRINGS), "kernels hold no elements of type !onnx.String"),
}


@check(REASONS)
def test_reasons(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
