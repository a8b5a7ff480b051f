"""A product and its bias become a Gemm, or a reason why they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx as standard
import pytest
from rewritten import array_of, assert_compiles_to_the_same, only, op_names, retyped
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr, is_none
from onnxloom.testing import Rel, feeds_for
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.matmul.mat_mul_add import MatMulAddPattern


def sum_of(
    product: str = "p = MatMul(a, b)",
    add: str = "y = Add(p, c)",
    *,
    a: str = "2, 3",
    b: str = "3, 4",
    c: str | None = "4",
    y: str = "2, 4",
    constants: str = "float one = {1}",
    more: str = "",
) -> standard.ModelProto:
    bias = "" if c is None else f", float[{c}] c"
    inputs = f"float[{a}] a, float[{b}] b{bias}"
    return model_of(f"agraph ({inputs}) => (float[{y}] y{more}) <{constants}> {{\n{product}\n{add}\n}}")


@pytest.mark.parametrize("c", ["4", "1, 4", "2, 4"])
@pytest.mark.parametrize("add", ["y = Add(p, c)", "y = Add(c, p)"])
def test_a_row_or_all_of_the_product(c: str, add: str) -> None:
    done = check_pattern(sum_of(add=add, c=c), MatMulAddPattern, times=1)
    assert op_names(done) == ["Gemm"]


@pytest.mark.parametrize(
    ("a", "b", "c", "y"), [("N, 3", "3, 4", "4", "N, 4"), ("N, 3", "3, M", "N, M", "N, M")]
)
def test_equal_names_of_unknown_dims(a: str, b: str, c: str, y: str) -> None:
    assert op_names(check_pattern(sum_of(a=a, b=b, c=c, y=y), MatMulAddPattern)) == ["Gemm"]


def test_a_gemm_without_c_keeps_its_attributes() -> None:
    model = sum_of("p = Gemm <alpha = 0.5, beta = 0.25, transA = 1, transB = 1> (a, b)", a="3, 2", b="4, 3")
    gemm = only(check_pattern(model, MatMulAddPattern), onnx.GemmOp)
    assert (float_attr(gemm, "alpha"), float_attr(gemm, "beta")) == (0.5, 1.0)
    assert (int_attr(gemm, "transA"), int_attr(gemm, "transB")) == (1, 1)


def test_constants_of_a_gemm_and_after_it_are_added() -> None:
    model = sum_of(
        "p = Gemm(a, b, d)", c=None, constants="float[4] d = {1, 2, 3, 4}, float[1, 4] c = {4, 3, 2, 2}"
    )
    gemm = only(check_pattern(model, MatMulAddPattern), onnx.GemmOp)
    np.testing.assert_array_equal(array_of(gemm.C), np.array([[5, 5, 5, 6]], np.float32))


@pytest.mark.parametrize(
    ("element", "tolerance"),
    [
        (standard.TensorProto.DOUBLE, Rel(1e-12)),
        (standard.TensorProto.FLOAT16, Rel(4e-3)),
    ],
)
def test_other_element_types(element: int, tolerance: Rel) -> None:
    model = retyped(sum_of(), element)
    feeds = feeds_for(model, special=False)
    assert op_names(check_pattern(model, MatMulAddPattern, feeds, tolerance)) == ["Gemm"]


def test_compiles_to_the_same() -> None:
    model = sum_of(a="N, 3", y="N, 4")
    assert_compiles_to_the_same(
        check_pattern(model, MatMulAddPattern), feeds_for(model, special=False), Rel(1e-6)
    )


def test_the_name_of_the_product_is_kept() -> None:
    done = check_pattern(sum_of('["dense"] p = MatMul(a, b)'), MatMulAddPattern)
    assert str(only(done, onnx.GemmOp).attributes["onnx_node_name"]) == '"dense"'


def test_waits_for_patterns_of_lower_priority() -> None:
    assert MatMulAddPattern.priority == 3


def test_needs_opset_7() -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(sum_of(), MatMulAddPattern, opset=6)


DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    "no_add": ("not read by one Add alone", {"add": "y = Sub(p, c)"}),
    "product_is_an_output": ("not read by one Add alone", {"more": ", float[2, 4] p"}),
    "product_is_read_twice": (
        "not read by one Add alone",
        {"add": "y = Add(p, c)\nw = Exp(p)", "more": ", float[2, 4] w"},
    ),
    "added_to_itself": ("added to itself", {"add": "y = Add(p, p)", "c": None}),
    "left_of_rank_3": ("not matrices", {"a": "5, 2, 3", "y": "5, 2, 4"}),
    "right_of_rank_3": ("not matrices", {"b": "5, 3, 4", "y": "5, 2, 4"}),
    "left_of_rank_1": ("not matrices", {"a": "3", "y": "4"}),
    "one_number": ("not proven", {"c": "1"}),
    "scalar": ("not proven", {"c": None, "constants": "float c = {1}"}),
    "of_higher_rank": ("not proven", {"c": "1, 2, 4", "y": "1, 2, 4"}),
    "a_column": ("not proven", {"c": "2, 1"}),
    "more_rows": ("not proven", {"a": "1, 3", "c": "5, 4", "y": "5, 4"}),
    "rows_that_may_be_more": ("not proven", {"a": "N, 3", "c": "M, 4", "y": "P, 4"}),
    "columns_that_may_be_more": ("not proven", {"b": "3, M", "c": "P", "y": "2, Q"}),
    "scaled_c": (
        "C is scaled",
        {"product": "p = Gemm <beta = 0.5> (a, b, d)", "c": None,
         "constants": "float[4] d = {1, 2, 3, 4}, float[4] c = {1, 2, 3, 4}"},
    ),
    "computed_c": (
        "not constant",
        {"product": "d = Exp(c)\np = Gemm(a, b, d)", "add": "y = Add(p, e)",
         "constants": "float[4] e = {1, 2, 3, 4}"},
    ),
    "computed_addend": (
        "not constant",
        {"product": "p = Gemm(a, b, d)", "constants": "float[4] d = {1, 2, 3, 4}"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLINED)
def test_declines(case: str) -> None:
    reason, changes = DECLINED[case]
    assert reason in decline_reason(sum_of(**changes), MatMulAddPattern)


def test_a_gemm_whose_c_is_left_out_is_one_without() -> None:
    done = check_pattern(sum_of("p = Gemm(a, b)"), MatMulAddPattern)
    assert not is_none(only(done, onnx.GemmOp).C)


@pytest.mark.parametrize("element", ["int32", "int64", "uint32", "uint64"])
def test_declines_products_of_integers(element: str) -> None:
    model = model_of(
        f"agraph ({element}[2, 3] a, {element}[3, 4] b, {element}[4] c) => ({element}[2, 4] y) "
        "{ p = MatMul(a, b) y = Add(p, c) }"
    )
    assert "a product of integers" in decline_reason(model, MatMulAddPattern)
