"""Each assertion of `onnxloom.testing` fails on a transform that is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from text_models import model_of
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
    f64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import make
from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.errors import InputError, ModelError
from onnxloom.testing import Abs, Exact, Ulp, as_module, assert_noop, assert_preserves_numerics, feeds_for
from onnxloom.testing.noop import first_change

TEXT = """
func.func @main_graph(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %c = onnx.Constant dense<2.0> : tensor<f32>
  %y = "onnx.Mul"(%x, %c) {onnx_node_name = "double"} : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  %z = "onnx.Neg"(%y) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  onnx.Return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
}
"""


def of_class(module: ModuleOp, op_class: type[Operation]) -> Operation:
    return next(op for op in module.walk() if isinstance(op, op_class))


def mul_by(factor: float) -> Callable[[ModuleOp], None]:
    """Multiplies by another number."""

    def transform(module: ModuleOp) -> None:
        old = of_class(module, onnx.ConstantOp)
        fresh = onnx.make_constant(np.array(factor, np.float32))
        block = old.parent
        assert block is not None
        block.insert_op_before(fresh, old)
        old.results[0].replace_all_uses_with(fresh.output)
        old.detach()
        old.erase()

    return transform


def to_sum(module: ModuleOp) -> None:
    """x * 2 -> x + x: right."""
    old = of_class(module, onnx.MulOp)
    fresh = make(onnx.AddOp, [old.operands[0], old.operands[0]], [old.results[0].type])
    block = old.parent
    assert block is not None
    block.insert_op_before(fresh, old)
    old.results[0].replace_all_uses_with(fresh.results[0])
    old.detach()
    old.erase()


def to_negative_zero(module: ModuleOp) -> None:
    """-x -> 0 - x: wrong for 0.0 only."""
    old = of_class(module, onnx.NegOp)
    block = old.parent
    assert block is not None
    zero = onnx.make_constant(np.array(0.0, np.float32))
    fresh = make(onnx.SubOp, [zero.output, old.operands[0]], [old.results[0].type])
    block.insert_ops_before([zero, fresh], old)
    old.results[0].replace_all_uses_with(fresh.results[0])
    old.detach()
    old.erase()


def function_of(module: ModuleOp) -> FuncOp:
    return entry_function(module)


def swap_outputs(module: ModuleOp) -> None:
    end = of_class(module, onnx.ReturnOp)
    end.operands = list(reversed(end.operands))


def rename_output(module: ModuleOp) -> None:
    function_of(module).properties["res_attrs"] = ArrayAttr(
        [DictionaryAttr({"onnx.name": StringAttr(name)}) for name in ("renamed", "out1")]
    )


def drop_output(module: ModuleOp) -> None:
    function, end = function_of(module), of_class(module, onnx.ReturnOp)
    end.operands = list(end.operands)[:1]
    types = function.function_type
    function.properties["function_type"] = FunctionType.from_lists(types.inputs.data, types.outputs.data[:1])


def widen_output(module: ModuleOp) -> None:
    function, end = function_of(module), of_class(module, onnx.ReturnOp)
    cast = make(onnx.CastOp, [end.operands[1]], [TensorType(f64, [-1, 4])], to=11)
    block = end.parent
    assert block is not None
    block.insert_op_before(cast, end)
    end.operands = [end.operands[0], cast.results[0]]
    types = function.function_type
    outputs = [types.outputs.data[0], cast.results[0].type]
    function.properties["function_type"] = FunctionType.from_lists(types.inputs.data, outputs)


def break_dominance(module: ModuleOp) -> None:
    op = of_class(module, onnx.MulOp)
    block = op.parent
    assert block is not None and block.last_op is not None
    op.detach()
    block.insert_op_before(op, block.last_op)


def declare_another_shape(module: ModuleOp) -> None:
    op = of_class(module, onnx.MulOp)
    op.results[0]._type = TensorType(op.results[0].type.element_type, [7, 4])  # pyright: ignore


def feeds() -> dict[str, Any]:
    return {"arg0": np.arange(1, 9, dtype=np.float32).reshape(2, 4)}


def test_a_right_transform_passes_and_gives_the_transformed_module() -> None:
    done = assert_preserves_numerics(TEXT, None, to_sum)
    assert any(isinstance(op, onnx.AddOp) for op in done.walk())


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (
            mul_by(2.0000002),
            r"output out[01]: element \[.*\]: .*, 2 ulp apart; .*\(and 1 more\)",
        ),
        (swap_outputs, r"output out0: element .*\(and 1 more\)"),
        (rename_output, r"names: expected out0, out1, got renamed, out1"),
        (drop_output, r"names: expected out0, out1, got out0"),
        (widen_output, r"output out1: expected dtype float32, got float64$"),
        (break_dominance, r"the transform left invalid IR: "),
        (
            declare_another_shape,
            r"onnx.Mul \"double\" is declared tensor<7x4xf32>, but holds float32\[2, 4\]",
        ),
    ],
)
def test_a_broken_transform_fails(transform: Callable[[ModuleOp], None], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        assert_preserves_numerics(TEXT, feeds(), transform)


def test_the_sign_of_zero_counts_when_exact_and_made_up_inputs_have_one() -> None:
    with pytest.raises(AssertionError, match=r"expected -?0.0, got -?0.0, 0 ulp apart"):
        assert_preserves_numerics(TEXT, None, to_negative_zero, Exact())
    assert_preserves_numerics(TEXT, None, to_negative_zero, Ulp(0))


def test_a_tolerance_is_honoured() -> None:
    assert_preserves_numerics(TEXT, feeds(), mul_by(2.0000002), Ulp(2))
    with pytest.raises(AssertionError):
        assert_preserves_numerics(TEXT, feeds(), mul_by(2.0000002), Ulp(1))
    assert_preserves_numerics(TEXT, feeds(), mul_by(2.1), Abs(1.0))
    with pytest.raises(AssertionError):
        assert_preserves_numerics(TEXT, feeds(), mul_by(2.1), Abs(0.1))


def test_the_reference_runs_before_the_transform() -> None:
    """A transform that makes every run give the same (wrong) answer must not compare with itself."""
    module = as_module(TEXT)

    def transform(changed: ModuleOp) -> None:
        assert changed is not module
        mul_by(3.0)(changed)
        mul_by(3.0)(module)

    with pytest.raises(AssertionError, match="the transform changed the results"):
        assert_preserves_numerics(module, feeds(), transform)


def test_the_model_itself_is_left_alone() -> None:
    module = as_module(TEXT)
    before = str(module)
    assert_preserves_numerics(module, feeds(), to_sum)
    assert str(module) == before


def test_every_case_is_compared() -> None:
    zeros = {"arg0": np.zeros((2, 4), np.float32)}
    assert_preserves_numerics(TEXT, [zeros], mul_by(3.0))
    with pytest.raises(AssertionError, match=r"changed the results: output"):
        assert_preserves_numerics(TEXT, [feeds()], mul_by(3.0))
    with pytest.raises(AssertionError, match=r"changed the results \(case 2 of 2\)"):
        assert_preserves_numerics(TEXT, [zeros, feeds()], mul_by(3.0))


def test_no_case_at_all_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing would be compared"):
        assert_preserves_numerics(TEXT, [], lambda module: None)


def test_a_model_that_no_made_up_inputs_fit_asks_for_inputs() -> None:
    model = model_of("agraph (float[A, 2] x, float[3, B] y) => (float[A, B] z) { z = MatMul(x, y) }")
    with pytest.raises(ModelError, match="no made-up inputs fit the model; give some"):
        assert_preserves_numerics(model, None, lambda module: None)


def test_a_transform_after_which_nothing_runs_fails() -> None:
    def transform(module: ModuleOp) -> None:
        op = of_class(module, onnx.MulOp)
        constant = op.operands[1].owner
        assert isinstance(constant, onnx.ConstantOp)
        wrong = onnx.make_constant(np.zeros(3, np.float32))
        block = op.parent
        assert block is not None
        block.insert_op_before(wrong, op)
        op.operands = [op.operands[0], wrong.output]

    with pytest.raises(AssertionError, match='it does not run any more: onnx.Mul "double" cannot be'):
        assert_preserves_numerics(TEXT, feeds(), transform)


def test_noop_accepts_what_changes_nothing() -> None:
    assert_noop(TEXT, lambda module: None)


@pytest.mark.parametrize(
    "transform", [mul_by(3.0), to_sum, swap_outputs, rename_output, declare_another_shape]
)
def test_noop_fails_on_any_change(transform: Callable[[ModuleOp], None]) -> None:
    with pytest.raises(AssertionError, match="the transform changed the module: line [0-9]+ was"):
        assert_noop(TEXT, transform)


def test_the_first_changed_line_is_shown() -> None:
    assert first_change("a\nb", "a\nb") == ""
    assert first_change("a\nb", "a\n c\nd") == "line 2 was 'b', is 'c'"
    assert first_change("a\nb", "a\nb\nc") == "line 3 was not there, is 'c'"
    assert first_change("a\nb", "a") == "line 2 was 'b', is not there"


def test_noop_sees_a_change_of_a_large_weight() -> None:
    weights = np.zeros(1000, np.float32)
    module = as_module(TEXT)
    old = of_class(module, onnx.ConstantOp)
    block = old.parent
    assert block is not None
    block.insert_op_before(onnx.make_constant(weights), old)

    def transform(changed: ModuleOp) -> None:
        old = of_class(changed, onnx.ConstantOp)
        other = weights.copy()
        other[500] = 1
        block = old.parent
        assert block is not None
        block.insert_op_before(onnx.make_constant(other), old)
        old.detach()
        old.erase()

    assert_noop(module, lambda changed: None)
    with pytest.raises(AssertionError, match="the transform changed the module"):
        assert_noop(module, transform)


@pytest.mark.parametrize("form", ["text", "module", "proto", "path", "mlir path", "bytes"])
def test_models_come_in_every_form(form: str, tmp_path: Any) -> None:
    proto = model_of("agraph (float[N] x) => (float[N] y) { y = Neg(x) }")
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    (tmp_path / "m.mlir").write_text(TEXT)
    forms: dict[str, Any] = {
        "text": TEXT,
        "module": as_module(TEXT),
        "proto": proto,
        "path": str(tmp_path / "m.onnx"),
        "mlir path": tmp_path / "m.mlir",
        "bytes": proto.SerializeToString(),
    }
    assert_preserves_numerics(forms[form], None, lambda module: None)


def test_damaged_text_is_a_model_error() -> None:
    with pytest.raises(ModelError):
        as_module("func.func @f() {")


def test_feeds_name_what_cannot_be_made_up() -> None:
    with pytest.raises(InputError, match="no input has an open dim 'z'"):
        feeds_for(TEXT, dims={"z": 3})
