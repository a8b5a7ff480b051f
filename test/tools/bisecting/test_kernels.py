"""Each op's kernel is compared with the op, on what reaches it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from text_models import model_of
from xdsl.dialects.builtin import ModuleOp

from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import InputError, ModelError
from onnxloom.lowering.compile import CompileOptions
from onnxloom.testing import Exact, evaluate
from onnxloom.tools.bisecting.kernels import WrongKernel, find_wrong_kernel

MODEL = import_model(
    model_of("""agraph (float[3] x, bool c) => (float[3] y, string[1] t) <string[1] s = {"a"}> {
      a = Exp(x)
      ["turn"] b = Neg(a)
      y = If <then_branch = u () => (float[3] p) { ["inner"] p = Tanh(b) },
              else_branch = e () => (float[3] p) { p = Abs(b) }> (c)
      t = StringConcat(s, s)
    }""")
)
FEEDS = {"x": np.ones(3, np.float32), "c": np.array(True)}


@dataclass
class FakeModel:
    """Runs a module on the host; ops of one name give nonsense, or fail."""

    module: ModuleOp
    wrong: str
    fails: bool

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        outputs = evaluate(self.module, feeds)
        if all(op.name != self.wrong for op in self.module.walk()):
            return outputs
        if self.fails:
            raise InputError("no")
        return {name: value + 1 for name, value in outputs.items()}


def search(
    monkeypatch: pytest.MonkeyPatch,
    wrong: str,
    *,
    fails: bool = False,
    compiles: bool = True,
    module: ModuleOp = MODEL,
) -> WrongKernel | None:
    def compile_module(module: ModuleOp, options: CompileOptions) -> FakeModel:
        assert options.opt_level == 0
        if not compiles and any(op.name == wrong for op in module.walk()):
            raise ModelError("no")
        return FakeModel(module, wrong, fails)

    monkeypatch.setattr("onnxloom.tools.bisecting.kernels.compile_module", compile_module)
    return find_wrong_kernel(module, FEEDS, Exact(), CompileOptions())


def test_right_kernels_are_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert search(monkeypatch, "onnx.Sin") is None


def test_a_branch_that_is_not_taken_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert search(monkeypatch, "onnx.Abs") is None


def test_control_flow_is_walked_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert search(monkeypatch, "onnx.If") is None


def test_a_fused_op_is_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = parse_module("""
      func.func @main_graph(%x: tensor<3xf32>) -> tensor<3xf32> {
        %y = "onnx.FusedOp"(%x) <{kind = "my.kind"}> ({
        ^bb0(%a: tensor<3xf32>):
          %b = "onnx.Neg"(%a) {onnx_node_name = "n"} : (tensor<3xf32>) -> tensor<3xf32>
          %c = "onnx.Exp"(%b) {onnx_node_name = "e"} : (tensor<3xf32>) -> tensor<3xf32>
          "onnx.Yield"(%c) : (tensor<3xf32>) -> ()
        }) : (tensor<3xf32>) -> tensor<3xf32>
        onnx.Return %y : tensor<3xf32>
      }""")
    found = search(monkeypatch, "onnx.Neg", module=fused)
    assert found is not None
    assert found.title == 'my.kind of onnx.Neg "n", onnx.Exp "e"'


@pytest.mark.parametrize(("wrong", "title"), [("onnx.Neg", "turn"), ("onnx.Tanh", "inner")])
def test_the_op_of_a_wrong_kernel_is_named(monkeypatch: pytest.MonkeyPatch, wrong: str, title: str) -> None:
    found = search(monkeypatch, wrong)
    assert found is not None
    assert found.title == f'{wrong} "{title}"'
    assert found.fault.startswith("out0: element [0]: expected ")
    np.testing.assert_array_equal(evaluate(found.cut.module, found.feeds)["out0"].shape, [3])


@pytest.mark.parametrize(
    ("options", "fault"),
    [({"fails": True}, "it does not run: no"), ({"compiles": False}, "it does not compile: no")],
)
def test_a_kernel_that_fails_is_wrong(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], fault: str
) -> None:
    found = search(monkeypatch, "onnx.Neg", **options)
    assert found is not None
    assert found.fault == fault
