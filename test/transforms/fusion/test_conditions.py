"""What a chain must prove of dims, asked directly: detection itself rules some of these cases out before."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.transforms.fusion.conditions import prove_full
from onnxloom.transforms.fusion.spaces import Spaces
from onnxloom.transforms.miss import Miss, reasons_wanted


def proven(body: str, arguments: str) -> str | int:
    """The reason of a decline, or the number of equalities, for the ops of a function and their results."""
    module = parse_module(f"func.func @f({arguments}) -> () {{\n{body}\nonnx.Return\n}}")
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    ops: list[Operation] = [op for op in function.body.block.ops if not isinstance(op, onnx.ReturnOp)]
    with reasons_wanted():
        found = prove_full(ops, [op.results[0] for op in ops], Spaces())
    return found.reason if isinstance(found, Miss) else len(found)


def test_results_of_the_full_shape_need_no_proof() -> None:
    assert proven('%r = "onnx.Neg"(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>', "%x: tensor<?x4xf32>") == 0


def test_an_input_without_a_rank_declines() -> None:
    reason = proven('%r = "onnx.Neg"(%x) : (tensor<*xf32>) -> tensor<*xf32>', "%x: tensor<*xf32>")
    assert reason == "the rank of an input is not known"


def test_a_result_of_lower_rank_declines() -> None:
    body = """
      %a = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %r = "onnx.Add"(%a, %y) : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    """
    assert proven(body, "%x: tensor<4xf32>, %y: tensor<3x4xf32>") == "result 0 has a lower rank than the loop"


def test_a_dim_that_is_not_proven_equal_declines() -> None:
    body = """
      %a = "onnx.Neg"(%x) : (tensor<?xf32>) -> tensor<?xf32>
      %r = "onnx.Add"(%a, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    """
    reason = proven(body, "%x: tensor<?xf32>, %y: tensor<?xf32>")
    assert reason == "result 0 may be smaller than the loop: a dim is not proven equal"
