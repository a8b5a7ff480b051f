"""Passes that fail, have nothing to do, are left out, or go on for ever."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.passes import ModulePass

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.attributes import int_value
from onnxloom.dialects.onnx.text import make_context, parse_module
from onnxloom.errors import ModelError, PassError
from onnxloom.transforms.pass_manager import fixed_point, pass_table
from onnxloom.transforms.pass_manager.cost import cost_of
from onnxloom.transforms.pass_manager.fixed_point import FixedPointPass
from onnxloom.transforms.pass_manager.pass_log import Outcome
from onnxloom.transforms.pass_manager.pass_runner import PassFailedWarning, run_pipeline
from onnxloom.transforms.pass_manager.skipping import leave_out
from onnxloom.transforms.shape_inference import ShapeInferencePass

TEXT = """
func.func @f(%x: tensor<4xf32>) -> tensor<*xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}"""


@dataclass(frozen=True)
class Counting(ModulePass):
    """Counts its own runs on the module, up to `limit`."""

    name = "counting"
    limit: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        RUNS.append(self.name)
        done = op.attributes.get("onnx.count")
        count = 0 if done is None else int(str(done).split(" ")[0])
        if count < self.limit:
            op.attributes["onnx.count"] = int_value(count + 1)


@dataclass(frozen=True)
class Failing(ModulePass):
    name = "failing"
    error: str = "KeyError"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        RUNS.append(self.name)
        neg = next(inner for inner in op.walk() if isinstance(inner, onnx.NegOp))
        neg.results[0].replace_all_uses_with(neg.operands[0])
        neg.detach()
        neg.erase()
        errors = {"KeyError": KeyError("x"), "PassError": PassError("no"), "ModelError": ModelError("bad")}
        raise errors[self.error]


@dataclass(frozen=True)
class Breaking(ModulePass):
    """Leaves invalid IR."""

    name = "breaking"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        neg = next(inner for inner in op.walk() if isinstance(inner, onnx.NegOp))
        neg.results[0]._type = TensorType(f32, [4, 4])  # pyright: ignore[reportPrivateUsage]
        neg.operands = ()


RUNS: list[str] = []


@pytest.fixture(autouse=True)
def known_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    RUNS.clear()
    for cls in (Counting, Failing, Breaking):
        monkeypatch.setitem(pass_table.TRANSFORM_PASSES, cls.name, f"{__name__}:{cls.__name__}")
    monkeypatch.setattr(fixed_point, "parse_passes", parse)
    monkeypatch.delenv("ONNXLOOM_SKIP_PASSES", raising=False)
    monkeypatch.delenv("ONNXLOOM_PASS_LOG", raising=False)


def parse(text: str) -> tuple[ModulePass, ...]:
    made = {
        "counting": Counting(),
        "counting9": Counting(9),
        "failing": Failing(),
        "shape-inference": ShapeInferencePass(),
    }
    if text.startswith("group:"):
        return (FixedPointPass(text.removeprefix("group:")),)
    return tuple(made[name] for name in text.split(","))


def outcomes(module: ModuleOp, *passes: ModulePass) -> list[tuple[str, str]]:
    report = run_pipeline(module, make_context(), passes)
    return [(run.step.name, run.outcome.value) for run in report.runs]


def test_what_a_pass_did_is_reported():
    module = parse_module(TEXT)
    assert outcomes(module, ShapeInferencePass(), Counting(0)) == [
        ("shape-inference", "changed"),
        ("counting", "unchanged"),
    ]


@pytest.mark.parametrize(("error", "said"), [("KeyError", "KeyError: 'x'"), ("PassError", " no$")])
def test_a_pass_that_fails_leaves_the_module_as_it_was_and_says_so(error: str, said: str):
    module = parse_module(TEXT)
    text = str(module)
    with pytest.warns(PassFailedWarning, match=f"pass 'failing' failed and was left out.*{said}") as caught:
        report = run_pipeline(module, make_context(), [Failing(error)])
    assert str(module) == text
    assert [run.outcome for run in report.runs] == [Outcome.FAILED]
    assert report.failures[0].error and not report.changed
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_the_passes_after_one_that_failed_run():
    module = parse_module(TEXT)
    with pytest.warns(PassFailedWarning):
        run_pipeline(module, make_context(), [Failing(), ShapeInferencePass()])
    assert "-> tensor<4xf32>" in str(module)


def test_a_pass_that_failed_fails_once():
    with pytest.warns(PassFailedWarning) as caught:
        run_pipeline(
            parse_module(TEXT), make_context(), [FixedPointPass("failing,counting9"), Failing(), Failing()]
        )
    assert len(caught) == 1
    assert RUNS.count("failing") == 1


def test_strict_makes_it_an_error_and_undoes_the_pass_as_well():
    module = parse_module(TEXT)
    text = str(module)
    with pytest.raises(PassError, match="no"):
        run_pipeline(module, make_context(), [Failing("PassError")], strict=True)
    with pytest.raises(KeyError):
        run_pipeline(module, make_context(), [Failing()], strict=True)
    assert str(module) == text


def test_a_model_at_fault_is_always_an_error_and_stays_as_it_was():
    module = parse_module(TEXT)
    text = str(module)
    with pytest.raises(ModelError, match="bad"):
        run_pipeline(module, make_context(), [Failing("ModelError")])
    assert str(module) == text


def test_invalid_ir_is_undone_where_it_is_verified():
    module = parse_module(TEXT)
    text = str(module)
    with pytest.warns(PassFailedWarning, match="left invalid IR"):
        run_pipeline(module, make_context(), [Breaking()], verify=True)
    assert str(module) == text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_pipeline(module, make_context(), [Breaking()])


def test_a_group_runs_until_nothing_changes():
    module = parse_module(TEXT)
    assert outcomes(module, FixedPointPass("counting,shape-inference")) == [
        ("counting", "changed"),
        ("shape-inference", "changed"),
        ("counting", "unchanged"),
        ("shape-inference", "unchanged"),
    ]


def test_a_group_ends_after_three_sweeps():
    module = parse_module(TEXT)
    found = outcomes(module, FixedPointPass("counting9"))
    assert found == [("counting", "changed")] * 3
    assert outcomes(module, FixedPointPass("counting9", 1)) == [("counting", "changed")]


def test_a_pass_with_nothing_to_do_is_not_run_again_before_something_changes():
    module = parse_module(TEXT)
    done = outcomes(module, ShapeInferencePass(), ShapeInferencePass(), ShapeInferencePass(), Counting())
    assert [outcome for _, outcome in done] == ["changed", "unchanged", "not needed", "changed"]
    again = outcomes(module, ShapeInferencePass(), Counting(2), ShapeInferencePass())
    assert [outcome for _, outcome in again] == ["unchanged", "changed", "unchanged"]


def test_passes_are_left_out_by_name(monkeypatch: pytest.MonkeyPatch):
    module = parse_module(TEXT)
    passes = [ShapeInferencePass(), FixedPointPass("counting,shape-inference"), Counting()]
    report = run_pipeline(module, make_context(), passes, skip=["shape-inference"])
    assert {run.outcome for run in report.runs if run.step.name == "shape-inference"} == {Outcome.SKIPPED}
    assert "tensor<*xf32>" in str(module)
    monkeypatch.setenv("ONNXLOOM_SKIP_PASSES", "counting, fixed-point")
    RUNS.clear()
    run_pipeline(module, make_context(), passes)
    assert RUNS == []
    monkeypatch.setenv("ONNXLOOM_SKIP_PASSES", "countin")
    with pytest.raises(PassError, match=r"ONNXLOOM_SKIP_PASSES: .*'countin'.*did you mean counting"):
        run_pipeline(module, make_context(), passes)
    with pytest.raises(PassError, match="there is no pass 'nothing' to skip"):
        run_pipeline(module, make_context(), passes, skip=["shape-inference,nothing"])


def test_what_is_said_of_a_pass_holds_in_groups_inside_groups_too():
    module = parse_module(TEXT)
    nested = FixedPointPass("group:failing,counting,shape-inference", 1)
    with pytest.warns(PassFailedWarning, match="pass 'failing'"):
        report = run_pipeline(module, make_context(), [nested], skip=["counting"])
    assert [run.step.name for run in report.failures] == ["failing"]
    assert "counting" not in RUNS
    assert "-> tensor<4xf32>" in str(module)


def test_a_list_of_passes_without_some():
    group = FixedPointPass("counting,shape-inference")
    assert leave_out([group, Counting()], {"counting"}) == [FixedPointPass("shape-inference")]
    assert leave_out([group], {"counting", "shape-inference"}) == []
    assert leave_out([group], {"fixed-point"}) == []


def test_the_log_says_what_each_pass_changed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    report = run_pipeline(parse_module(TEXT), make_context(), [ShapeInferencePass(), Counting(0)], log=True)
    first = report.runs[0]
    assert first.before is not None and first.after is not None
    assert (first.before.ops, first.after.ops) == (1, 1)
    assert (first.before.flops, first.after.flops) == (4, 4)
    assert (first.before.moved_bytes, first.after.moved_bytes) == (16, 32)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("ONNXLOOM_PASS_LOG", "1")
    run_pipeline(parse_module(TEXT), make_context(), [ShapeInferencePass(), Counting(0)])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(
        "onnxloom: shape-inference: changed, ops 1 -> 1 (+0), FLOP 4 -> 4 (+0), bytes 16 -> 32 (+16), "
    )
    assert lines[1].startswith("onnxloom: counting{limit=0}: unchanged, ") and len(lines) == 2
    monkeypatch.setenv("ONNXLOOM_PASS_LOG", "0")
    run_pipeline(parse_module(TEXT), make_context(), [ShapeInferencePass()])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("op", "flops"),
    [
        ('"onnx.Add"(%x, %y) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>', 32),
        ('"onnx.ReduceSum"(%x, %none) : (tensor<4x8xf32>, none) -> tensor<1x1xf32>', 32),
        ('"onnx.MatMul"(%x, %z) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>', 128),
    ],
)
def test_an_elementwise_op_counts_once_per_result(op: str, flops: int):
    result = op.rpartition("-> ")[2]
    module = parse_module(f"""
func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %z: tensor<8x2xf32>) -> {result} {{
  %none = "onnx.NoValue"() {{value}} : () -> none
  %0 = {op}
  onnx.Return %0 : {result}
}}""")
    assert cost_of(module).flops == flops


def test_a_group_applied_by_itself_reports_and_is_strict():
    group = FixedPointPass("counting")
    group.apply(make_context(), parse_module(TEXT))
    assert [run.outcome for run in group.report.runs] == [Outcome.CHANGED, Outcome.UNCHANGED]
    assert str(group.report).startswith("counting [sweep 1]: changed, ops 1 -> 1 (+0)")
    with pytest.raises(KeyError):
        FixedPointPass("failing").apply(make_context(), parse_module(TEXT))


def test_a_group_needs_a_sweep():
    with pytest.raises(ValueError, match="max-sweeps is 0"):
        FixedPointPass("counting", 0)
