"""Are the regions of control flow checked against the op's operands and results?"""

from __future__ import annotations

import pytest
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.onnx.text import parse_module

IF = """
%r = "onnx.If"(%c) ({{
  {0}
}}, {{
  {1}
}}) : (tensor<i1>) -> tensor<2xf32>
"""
LOOP = """
%r:2 = "onnx.Loop"(%n, %c, %x) ({{
^bb0({0}):
  {1}
}}) : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>)
"""
SCAN = """
%r:2 = "onnx.Scan"(%x, %x) <{{num_scan_inputs = 1 : si64}}> ({{
^bb0({0}):
  {1}
}}) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
"""
NONE = '"onnx.Yield"() : () -> ()'
ONE = '"onnx.Yield"(%x) : (tensor<2xf32>) -> ()'
TWO = '"onnx.Yield"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> ()'
THREE = '"onnx.Yield"(%k, %x, %x) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> ()'
LOOP_ARGS = "%i: tensor<i64>, %k: tensor<i1>, %v: tensor<2xf32>"


def verify(text: str) -> None:
    parse_module(
        f"func.func @f(%c: tensor<i1>, %n: tensor<i64>, %x: tensor<2xf32>) {{ {text}\n onnx.Return }}"
    ).verify()


@pytest.mark.parametrize(
    "text",
    [
        IF.format(ONE, ONE),
        LOOP.format(LOOP_ARGS, THREE),
        SCAN.format("%a: tensor<2xf32>, %b: tensor<f32>", TWO),
    ],
)
def test_right_signatures_verify(text: str):
    verify(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (IF.format(ONE, TWO), "onnx.If: else_branch yields 2 values; expected 1"),
        (IF.format(NONE, ONE), "onnx.If: then_branch yields 0 values; expected 1"),
        (IF.format(f"^bb0(%a: tensor<2xf32>):\n{ONE}", ONE), "then_branch has 1 block arguments; expected 0"),
        (IF.format("cf.br ^a\n^a:\n" + ONE, ONE), "region 'then_branch' .* expected a single block"),
        (LOOP.format(LOOP_ARGS, TWO), "onnx.Loop: body yields 2 values; expected 3"),
        (LOOP.format("%i: tensor<i64>, %k: tensor<i1>", THREE), "body has 2 block arguments; expected 3"),
        (SCAN.format("%a: tensor<2xf32>", TWO), "onnx.Scan: body has 1 block arguments; expected 2"),
        (SCAN.format("%a: tensor<2xf32>, %b: tensor<f32>", ONE), "body yields 1 values; expected 2"),
    ],
)
def test_wrong_signatures_are_refused(text: str, problem: str):
    with pytest.raises(VerifyException, match=problem):
        verify(text)


def test_optional_graph_may_be_left_out():
    parse_module(
        """func.func @f(%q: tensor<1x1x2x2xf32>) {
          %r = "onnx.FlexAttention"(%q, %q, %q) ({ }, { })
            : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
          onnx.Return
        }"""
    ).verify()
