"""Do the hand-written ops refuse what is wrong, in one readable sentence?"""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i64
from xdsl.ir import Block
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from onnxloom.dialects import onnx as o
from onnxloom.dialects.onnx.access import make
from onnxloom.dialects.onnx.text import parse_module

FUSED = """
func.func @f(%x: tensor<2xf32>, %y: tensor<3xf32>) {{
  {results} = "onnx.FusedOp"({inputs}) <{{kind = "k"}}> ({{
    {body}
  }}) : ({types}) -> {result_types}
  onnx.Return
}}
"""
RELU = '%1 = "onnx.Relu"(%a) : (tensor<2xf32>) -> tensor<2xf32>'
YIELD = '"onnx.Yield"(%1) : (tensor<2xf32>) -> ()'


def fused(body: str, results: str = "%r", inputs: str = "%x", **types: str) -> str:
    return FUSED.format(
        results=results,
        inputs=inputs,
        body=body,
        types=types.get("types", "tensor<2xf32>"),
        result_types=types.get("result_types", "tensor<2xf32>"),
    )


def test_fused_op_is_pure_and_isolated():
    assert o.FusedOp.has_trait(Pure)
    assert o.FusedOp.has_trait(IsolatedFromAbove)


def test_right_fused_op_verifies_whatever_its_kind():
    parse_module(fused(f"^bb0(%a: tensor<2xf32>):\n{RELU}\n{YIELD}")).verify()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (fused(""), "the body has 0 blocks; expected one"),
        (fused("^bb0(%a: tensor<2xf32>):"), "the body is empty; expected ops ended by onnx.Yield"),
        (fused(f"^bb0(%a: tensor<2xf32>):\n{RELU}"), "the body ends with onnx.Relu; expected onnx.Yield"),
        (
            fused('^bb0(%a: tensor<2xf32>):\n"onnx.Yield"(%a) : (tensor<2xf32>) -> ()'),
            "the body only yields; expected at least one op",
        ),
        (
            fused(
                f"^bb0(%a: tensor<2xf32>):\n{RELU}\n{YIELD}",
                inputs="%x, %y",
                types="tensor<2xf32>, tensor<3xf32>",
            ),
            "2 inputs but 1 block arguments; expected as many",
        ),
        (
            fused(f"^bb0(%a: tensor<2xf32>):\n{RELU}\n{YIELD}", inputs="%y", types="tensor<3xf32>"),
            "block argument 0 has type tensor<2xf32>; expected tensor<3xf32> like input 0",
        ),
        (
            fused(f"^bb0(%a: tensor<2xf32>):\n{RELU}\n{YIELD}", result_types="tensor<?xf32>"),
            r"yielded value 0 has type tensor<2xf32>; expected tensor<\?xf32> like result 0",
        ),
        (
            fused(f'^bb0(%a: tensor<2xf32>):\n{RELU}\n"onnx.Yield"() : () -> ()'),
            "1 results but 0 yielded values; expected as many",
        ),
        (
            fused(f"^bb0(%a: tensor<2xf32>):\n{RELU.replace('%a', '%x')}\n{YIELD}"),
            "onnx.Relu in the body uses %x from outside; expected a block argument",
        ),
        (
            fused(f"^bb0(%a: tensor<2xf32>):\n{RELU}\n{YIELD}\n^bb1:\n{YIELD.replace('%1', '%a')}"),
            "the body has 2 blocks; expected one",
        ),
    ],
)
def test_wrong_fused_op_is_refused_in_one_sentence(text: str, problem: str):
    module = parse_module(text)
    with pytest.raises(VerifyException, match=rf"^onnx.FusedOp: {problem}$"):
        module.verify()


def test_use_from_outside_in_a_nested_region_is_found():
    body = f"""^bb0(%a: tensor<2xf32>):
    %c = onnx.Constant dense<true> : tensor<i1>
    %1 = "onnx.If"(%c) ({{
      "onnx.Yield"(%a) : (tensor<2xf32>) -> ()
    }}, {{
      "onnx.Yield"(%x) : (tensor<2xf32>) -> ()
    }}) : (tensor<i1>) -> tensor<2xf32>
    {YIELD}"""
    with pytest.raises(VerifyException, match="onnx.Yield in the body uses %x from outside"):
        parse_module(fused(body)).verify()


