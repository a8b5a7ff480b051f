"""Does the dominance check find every use of a value that is not defined there, in linear time?"""

from __future__ import annotations

import pytest
from calls import count_calls
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.dialects.verify_dominance import DominanceError, verify_dominance
from onnxloom.errors import ModelError


def relu(result: str, operand: str) -> str:
    return f'{result} = "onnx.Relu"({operand}) : (tensor<2xf32>) -> tensor<2xf32>\n'


def function(*lines: str) -> Operation:
    return parse_module("func.func @f(%x: tensor<2xf32>, %c: i1) {\n" + "".join(lines) + "}")


END = "onnx.Return\n"
IF = """
%i = "onnx.If"(%t) ({{
  {0}"onnx.Yield"({1}) : (tensor<2xf32>) -> ()
}}, {{
  "onnx.Yield"(%x) : (tensor<2xf32>) -> ()
}}) : (tensor<i1>) -> tensor<2xf32>
"""
TRUE = "%t = onnx.Constant dense<true> : tensor<i1>\n"


@pytest.mark.parametrize(
    "module",
    [
        function(relu("%a", "%x"), relu("%b", "%a"), END),
        function(TRUE, relu("%a", "%x"), IF.format(relu("%b", "%a"), "%b"), relu("%d", "%i"), END),
        function(
            "cf.cond_br %c, ^left, ^right\n^left:\n",
            relu("%a", "%x"),
            "cf.br ^join(%a : tensor<2xf32>)\n^right:\n",
            "cf.br ^join(%x : tensor<2xf32>)\n^join(%j: tensor<2xf32>):\n",
            relu("%b", "%j"),
            "func.return\n",
        ),
        function(
            "cf.br ^loop(%x : tensor<2xf32>)\n^exit:\n",
            relu("%z", "%y"),
            "func.return\n^loop(%y: tensor<2xf32>):\n",
            relu("%b", "%y"),
            "cf.cond_br %c, ^loop(%b : tensor<2xf32>), ^exit\n",
        ),
        function("func.return\n^dead:\n", relu("%a", "%b"), relu("%b", "%a"), "func.return\n"),
    ],
    ids=["straight", "capture", "diamond", "loop whose exit stands first", "unreachable block"],
)
def test_defined_before_use_is_accepted(module: Operation):
    verify_dominance(module)


@pytest.mark.parametrize(
    ("module", "problem"),
    [
        (
            function(relu("%a", "%b"), relu("%b", "%x"), END),
            "operand 0 is %b, a result of onnx.Relu, which comes after it",
        ),
        (function(relu("%a", "%a"), END), "operand 0 is %a, its own result"),
        (
            function(TRUE, IF.format("", "%late"), relu("%late", "%x"), END),
            "onnx.Yield: operand 0 is %late, a result of onnx.Relu, which is not visible there",
        ),
        (
            function(
                '%r = "onnx.FusedOp"(%x) <{kind = "k"}> ({\n^bb0(%p: tensor<2xf32>):\n',
                relu("%q", "%x"),
                '"onnx.Yield"(%q) : (tensor<2xf32>) -> ()\n}) : (tensor<2xf32>) -> tensor<2xf32>\n',
                END,
            ),
            "operand 0 is %x, argument 0 of a block that is not visible there",
        ),
        (
            function(
                "cf.cond_br %c, ^left, ^right\n^left:\n",
                relu("%a", "%x"),
                "cf.br ^join\n^right:\n cf.br ^join\n^join:\n",
                relu("%b", "%a"),
                "func.return\n",
            ),
            "operand 0 is %a, a result of onnx.Relu, which is not visible there",
        ),
    ],
    ids=["later", "itself", "later, from a region", "isolated", "one branch only"],
)
def test_use_of_an_undefined_value_names_op_and_value(module: Operation, problem: str):
    with pytest.raises(DominanceError, match=problem) as caught:
        verify_dominance(module)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ModelError)
    assert isinstance(caught.value, VerifyException)
    assert caught.value.op.name in str(caught.value)


def test_value_of_a_region_is_not_visible_outside():
    module = function(TRUE, IF.format(relu("%b", "%x"), "%b"), relu("%d", "%i"), END)
    inner, outer = (op for op in module.walk() if op.name == "onnx.Relu")
    outer.operands[0] = inner.results[0]
    with pytest.raises(
        DominanceError, match="operand 0 is %b, a result of onnx.Relu, which is not visible there"
    ):
        verify_dominance(module)


def test_value_of_a_detached_op_is_named():
    module = function(relu("%a", "%x"), relu("%b", "%a"), END)
    op = next(op for op in module.walk() if op.name == "onnx.Relu")
    op.detach()
    with pytest.raises(DominanceError, match="a result of onnx.Relu, which is not part of the program"):
        verify_dominance(module)


def test_time_is_linear():
    def chain(count: int) -> int:
        module = function(*(relu(f"%v{i}", f"%v{i - 1}" if i else "%x") for i in range(count)), END)
        return count_calls(lambda: verify_dominance(module))

    chain(100)
    assert chain(8000) < 10 * chain(1000)
