"""Passes over control flow keep every bit, decline with a reason, and stop where they are told to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import make_context, parse_module
from onnxloom.dialects.verify_module import verify_module
from onnxloom.testing.numerics import assert_preserves_numerics
from onnxloom.transforms.control_flow.forward_loop_invariants import ForwardLoopInvariantsPass
from onnxloom.transforms.control_flow.hoist_loop_invariants import HoistLoopInvariantsPass
from onnxloom.transforms.control_flow.inline_if import InlineIfPass
from onnxloom.transforms.control_flow.report import FlowReport
from onnxloom.transforms.control_flow.unroll_loops import UnrollLoopsPass
from onnxloom.transforms.pass_manager.pass_runner import run_pipeline
from onnxloom.transforms.rewriting.budget import limit_rewrites
from onnxloom.transforms.rewriting.recording import Recorder, use_recorder
from onnxloom.transforms.rewriting.replay import replay

PASSES = (InlineIfPass(), UnrollLoopsPass(), ForwardLoopInvariantsPass(), HoistLoopInvariantsPass())


def cases() -> Iterator[object]:
    for step in PASSES:
        file = Path(__file__).parent / f"{step.name.replace('-', '_')}.mlir"
        for index, text in enumerate(file.read_text().split("// -----")):
            if "RandomNormal" not in text:
                yield pytest.param(step, text, id=f"{step.name}-{index}")


def feeds(module: ModuleOp, trips: int, condition: bool) -> dict[str, np.ndarray]:
    """Arrays by the name of the argument in the text."""
    function = next(iter(module.ops))
    values = {
        "x": np.array([1.5, -0.0, np.nan, -np.inf], np.float32),
        "w": np.array([2.0, -3.0, 0.5, 1e-40], np.float32),
        "s": np.ones((trips, 4), np.float32),
        "n": np.array(trips),
        "j": np.array(1),
        "c": np.array(condition),
    }
    names = [argument.name_hint or "" for argument in function.regions[0].block.args]
    return {name: values[name] for name in names}


@pytest.mark.parametrize(("step", "text"), list(cases()))
def test_every_bit_is_kept(step: ModulePass, text: str):
    module = parse_module(text)
    given = [feeds(module, trips, condition) for trips in (0, 1, 3) for condition in (False, True)]

    def transform(changed: ModuleOp) -> None:
        step.apply(make_context(), changed)
        verify_module(changed)

    assert_preserves_numerics(module, given, transform)


def reasons(step: ModulePass, text: str) -> list[str]:
    module = parse_module(text)
    before = str(module)
    step.apply(make_context(), module)
    assert str(module) == before, "something was done"
    report = getattr(step, "report", None)
    assert isinstance(report, FlowReport)
    assert all(miss.file.startswith("transforms/control_flow/") for _, miss in report.declined)
    return [miss.reason for _, miss in report.declined]


def loop(head: str, body: str, types: str = "tensor<f32>", *, counter: str = "", attributes: str = "") -> str:
    """A function around one loop; `head` has its first operands, `body` what follows its arguments."""
    return f"""
