"""FunctionAttentionGQA and AttentionGQA: shared heads and joined caches, and why they decline."""

# ruff: noqa: E501 (lines of IR text)

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, is_none
from onnxloom.testing import Abs
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.attention.attention_gqa import AttentionGQAPattern
from onnxloom.transforms.patterns.attention.function_attention_gqa import FunctionAttentionGQAPattern


def the_op(module: ModuleOp) -> onnx.AttentionOp:
    (op,) = [op for op in module.walk() if isinstance(op, onnx.AttentionOp)]
    return op


def repeated(
    name: str, source: str, target: str, *, axis: int = 2, shape: str = "2x8x7x6", g: str = "1, 1, 4, 1, 1"
) -> str:
    """`%name` with each of its heads several times."""
    return f"""
      %{name}a = onnx.Constant dense<{axis}> : tensor<1xi64>
      %{name}g = onnx.Constant dense<[{g}]> : tensor<5xi64>
      %{name}s = onnx.Constant dense<[{shape.replace("x", ", ")}]> : tensor<4xi64>
      %{name}u = "onnx.Unsqueeze"({source}, %{name}a) : (tensor<2x2x7x6xf32>, tensor<1xi64>) -> tensor<*xf32>
      %{name}e = "onnx.Expand"(%{name}u, %{name}g) : (tensor<*xf32>, tensor<5xi64>) -> tensor<*xf32>
      {target} = "onnx.Reshape"(%{name}e, %{name}s) : (tensor<*xf32>, tensor<4xi64>) -> tensor<*xf32>"""


KEYS, VALUES = repeated("k", "%k", "%kr"), repeated("v", "%v", "%vr")


def grouped(
    keys: str = KEYS,
    values: str = VALUES,
    attributes: str = "",
    more: str = "%none, %none, %none, %none",
    types: str = "none, none, none, none",
    results: str = "none, none, none",
    returned: str = "%y",
    rest: str = "",
) -> str:
    count = len(returned.split(","))
    out = ", ".join(["tensor<*xf32>"] * count)
    return f"""
    func.func @f(%q: tensor<2x8x5x6xf32>, %k: tensor<2x2x7x6xf32>, %v: tensor<2x2x7x6xf32>, %pk: tensor<2x8x3x6xf32>) -> ({out}) {{
      %none = "onnx.NoValue"() <{{value}}> : () -> none{keys}{values}
      %y, %a, %b, %c = "onnx.Attention"(%q, %kr, %vr, {more}) <{{scale = 0.25 : f32{attributes}}}> : (tensor<2x8x5x6xf32>, tensor<*xf32>, tensor<*xf32>, {types}) -> (tensor<2x8x5x6xf32>, {results}){rest}
      onnx.Return {returned} : {out.replace("tensor<*xf32>", "tensor<2x8x5x6xf32>", 1)}
    }}"""


@pytest.mark.parametrize("axis", [2, -3])
def test_repeated_heads_are_shared(axis: int):
    keys = repeated("k", "%k", "%kr", axis=axis)
    module = check_pattern(grouped(keys), FunctionAttentionGQAPattern, tolerance=Abs(1e-5))
    op = the_op(module)
    assert op.K.type == op.V.type and str(op.K.type) == "tensor<2x2x7x6xf32>"
    assert float_attr(op, "scale") == 0.25
    assert not any(isinstance(op, onnx.ExpandOp) for op in module.walk())


def test_attributes_are_kept():
    module = check_pattern(
        grouped(attributes=", is_causal = 1 : si64"), FunctionAttentionGQAPattern, tolerance=Abs(1e-5)
    )
    assert the_op(module).is_causal is not None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"keys": '\n      %kr = "onnx.Identity"(%pk) : (tensor<2x8x3x6xf32>) -> tensor<*xf32>'},
            "not both repeated",
        ),
        ({"values": repeated("v", "%v", "%vr", axis=1, g="1, 4, 1, 1, 1")}, "not both repeated"),
        (
            {"values": repeated("v", "%v", "%vr", axis=3, g="1, 1, 1, 4, 1", shape="2x2x28x6")},
            "not both repeated",
        ),
        ({"values": repeated("v", "%v", "%vr", shape="2x2x28x6")}, "not both repeated"),
        ({"values": repeated("v", "%v", "%vr", g="1, 1, 2, 1, 1", shape="2x4x7x6")}, "repeated differently"),
        (
            {
                "more": "%none, %pk, %pk, %none",
                "types": "none, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, none",
            },
            "past keys",
        ),
        ({"results": "tensor<*xf32>, tensor<*xf32>, none", "returned": "%y, %a"}, "are results"),
    ],
)
def test_what_is_not_shared(changes: dict[str, str], reason: str):
    assert reason in decline_reason(grouped(**changes), FunctionAttentionGQAPattern)


