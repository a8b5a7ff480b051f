"""Modules run op by op on the host: control flow, what is seen of it, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from text_models import model_of
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import InputError, ModelError
from onnxloom.lowering.evaluate_module import evaluate_module

X = np.arange(6, dtype=np.float32).reshape(2, 3)

LOOP = """agraph (float[N, 3] x, int64 trips) => (float[N, 3] final, float[T, N, 3] rows)
<int64 one = {1}, bool yes = {1}> {
  final, rows = Loop <
    body = body (int64 i, bool c, float[N, 3] a) => (bool go, float[N, 3] b, float[N, 3] row) {
    go = Identity(yes)
    b = Add(a, x)
    row = Neg(b)
  }> (trips, yes, x)
}"""


def both(text: str, feeds: dict[str, Any], opset: int = 21) -> tuple[list[Any], list[Any]]:
    model = model_of(text, opset)
    want: Any = ReferenceEvaluator(model).run(None, feeds)
    return list(evaluate_module(import_model(model), feeds).values()), want


@pytest.mark.parametrize("trips", [1, 3])
def test_loop_gives_what_the_reference_gives(trips: int) -> None:
    got, want = both(LOOP, {"x": X, "trips": np.array(trips, np.int64)})
    np.testing.assert_array_equal(got[0], want[0])
    # The reference joins the rows along their first axis; the standard stacks them along a new one.
    assert got[1].shape == (trips, 2, 3)
    np.testing.assert_array_equal(got[1].reshape(want[1].shape), want[1])


def test_a_loop_that_never_runs_gives_empty_scan_outputs() -> None:
    outputs = evaluate_module(import_model(model_of(LOOP)), {"x": X, "trips": np.array(0, np.int64)})
    assert outputs["rows"].shape == (0, 0, 3)
    assert outputs["rows"].dtype == np.float32
    np.testing.assert_array_equal(outputs["final"], X)


@pytest.mark.parametrize("flag", [False, True])
def test_if_takes_the_branch_of_its_condition(flag: bool) -> None:
    text = """agraph (bool c, float[2, 3] x) => (float[2, 3] y) {
      y = If <then_branch = t () => (float[2, 3] a) { a = Neg(x) },
              else_branch = e () => (float[2, 3] b) { b = Abs(x) }> (c)
    }"""
    got, want = both(text, {"c": np.array(flag), "x": X})
    np.testing.assert_array_equal(got[0], want[0])


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_scan_gives_what_the_reference_gives(axis: int, direction: int) -> None:
    # The reference takes axis 0 and forward only: the others are the same on a turned input.
    text = """agraph (float[K] s, float[N, M] x) => (float[K] last, float[P, Q] rows) {
      last, rows = Scan <num_scan_inputs = 1, scan_input_axes = [AXIS], scan_input_directions = [DIRECTION],
                         scan_output_axes = [AXIS], scan_output_directions = [DIRECTION],
                         body = body (float[K] a, float[K] r) => (float[K] b, float[K] row) {
        b = Add(a, r)
        row = Mul(b, r)
      }> (s, x)
    }"""
    text = text.replace("AXIS", str(axis)).replace("DIRECTION", str(direction))
    turned = np.moveaxis(X, axis, 0)[:: -1 if direction else 1]
    state, rows = np.zeros(turned.shape[1], np.float32), []
    for row in turned:
        state = state + row
        rows.append(state * row)
    outputs = evaluate_module(
        import_model(model_of(text)), {"s": np.zeros(turned.shape[1], np.float32), "x": X}
    )
    np.testing.assert_array_equal(outputs["last"], state)
    want = np.moveaxis(np.stack(rows[:: -1 if direction else 1]), 0, axis)
    np.testing.assert_array_equal(outputs["rows"], want)


def test_sequence_map_walks_the_sequence() -> None:
    text = """agraph (float[2, 3] x) => (seq(float[2, 3]) y) {
      s = SequenceConstruct(x, x)
      y = SequenceMap <body = body (float[2, 3] a, float[2, 3] b) => (float[2, 3] c) { c = Add(a, b) }> (s, x)
    }"""
    outputs = evaluate_module(import_model(model_of(text)), {"x": X})
    assert [type(outputs["y"]), len(outputs["y"])] == [list, 2]
    np.testing.assert_array_equal(outputs["y"][1], 2 * X)


def test_every_value_of_a_body_is_seen_once_per_iteration() -> None:
    module = import_model(model_of(LOOP))
    seen: list[SSAValue] = []
    ran: list[Operation] = []
    evaluate_module(
        module,
        {"x": X, "trips": np.array(3, np.int64)},
        seen=lambda value, _: seen.append(value),
        ran=lambda op, inputs, results: ran.append(op),
    )
    add = next(op for op in module.walk() if isinstance(op, onnx.AddOp))
    assert seen.count(add.results[0]) == 3
    assert ran.count(add) == 3
    assert sum(isinstance(op, onnx.LoopOp) for op in ran) == 1
    assert not any(isinstance(op, onnx.ConstantOp) for op in ran)


def test_fused_ops_give_what_their_body_gives() -> None:
    module = parse_module("""
      func.func @main_graph(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
        %y = "onnx.FusedOp"(%x) <{kind = "onnx.elementwise"}> ({
        ^bb0(%a: tensor<2x3xf32>):
          %b = "onnx.Neg"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
          "onnx.Yield"(%b) : (tensor<2x3xf32>) -> ()
        }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
        onnx.Return %y : tensor<2x3xf32>
      }""")
    np.testing.assert_array_equal(evaluate_module(module, {"x": X})["out0"], -X)
    np.testing.assert_array_equal(evaluate_module(module, {"arg0": X})["out0"], -X)


def test_inputs_are_not_written_to() -> None:
    text = "agraph (float[3] x, int64[1, 1] i, float[1] u) => (float[3] y) { y = ScatterND(x, i, u) }"
    x = np.zeros(3, np.float32)
    feeds = {"x": x, "i": np.array([[1]], np.int64), "u": np.ones(1, np.float32)}
    outputs = evaluate_module(import_model(model_of(text)), feeds)
    assert outputs["y"].tolist() == [0, 1, 0]
    assert x.tolist() == [0, 0, 0]
    assert x.flags.writeable


def test_a_missing_input_is_named() -> None:
    with pytest.raises(InputError, match="input 'trips' is missing; there are 'x'"):
        evaluate_module(import_model(model_of(LOOP)), {"x": X})


def test_an_op_that_cannot_run_is_named() -> None:
    text = """agraph (float[A, B] x, float[C, D] y) => (float[E, F] z) { ["mm"] z = MatMul(x, y) }"""
    with pytest.raises(
        ModelError, match=r'MatMul "mm" cannot be evaluated on \(float32\[2, 3\], float32\[2, 3\]\)'
    ):
        evaluate_module(import_model(model_of(text)), {"x": X, "y": X})
