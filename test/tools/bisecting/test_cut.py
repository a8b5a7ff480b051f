"""Ops cut out of a module are a model that gives what they gave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from text_models import model_of
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.dialects.onnx.text import make_context
from onnxloom.dialects.verify_module import verify_module
from onnxloom.errors import InputError
from onnxloom.lowering.compile import CompileOptions
from onnxloom.lowering.optimize import optimize_module
from onnxloom.testing import Exact, as_module, differences, evaluate
from onnxloom.tools.bisecting.cut import cut_out, outputs_of
from onnxloom.tools.bisecting.reduce import as_read_again, observe, reduce_rewrite, write_model
from onnxloom.tools.bisecting.rewrites import Judge

MODEL = model_of("""agraph (float[N, 4] x, bool c) => (float[N, 4] y, float[N, 4] z)
<float[4] k = {1.0, 2.0, 3.0, 4.0}> {
  a = Mul(x, k)
  b = Exp(a)
  s = SequenceConstruct(a, b)
  i = Constant <value_int = 1> ()
  d = SequenceAt(s, i)
  y = If <then_branch = t () => (float[N, 4] p) { p = Add(d, b) },
          else_branch = e () => (float[N, 4] p) { p = Sub(d, k) }> (c)
  z = Neg(y)
}""")
FEEDS = {"x": np.arange(8, dtype=np.float32).reshape(2, 4) / 8, "c": np.array(True)}


def ops_of(module: ModuleOp, *classes: type[Operation]) -> list[Operation]:
    return [op for op in entry_function(module).body.block.ops if isinstance(op, classes)]


@pytest.mark.parametrize("suffix", [".onnx", ".mlir"])
@pytest.mark.parametrize(
    ("classes", "inputs"),
    [
        ((onnx.MulOp,), 1),
        ((onnx.ExpOp, onnx.MulOp), 1),
        ((onnx.IfOp,), 3),
        ((onnx.IfOp, onnx.NegOp, onnx.ExpOp), 3),
    ],
)
def test_a_cut_gives_what_the_ops_gave(
    classes: tuple[type[Operation], ...], inputs: int, suffix: str
) -> None:
    module = import_model(MODEL)
    ops = ops_of(module, *classes)
    outputs = outputs_of(ops)
    seen: dict[Any, Any] = {}
    evaluate(module, FEEDS, seen=seen.__setitem__)
    cut = cut_out(module, ops, outputs)
    verify_module(cut.module)
    assert len(cut.inputs) == inputs
    feeds = observe(module, cut.inputs, FEEDS)
    assert feeds is not None
    want = {f"out{index}": seen[value] for index, value in enumerate(outputs)}
    assert not differences(want, evaluate(as_read_again(cut.module, suffix), feeds), Exact())


def test_outputs_are_what_others_read() -> None:
    module = import_model(MODEL)
    (mul, exp) = ops_of(module, onnx.MulOp, onnx.ExpOp)
    assert outputs_of([mul]) == [mul.results[0]]
    assert outputs_of([exp, mul]) == [exp.results[0], mul.results[0]]
    (if_op, neg) = ops_of(module, onnx.IfOp, onnx.NegOp)
    assert outputs_of([if_op, neg]) == [if_op.results[0], neg.results[0]]


def test_values_that_are_no_tensors_cannot_be_inputs() -> None:
    module = import_model(MODEL)
    cut = cut_out(module, ops_of(module, onnx.SequenceAtOp), outputs_of(ops_of(module, onnx.SequenceAtOp)))
    assert observe(module, cut.inputs, FEEDS) is None


@pytest.mark.parametrize(("suffix", "kept"), [(".mlir", True), (".onnx", False)])
def test_text_keeps_fused_ops_and_a_model_does_not(suffix: str, kept: bool, tmp_path: Path) -> None:
    module = import_model(model_of("agraph (float[3] x) => (float[3] y) { a = Exp(x) y = Neg(a) }"))
    optimize_module(module, make_context(), CompileOptions())
    read = as_read_again(module, suffix)
    assert any(isinstance(op, onnx.FusedOp) for op in read.walk()) is kept
    path = tmp_path / f"m{suffix}"
    write_model(module, path)
    assert any(isinstance(op, onnx.FusedOp) for op in as_module(path).walk()) is kept


def shows_for(*names: str) -> Any:
    """Says that a model shows the fault if it has all these ops."""

    def shows(module: ModuleOp, feeds: Any) -> str:
        evaluate(module, feeds)
        found = {op.name for op in module.walk()}
        return "wrong" if found.issuperset(names) else ""

    return shows


def replaced(op_class: type[Operation], by: str) -> tuple[ModuleOp, ModuleOp]:
    before = import_model(MODEL)
    after = before.clone()
    (op,) = ops_of(after, op_class)
    fresh = onnx.OPS_BY_NAME["", by].create(operands=op.operands[:1], result_types=[op.results[0].type])
    assert op.parent is not None
    op.parent.insert_op_before(fresh, op)
    op.results[0].replace_all_uses_with(fresh.results[0])
    op.detach()
    op.erase()
    return before, after


@pytest.mark.parametrize(
    ("needed", "size"),
    [
        (["onnx.Exp"], 1),
        (["onnx.Exp", "onnx.SequenceConstruct"], 5),  # its readers: If, with an op in each branch
        (["onnx.Exp", "onnx.Mul"], 8),
    ],
)
def test_a_candidate_grows_until_it_shows_the_fault(needed: list[str], size: int) -> None:
    before, after = replaced(onnx.ExpOp, "Abs")
    found = reduce_rewrite(before, after, FEEDS, shows_for(*needed))
    assert found is not None
    assert found.ops <= size
    assert {op.name for op in found.module.walk()}.issuperset(needed)


def test_sequences_are_made_inside_the_candidate() -> None:
    before, after = replaced(onnx.SequenceAtOp, "Abs")
    found = reduce_rewrite(before, after, FEEDS, shows_for("onnx.SequenceAt"))
    assert found is not None
    assert {op.name for op in found.module.walk()}.issuperset(["onnx.SequenceConstruct", "onnx.SequenceAt"])
    assert found.ops == 2


def test_nothing_is_found_where_nothing_shows_it() -> None:
    sizes: list[int] = []

    def shows(module: ModuleOp, feeds: Any) -> str:
        verify_module(module)
        sizes.append(len(list(module.walk())))
        return ""

    before, after = replaced(onnx.ExpOp, "Abs")
    assert reduce_rewrite(before, after, FEEDS, shows) is None
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 3


def test_a_sequence_that_is_an_input_of_the_model_cannot_be_given() -> None:
    model = model_of("""agraph (seq(float[2]) s) => (float[2] y) {
      i = Constant <value_int = 0> () a = SequenceAt(s, i) y = Neg(a) }""")
    before = import_model(model)
    after = before.clone()
    (op,) = ops_of(after, onnx.SequenceAtOp)
    op.attributes["mark"] = StringAttr("changed")
    feeds = {"s": [np.ones(2, np.float32)]}
    assert reduce_rewrite(before, after, feeds, lambda module, feeds: "wrong") is None


def test_an_output_without_an_op_leaves_nothing_to_cut_out() -> None:
    text = """func.func @main_graph(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
      onnx.Return %x : tensor<2xf32>
    }"""
    feeds = {"x": np.zeros(2, np.float32), "y": np.ones(2, np.float32)}
    before, after = as_module(text), as_module(text.replace("Return %x", "Return %y"))
    assert reduce_rewrite(before, after, feeds, lambda module, feeds: "wrong") is None


def test_a_random_model_cannot_be_judged() -> None:
    model = model_of("agraph () => (float[3] y) { y = RandomNormal <shape = [3]> () }")
    with pytest.raises(InputError, match="onnx.RandomNormal -> .* is random"):
        Judge.of(import_model(model), {}, Exact())
    seeded = model_of("agraph () => (float[3] y) { y = RandomNormal <shape = [3], seed = 1.0> () }")
    Judge.of(import_model(seeded), {}, Exact())