def test_fused_op_made_by_hand():
    x = create_ssa_value(TensorType(f32, [2]))
    block = Block(arg_types=[x.type])
    relu = make(o.ReluOp, [block.args[0]], [x.type])
    block.add_ops([relu, o.YieldOp([relu.results[0]])])
    op = o.FusedOp.make("onnx.elementwise", [x], [x.type], block)
    op.verify()
    assert op.kind.data == "onnx.elementwise"


def test_dim_gives_one_i64_of_a_dim_that_exists():
    x = create_ssa_value(TensorType(f32, [2, DYNAMIC_INDEX]))
    o.DimOp.make(x, 1).verify()
    with pytest.raises(VerifyException, match=r"onnx.Dim: axis is 2; expected 0 to 1 for tensor<2x\?xf32>"):
        o.DimOp.make(x, 2).verify()
    with pytest.raises(
        VerifyException, match="onnx.Dim: result dim has type tensor<i64>; expected tensor<1xi64>"
    ):
        make(o.DimOp, [x], [TensorType(i64, [])], axis=0).verify()


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        ("onnx.Return", "returns 0 values; expected 1"),
        ("onnx.Return %i : tensor<2xi64>", "operand 0 has type tensor<2xi64>; expected tensor<2xf32>"),
        ("onnx.Return %y : tensor<3xf32>", "operand 0 has type tensor<3xf32>; expected tensor<2xf32>"),
    ],
)
def test_return_must_fit_the_function(returned: str, problem: str):
    module = parse_module(
        f"func.func @f(%y: tensor<3xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {{ {returned} }}"
    )
    with pytest.raises(VerifyException, match=f"^onnx.Return: {problem}"):
        module.verify()


def test_return_may_be_more_precise_than_the_function():
    for declared in ("tensor<*xf32>", "tensor<?xf32>", "tensor<2xf32>"):
        parse_module(
            f"func.func @f(%x: tensor<2xf32>) -> {declared} {{ onnx.Return %x : tensor<2xf32> }}"
        ).verify()


def test_custom_op_with_graphs():
    from xdsl.ir import Region

    x = create_ssa_value(TensorType(f32, [2]))
    op = o.CustomOp.make("d", "F", [x], [x.type], {}, {"body": Region(Block([o.YieldOp([x])]))})
    op.verify()
    assert str(op.graph_names) == '["body"]'


def test_equal_random_and_foreign_ops_are_not_merged_but_unused_ones_go():
    from xdsl.context import Context
    from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
    from xdsl.transforms.dead_code_elimination import dce

    random = '"onnx.RandomNormal"() {shape = [2]} : () -> tensor<2xf32>'
    foreign = '"onnx.Custom"() {function_name = "F", domain_name = "d"} : () -> tensor<2xf32>'
    pure = "onnx.Constant dense<1.0> : tensor<2xf32>"
    in_branch = f"""
      %t = onnx.Constant dense<true> : tensor<i1>
      %i = "onnx.If"(%t) ({{
        %r = {random}
        "onnx.Yield"(%r) : (tensor<2xf32>) -> ()
      }}, {{
        "onnx.Yield"(%a0) : (tensor<2xf32>) -> ()
      }}) : (tensor<i1>) -> tensor<2xf32>
      %j = "onnx.If"(%t) ({{
        %r = {random}
        "onnx.Yield"(%r) : (tensor<2xf32>) -> ()
      }}, {{
        "onnx.Yield"(%a0) : (tensor<2xf32>) -> ()
      }}) : (tensor<i1>) -> tensor<2xf32>
    """
    pairs = "".join(
        f"%{v}{n} = {op}\n" for v, op in zip("abc", (random, foreign, pure), strict=True) for n in (0, 1)
    )
    used = ["%a0", "%a1", "%b0", "%b1", "%c0", "%c1", "%i", "%j"]
    unused = f"%u = {random}\n%v = {foreign}\n"
    types = ", ".join(["tensor<2xf32>"] * len(used))
    module = parse_module(
        f"func.func @f() -> ({types}) {{ {pairs} {in_branch} {unused}"
        f"onnx.Return {', '.join(used)} : {types} }}"
    )
    CommonSubexpressionElimination().apply(Context(), module)
    dce(module)
    (function,) = (op for op in module.walk() if op.name == "func.func")
    names = [op.name for op in function.regions[0].block.ops]
    assert names.count("onnx.RandomNormal") == 2
    assert names.count("onnx.Custom") == 2
    assert names.count("onnx.If") == 2
    assert names.count("onnx.Constant") == 2  # the condition, and one of the equal two