func.func @f(%x: tensor<f32>, %n: tensor<i64>, %c: tensor<i1>) -> ({types}) {{
  %none = "onnx.NoValue"() {{value}} : () -> none
  %true = onnx.Constant dense<true> : tensor<i1>
  %false = onnx.Constant dense<false> : tensor<i1>
  %two = onnx.Constant dense<2> : tensor<i64>
  %given = onnx.Constant {{onnx_overridable = tensor<i64>}} dense<2> : tensor<i64>
  %floats = onnx.Constant dense<2.0> : tensor<f32>
  %pair = onnx.Constant dense<[2, 2]> : tensor<2xi64>
  %r:{types.count(",") + 1} = "onnx.Loop"({head}) ({{
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<f32>):
    %e = "onnx.Exp"(%v) : (tensor<f32>) -> tensor<f32>
    {body}
  }}) {{{attributes}}} : {counter or "(tensor<i64>, none, tensor<f32>)"} -> ({types})
  onnx.Return {", ".join(f"%r#{i}" for i in range(types.count(",") + 1))} : {types}
}}"""


GOES_ON = "onnx.Yield %go, %e : tensor<i1>, tensor<f32>"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (loop("%n, %none, %x", GOES_ON), "its trip count is not constant"),
        (loop("%given, %none, %x", GOES_ON), "its trip count is not constant"),
        (
            loop("%pair, %none, %x", GOES_ON, counter="(tensor<2xi64>, none, tensor<f32>)"),
            "its trip count is not constant",
        ),
        (
            loop("%two, %c, %x", GOES_ON, counter="(tensor<i64>, tensor<i1>, tensor<f32>)"),
            "its first condition is not constant",
        ),
        (
            loop("%two, %none, %x", "onnx.Yield %c, %e : tensor<i1>, tensor<f32>"),
            "its condition is computed in the body",
        ),
        (loop("%none, %none, %x", GOES_ON, counter="(none, none, tensor<f32>)"), "it never ends"),
        (
            loop("%two, %none, %x", GOES_ON, attributes="onnxloom.keep"),
            "it is marked to be kept, or holds what is",
        ),
        (
            loop(
                "%two, %false, %x",
                "onnx.Yield %go, %e, %e : tensor<i1>, tensor<f32>, tensor<f32>",
                "tensor<f32>, tensor<?xf32>",
                counter="(tensor<i64>, tensor<i1>, tensor<f32>)",
            ),
            "it never runs, and the shape of its empty scan output is not known",
        ),
        (
            loop(
                "%two, %false, %x",
                "onnx.Yield %go, %e, %e : tensor<i1>, tensor<f32>, tensor<f32>",
                "tensor<f32>, tensor<3xf32>",
                counter="(tensor<i64>, tensor<i1>, tensor<f32>)",
            ),
            "it never runs, and the shape of its empty scan output is not known",
        ),
        (
            loop(
                "%two, %false, %x",
                "onnx.Yield %go, %e, %e : tensor<i1>, tensor<f32>, tensor<f32>",
                "tensor<f32>, tensor<*xf32>",
                counter="(tensor<i64>, tensor<i1>, tensor<f32>)",
            ),
            "it never runs, and the shape of its empty scan output is not known",
        ),
        (
            loop(
                "%two, %none, %x",
                '%q = "onnx.SequenceConstruct"(%e) : (tensor<f32>) -> !onnx.Seq<tensor<f32>>\n'
                "onnx.Yield %go, %e, %q : tensor<i1>, tensor<f32>, !onnx.Seq<tensor<f32>>",
                "tensor<f32>, !onnx.Seq<tensor<f32>>",
            ),
            "a scan output is no tensor",
        ),
    ],
)
def test_why_a_loop_is_not_unrolled(text: str, reason: str):
    assert reasons(UnrollLoopsPass(), text) == [reason]


def test_limits_of_unrolling():
    text = loop("%two, %none, %x", GOES_ON)
    assert reasons(UnrollLoopsPass(1), text) == ["it has 2 iterations; at most 1 are unrolled"]
    assert reasons(UnrollLoopsPass(2, 1), text) == [
        "its iterations have 2 ops in all; at most 1 are written out"
    ]
    module = parse_module(text)
    step = UnrollLoopsPass(2, 2)
    step.apply(make_context(), module)
    assert "onnx.Loop" not in str(module)
    assert str(step.report) == "onnx.Loop -> tensor<f32>: 2 iterations of 1 ops"


def test_constants_do_not_count_as_ops():
    body = f"%k = onnx.Constant dense<1.0> : tensor<f32>\n{GOES_ON}"
    module = parse_module(loop("%two, %none, %x", body))
    UnrollLoopsPass(2, 2).apply(make_context(), module)
    assert "onnx.Loop" not in str(module)


def test_why_an_if_stays():
    text = """
