"""Where a run gives a result, deciding an If by rank keeps every bit; where it fails, it still fails."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import make_context, parse_module
from onnxloom.dialects.verify_module import verify_module
from onnxloom.testing import evaluate
from onnxloom.testing.numerics import assert_preserves_numerics
from onnxloom.transforms.control_flow.decide_by_rank import DecideByRankPass
from onnxloom.transforms.pass_manager.fixed_point import FixedPointPass
from onnxloom.transforms.pass_manager.pass_runner import run_pipeline
from onnxloom.transforms.rewriting.budget import limit_rewrites

MODULE = """
func.func @f(%x: tensor<2x?x3xf32>) -> tensor<*xf32> {
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %two = onnx.Constant dense<2> : tensor<i64>
  %dims = "onnx.Shape"(%x) : (tensor<2x?x3xf32>) -> tensor<3xi64>
  %middle = "onnx.Gather"(%dims, %one) : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
  %single = "onnx.Equal"(%middle, %one) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi1>
  %a = "onnx.If"(%single) ({
    %s = "onnx.Squeeze"(%x, %one) : (tensor<2x?x3xf32>, tensor<1xi64>) -> tensor<2x3xf32>
    onnx.Yield %s : tensor<2x3xf32>
  }, {
    onnx.Yield %x : tensor<2x?x3xf32>
  }) : (tensor<1xi1>) -> tensor<*xf32>
  %shape = "onnx.Shape"(%a) : (tensor<*xf32>) -> tensor<?xi64>
  %rank = "onnx.Size"(%shape) : (tensor<?xi64>) -> tensor<i64>
  %flat = "onnx.Equal"(%rank, %two) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %b = "onnx.If"(%flat) ({
    onnx.Yield %a : tensor<*xf32>
  }, {
    %u = "onnx.Unsqueeze"(%a, %one) : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
    onnx.Yield %u : tensor<*xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  %e = "onnx.Exp"(%b) : (tensor<*xf32>) -> tensor<*xf32>
  %t = "onnx.Transpose"(%e) {perm = [1, 0]} : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %t : tensor<*xf32>
}
"""
"""A tensor whose middle dim must be 1, as an exporter traces it."""
PASSES = "decide-by-rank,inline-if,shape-inference,fold-dimensions,cleanup"


def decide(module: ModuleOp) -> None:
    run_pipeline(module, make_context(), [FixedPointPass(PASSES, 5)], strict=True)
    verify_module(module)


def ifs_of(module: ModuleOp) -> int:
    return sum(isinstance(op, onnx.IfOp) for op in module.walk())


def test_one_decision_leads_to_the_next_and_values_stay() -> None:
    module = parse_module(MODULE)
    feeds = {"x": np.array([1.5, -0.0, np.nan, -np.inf, 3, 1e-40], np.float32).reshape(2, 1, 3)}
    assert_preserves_numerics(module, [feeds], decide)
    changed = parse_module(MODULE)
    decide(changed)
    assert ifs_of(changed) == 0


@pytest.mark.parametrize("change", [False, True])
def test_an_input_that_gives_no_result_gives_none_either_way(change: bool) -> None:
    module = parse_module(MODULE)
    if change:
        decide(module)
    with pytest.raises(Exception, match="."):
        evaluate(module, {"x": np.ones((2, 2, 3), np.float32)})


def test_it_stops_where_it_is_told_to() -> None:
    module = parse_module(MODULE)
    with limit_rewrites(0):
        DecideByRankPass().apply(make_context(), module)
    assert str(module) == str(parse_module(MODULE))


@pytest.mark.parametrize("steps, decided", [(20, True), (100, False)])
def test_it_looks_so_far_and_no_further(steps: int, decided: bool) -> None:
    copies = "\n".join(
        f'  %c{i + 1} = "onnx.Identity"(%c{i}) : (tensor<*xf32>) -> tensor<*xf32>' for i in range(steps)
    )
    first = '  %c0 = "onnx.Exp"(%b) : (tensor<*xf32>) -> tensor<*xf32>\n'
    text = MODULE.replace('"onnx.Transpose"(%e)', f'"onnx.Transpose"(%c{steps})')
    text = text.replace('  %e = "onnx.Exp"(%b) : (tensor<*xf32>) -> tensor<*xf32>\n', f"{first}{copies}\n")
    step = DecideByRankPass()
    step.apply(make_context(), parse_module(text))
    assert bool(step.report.done) == decided


KEEP = "  }) : (tensor<i1>) -> tensor<*xf32>\n  %e ="
CONSTANT = "  %flat = onnx.Constant dense<false> : tensor<i1>\n  %unread ="


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (KEEP, KEEP.replace(" : (", " {onnxloom.keep} : ("), "it is marked to be kept, or holds what is"),
        ("  %flat =", CONSTANT, "its condition is constant"),
        ("perm = [1, 0]", "perm = [1, 0, 2, 3, 4, 5, 6]", "no reader of a result needs a rank"),
    ],
)
def test_an_if_stays_for_a_reason(old: str, new: str, reason: str) -> None:
    """The second If; without these the first application decides it."""
    assert MODULE.count(old) == 1
    step, module = DecideByRankPass(), parse_module(MODULE.replace(old, new))
    step.apply(make_context(), module)
    assert not step.report.done and reason in str(step.report.declined[-1][1])
    step.apply(make_context(), parse_module(MODULE))
    assert len(step.report.done) == 1