def joined(
    *, axis: int = 2, v_axis: int = 2, attributes: str = "", keys: str = "%pk, %k", returned: str = "%y, %kr, %vr", values: str = "%vr", more: str = "%none", types: str = "none", results: str = "none, none, none",
) -> str:  # fmt: skip
    count = len(keys.split(","))
    t = "tensor<2x2x?x6xf32>"
    return f"""
    func.func @f(%q: tensor<2x4x5x6xf32>, %k: {t}, %v: {t}, %pk: {t}, %pv: {t}, %n: tensor<2xi64>) -> (tensor<2x4x5x6xf32>, tensor<*xf32>, tensor<*xf32>) {{
      %none = "onnx.NoValue"() <{{value}}> : () -> none
      %kr = "onnx.Concat"({keys}) <{{axis = {axis} : si64}}> : ({", ".join([t] * count)}) -> tensor<*xf32>
      %vr = "onnx.Concat"(%pv, %v) <{{axis = {v_axis} : si64}}> : ({t}, {t}) -> tensor<*xf32>
      %y, %a, %b, %c = "onnx.Attention"(%q, %kr, {values}, %none, %none, %none, {more}) <{{scale = 0.25 : f32{attributes}}}> : (tensor<2x4x5x6xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none, {types}) -> (tensor<2x4x5x6xf32>, {results})
      onnx.Return {returned} : tensor<2x4x5x6xf32>, tensor<*xf32>, tensor<*xf32>
    }}"""


@pytest.mark.parametrize("axis", [2, -2])
def test_a_cache_is_joined_inside(axis: int):
    module = check_pattern(joined(axis=axis), AttentionGQAPattern)
    op = the_op(module)
    assert not is_none(op.past_key) and not is_none(op.present_value)
    assert not any(isinstance(op, onnx.ConcatOp) for op in module.walk())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"v_axis": 1}, "not both joined"),
        ({"keys": "%pk, %k, %k"}, "not both joined"),
        ({"values": "%kr"}, "are the same"),
        ({"attributes": ", is_causal = 1 : si64"}, "depends on the number of past keys"),
        ({"attributes": ", left_window_size = 2 : si64"}, "depends on the number of past keys"),
        ({"attributes": ", right_window_size = 2 : si64"}, "depends on the number of past keys"),
        ({"more": "%n", "types": "tensor<2xi64>"}, "or a number of valid ones"),
        ({"results": "tensor<*xf32>, tensor<*xf32>, none", "returned": "%y, %a, %b"}, "are results"),
    ],
)  # fmt: skip
def test_what_is_not_joined(changes: dict[str, str], reason: str):
    assert reason in decline_reason(joined(**changes), AttentionGQAPattern)  # pyright: ignore


def test_a_cache_that_a_nested_region_reads():
    text = joined(returned="%y, %i, %vr").replace(
        "onnx.Return",
        """%t = onnx.Constant dense<true> : tensor<i1>
      %i = "onnx.If"(%t) ({
        %r = "onnx.Identity"(%kr) : (tensor<*xf32>) -> tensor<*xf32>
        onnx.Yield %r : tensor<*xf32>
      }, {
        %r = "onnx.Neg"(%kr) : (tensor<*xf32>) -> tensor<*xf32>
        onnx.Yield %r : tensor<*xf32>
      }) : (tensor<i1>) -> tensor<*xf32>
      onnx.Return""",
    )
    assert "nested region" in decline_reason(text, AttentionGQAPattern)