func.func @f(%x: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
  %t = onnx.Constant dense<true> : tensor<i1>
  %d = onnx.Constant {onnx_overridable = tensor<i1>} dense<true> : tensor<i1>
  %y = "onnx.If"(COND) ({
    onnx.Yield %x : tensor<f32>
  }, {
    onnx.Yield %x : tensor<f32>
  }) {ATTR} : (tensor<i1>) -> tensor<f32>
  onnx.Return %y : tensor<f32>
}"""
    for condition, attribute, reason in (
        ("%c", "", "its condition is not constant"),
        ("%d", "", "its condition is not constant"),
        ("%t", "onnxloom.keep", "it is marked to be kept, or holds what is"),
    ):
        changed = text.replace("COND", condition).replace("ATTR", attribute)
        assert reasons(InlineIfPass(), changed) == [reason]


def test_a_branch_that_goes_holds_nothing_to_be_kept():
    text = """
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %t = onnx.Constant dense<true> : tensor<i1>
  %y = "onnx.If"(%t) ({
    onnx.Yield %x : tensor<f32>
  }, {
    %a = "onnx.Neg"(%x) {onnxloom.keep} : (tensor<f32>) -> tensor<f32>
    onnx.Yield %a : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  onnx.Return %y : tensor<f32>
}"""
    assert reasons(InlineIfPass(), text) == ["it is marked to be kept, or holds what is"]


def test_what_is_to_be_kept_is_not_copied():
    body = """%a = "onnx.Neg"(%e) {onnxloom.keep} : (tensor<f32>) -> tensor<f32>
onnx.Yield %go, %a : tensor<i1>, tensor<f32>"""
    assert reasons(UnrollLoopsPass(), loop("%two, %none, %x", body)) == [
        "it is marked to be kept, or holds what is"
    ]


def test_why_loop_carried_values_stay():
    step = ForwardLoopInvariantsPass()
    assert reasons(step, loop("%n, %none, %x", GOES_ON)) == ["every loop-carried value changes"]
    same = "onnx.Yield %go, %v : tensor<i1>, tensor<f32>"
    kept = loop("%n, %none, %x", same, attributes="onnxloom.keep")
    assert reasons(step, kept) == ["it is marked to be kept, or holds what is"]


def hoistable(op: str, head: str = "%n, %none, %x", counter: str = "") -> str:
    body = f'%h = {op}\n%a = "onnx.Add"(%e, %h) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n'
    return loop(head, body + "onnx.Yield %go, %a : tensor<i1>, tensor<f32>", counter=counter)


REDUCE = '"onnx.ReduceSum"(%x, %pair) : (tensor<f32>, tensor<2xi64>) -> tensor<f32>'
"""An op that would fail if it ran."""

MAY_FAIL = "it may fail, and the loop may run for no iteration"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (hoistable(REDUCE), MAY_FAIL),
        (
            hoistable(REDUCE, "%two, %c, %x", "(tensor<i64>, tensor<i1>, tensor<f32>)"),
            MAY_FAIL,
        ),
        (hoistable(REDUCE, "%given, %none, %x"), MAY_FAIL),
        (hoistable('"onnx.Cast"(%n) <{to = 1 : si64}> {onnxloom.keep} : (tensor<i64>) -> tensor<f32>'),
         "it is marked to be kept, or holds what is"),
        (hoistable('"onnx.RandomUniformLike"(%x) : (tensor<f32>) -> tensor<f32>'),
         "it is not pure: each iteration may give something else"),
    ],
)  # fmt: skip
def test_why_an_op_stays_in_a_loop(text: str, reason: str):
    assert reasons(HoistLoopInvariantsPass(), text) == [reason]


def test_what_may_fail_stays_in_a_scan_that_may_not_run():
    text = """
func.func @f(%x: tensor<4xf32>, %s: tensor<?x4xf32>, %t: tensor<4x?xf32>, %z: tensor<0x4xf32>,
             %j: tensor<i64>) -> tensor<4xf32> {
  %y = "onnx.Scan"(%x, INPUT) <{num_scan_inputs = 1 : si64AXES}> ({
  ^bb0(%u: tensor<4xf32>, %e: tensor<4xf32>):
    %0 = "onnx.Gather"(%x, %j) : (tensor<4xf32>, tensor<i64>) -> tensor<f32>
    %1 = "onnx.Add"(%u, %0) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    onnx.Yield %1 : tensor<4xf32>
  }) : (tensor<4xf32>, TYPE) -> tensor<4xf32>
  onnx.Return %y : tensor<4xf32>
}"""
    for value, value_type, axes in (
        ("%s", "tensor<?x4xf32>", ""),
        ("%t", "tensor<4x?xf32>", ", scan_input_axes = [1]"),
        ("%z", "tensor<0x4xf32>", ""),
        ("%t", "tensor<4x?xf32>", ", scan_input_axes = [-1]"),
    ):
        changed = text.replace("INPUT", value).replace("TYPE", value_type).replace("AXES", axes)
        assert reasons(HoistLoopInvariantsPass(), changed) == [MAY_FAIL]


def test_a_body_of_sequence_map_is_looked_at():
    text = """
func.func @f(%x: tensor<4xf32>, %s: !onnx.Seq<tensor<4xf32>>, %j: tensor<i64>) -> !onnx.Seq<tensor<4xf32>> {
  %y = "onnx.SequenceMap"(%s) ({
  ^bb0(%u: tensor<4xf32>):
    %0 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "onnx.Gather"(%x, %j) : (tensor<4xf32>, tensor<i64>) -> tensor<f32>
    %2 = "onnx.Add"(%u, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = "onnx.Add"(%2, %1) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    onnx.Yield %3 : tensor<4xf32>
  }) : (!onnx.Seq<tensor<4xf32>>) -> !onnx.Seq<tensor<4xf32>>
  onnx.Return %y : !onnx.Seq<tensor<4xf32>>
}"""
    module = parse_module(text)
    step = HoistLoopInvariantsPass()
    step.apply(make_context(), module)
    names = [op.name for op in next(iter(module.ops)).regions[0].block.ops]
    assert names == ["onnx.Exp", "onnx.SequenceMap", "onnx.Return"]
    assert [miss.reason for _, miss in step.report.declined] == [MAY_FAIL]


@pytest.mark.parametrize(
    ("op", "may_move"),
    [
        ('"onnx.Add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>', True),
        ('"onnx.Add"(%a, %d) : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>', False),
        ('"onnx.Add"(%u, %a) : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xf32>', False),
        ('"onnx.Abs"(%u) : (tensor<*xf32>) -> tensor<*xf32>', True),
        ('"onnx.Div"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>', True),
        ('"onnx.Div"(%k, %k) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>', False),
        ('"onnx.Pow"(%k, %k) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>', False),
        ('"onnx.Mul"(%k, %k) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>', True),
        ('"onnx.Cast"(%a) <{to = 7 : si64}> : (tensor<4xf32>) -> tensor<4xi64>', True),
        ('"onnx.Cast"(%t) <{to = 1 : si64}> : (tensor<4x!onnx.String>) -> tensor<4xf32>', False),
        ('"onnx.Cast"(%a) <{to = 8 : si64}> : (tensor<4xf32>) -> tensor<4x!onnx.String>', False),
        ('"onnx.SequenceConstruct"(%a) : (tensor<4xf32>) -> !onnx.Seq<tensor<4xf32>>', False),
        ('"onnx.SequenceAt"(%q, %i) : (!onnx.Seq<tensor<4xf32>>, tensor<i64>) -> tensor<4xf32>', False),
        ('"onnx.Identity"(%q) : (!onnx.Seq<tensor<4xf32>>) -> !onnx.Seq<tensor<4xf32>>', False),
        ('"onnx.Gather"(%a, %i) : (tensor<4xf32>, tensor<i64>) -> tensor<f32>', False),
        ('"onnx.Gemm"(%m, %m, %none) : (tensor<4x4xf32>, tensor<4x4xf32>, none) -> tensor<4x4xf32>', True),
        ('"onnx.Custom"(%a) <{function_name = "F"}> : (tensor<4xf32>) -> tensor<4xf32>', False),
    ],
)  # fmt: skip
def test_what_cannot_fail(op: str, may_move: bool):
    from onnxloom.transforms.control_flow.cannot_fail import cannot_fail

    module = parse_module(f"""
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %d: tensor<?xf32>, %u: tensor<*xf32>, %k: tensor<4xi32>,
             %t: tensor<4x!onnx.String>, %q: !onnx.Seq<tensor<4xf32>>, %i: tensor<i64>,
             %m: tensor<4x4xf32>) {{
  %none = "onnx.NoValue"() {{value}} : () -> none
  %r = {op}
  onnx.Return
}}""")
    found = next(inner for inner in module.walk() if inner.results and not isinstance(inner, onnx.NoValueOp))
    assert cannot_fail(found) is may_move


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (InlineIfPass(), (Path(__file__).parent / "inline_if.mlir").read_text().split("// -----")[0]),
        (UnrollLoopsPass(), loop("%two, %none, %x", GOES_ON)),
        (
            ForwardLoopInvariantsPass(),
            loop("%n, %none, %x", "onnx.Yield %go, %v : tensor<i1>, tensor<f32>"),
        ),
        (HoistLoopInvariantsPass(), hoistable('"onnx.Exp"(%x) : (tensor<f32>) -> tensor<f32>')),
    ],
)
def test_nothing_is_done_beyond_a_limit(step: ModulePass, text: str):
    module = parse_module(text)
    before = str(module)
    with limit_rewrites(0):
        step.apply(make_context(), module)
    assert str(module) == before
    with limit_rewrites(1) as log:
        step.apply(make_context(), module)
    assert str(module) != before
    assert [name for name, _ in log.taken] == [step.name]


def test_the_record_of_an_unrolled_loop_says_why_there_are_more_ops():
    module = parse_module(loop("%two, %none, %x", GOES_ON))
    again = parse_module(str(module))
    with use_recorder(Recorder()) as recorder:
        run_pipeline(module, make_context(), [UnrollLoopsPass()])
    (record,) = recorder.log().records
    assert record.pattern == "unroll-loops"
    assert record.adds_ops == "a loop is written out as its 2 iterations"
    replay(again, recorder.log())
    assert str(again) == str(module)


def test_constants_of_the_body_are_copied_once():
    text = loop("%two, %none, %x", "%k = onnx.Constant dense<7.0> : tensor<f32>\n"
                '%k2 = "onnx.Mul"(%e, %k) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n'
                "onnx.Yield %go, %k2 : tensor<i1>, tensor<f32>")  # fmt: skip
    module = parse_module(text)
    UnrollLoopsPass().apply(make_context(), module)
    made = str(module)
    assert made.count("onnx.Mul") == 2 and made.count("dense<7.000000e+00>") == 1
