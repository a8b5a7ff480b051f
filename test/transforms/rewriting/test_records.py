"""What records say, where they are refused, and that a refused one leaves the module alone."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import make
from onnxloom.dialects.onnx.constant import make_constant
from onnxloom.dialects.onnx.text import parse_module, print_module
from onnxloom.dialects.onnx.weights import WeightsAttr, weights_attr
from onnxloom.errors import PassError
from onnxloom.transforms.pass_manager.pass_text import parse_passes
from onnxloom.transforms.rewriting.recording import (
    BETWEEN,
    AppliedMatch,
    Recorder,
    current_recorder,
    recording,
    use_recorder,
)
from onnxloom.transforms.rewriting.records import RewriteLog, RewriteRecord
from onnxloom.transforms.rewriting.replay import replay, replay_records

MODULE = """
func.func @main(%x: tensor<2x3xf32>, %c: tensor<i1>) -> tensor<2x3xf32> {
  %k = onnx.Constant dense<1.0> : tensor<2x3xf32>
  %a = "onnx.Neg"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = "onnx.Neg"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %d = "onnx.If"(%c) ({
    %t = "onnx.Add"(%b, %k) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    onnx.Yield %t : tensor<2x3xf32>
  }, {
    onnx.Yield %b : tensor<2x3xf32>
  }) : (tensor<i1>) -> tensor<2x3xf32>
  %e = "onnx.Elu"(%d) {alpha = 0.0 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %e : tensor<2x3xf32>
}
"""
X = TensorType(f32, [2, 3])
MAIN = "0.0.0.0.0"
"""The block of the function."""


def module_of(text: str = MODULE) -> ModuleOp:
    return parse_module(text)


def text_of(module: ModuleOp) -> str:
    stream = StringIO()
    print_module(module, stream)
    return stream.getvalue()


def ops_of(module: ModuleOp, cls: type[Operation]) -> list[Any]:
    return [op for op in module.walk() if isinstance(op, cls)]


def recorded(change: Callable[[ModuleOp], object], text: str = MODULE) -> tuple[RewriteLog, ModuleOp]:
    """The log of one change, replayed on a fresh module and found the same."""
    module, recorder = module_of(text), Recorder()
    with recorder.batch(module, "pass"):
        change(module)
    log = RewriteLog.from_json(recorder.log().to_json())
    fresh = module_of(text)
    replay(fresh, log)
    assert text_of(fresh) == text_of(module)
    return log, module


def drop_double_negation(module: ModuleOp) -> None:
    first, second = ops_of(module, onnx.NegOp)
    second.results[0].replace_all_uses_with(first.operands[0])
    for op in (second, first):
        op.detach()
        op.erase()


# What is in a record


def test_a_record_names_ops_by_position() -> None:
    log, _ = recorded(drop_double_negation)
    (record,) = log.records
    assert (record.batch, record.pattern, record.path) == (0, "pass", MAIN)
    assert [(at.was, at.name) for at in record.matched] == [
        (f"{MAIN}.1", "onnx.Neg"),
        (f"{MAIN}.2", "onnx.Neg"),
    ]
    assert record.renames == ((f"was_{MAIN}.2#0", f"was_{MAIN}#0"),)
    assert not (record.added or record.changed or record.moved)


def insert_relu(module: ModuleOp) -> None:
    (add,) = ops_of(module, onnx.AddOp)
    relu = make(onnx.ReluOp, [add.operands[0]], [X], attributes={})
    relu.results[0].name_hint = "r"
    add.parent.insert_op_before(relu, add)
    add.operands[0] = relu.results[0]


def test_an_added_op_is_text_with_its_place_after() -> None:
    (record,) = recorded(insert_relu)[0].records
    (added,) = record.added
    assert added.new == f"{MAIN}.3.0.0.0" and added.hints == ("r",)
    assert added.text == f'"onnx.Relu"(%was_{MAIN}.2#0) : (tensor<2x3xf32>) -> tensor<2x3xf32>'
    (changed,) = record.changed  # the value is read elsewhere too, so this is no renaming
    assert changed.was == f"{MAIN}.3.0.0.0" and f"%new_{MAIN}.3.0.0.0#0" in changed.text


def test_only_what_must_move_moves() -> None:
    def move_last_constant_first(module: ModuleOp) -> None:
        first, last = ops_of(module, onnx.NegOp)[0], ops_of(module, onnx.ConstantOp)[-1]
        last.detach()
        first.parent.insert_op_before(last, first)

    text = MODULE.replace("  %d =", "  %n = onnx.Constant dense<2.0> : tensor<2x3xf32>\n  %d =")
    (record,) = recorded(move_last_constant_first, text)[0].records
    assert [(m.was, m.new) for m in record.moved] == [(f"{MAIN}.3", f"{MAIN}.1")]
    assert record == RewriteRecord(0, "pass", MAIN, moved=record.moved)


@pytest.mark.parametrize("value", [-0.0, float("nan"), float("-inf"), 1e-45])
def test_a_number_is_kept_bit_for_bit(value: float) -> None:
    def change(module: ModuleOp) -> None:
        ops_of(module, onnx.EluOp)[0].properties["alpha"] = FloatAttr(value, f32)

    log, _ = recorded(change)
    assert len(log.records[0].changed) == 1


@pytest.mark.parametrize("size", [3, 1000])
def test_new_constants_are_inline_bit_for_bit(size: int) -> None:
    data = np.zeros((size, 2, 3), np.float32)
    data.view(np.uint32).reshape(-1)[:6] = [0x80000000, 0x7FC00123, 0xFFC00001, 0x7F800000, 1, 0x3F800000]

    def change(module: ModuleOp) -> None:
        (add,) = ops_of(module, onnx.AddOp)
        constant = make_constant(data)
        axes = make_constant(np.array([0]))
        largest = make(onnx.ReduceMaxOp, [constant.results[0], axes.results[0]], [X], keepdims=0)
        add.parent.insert_ops_before([constant, axes, largest], add)
        add.operands[1] = largest.results[0]

    log, _ = recorded(change)
    fresh = module_of()
    replay(fresh, log)
    found = [op.value for op in ops_of(fresh, onnx.ConstantOp) if "2x3xf32" in str(op.output.type)]
    arrays = [onnx.constant_value(value) for value in found]
    assert data.tobytes() in [array.tobytes() for array in arrays if array is not None]
    assert len(log.records[0].weights_added) == 2 and "memory" not in log.to_json()


def test_weights_of_the_model_are_named_not_copied() -> None:
    weights = weights_attr(np.arange(600, dtype=np.float32).reshape(100, 2, 3))
    module = module_of()
    (constant,) = ops_of(module, onnx.ConstantOp)
    constant.parent.insert_op_before(make_constant(weights), constant)
    recorder = Recorder()
    fresh = module.clone()
    with recorder.batch(module, "pass"):
        copy = make_constant(weights)
        constant.parent.insert_op_before(copy, constant)
    log = recorder.log()
    assert f'#onnx.weights<"was", "{MAIN}.0 value" : ' in log.records[0].added[0].text
    replay(fresh, RewriteLog.from_json(log.to_json()))
    attributes = [op.value for op in ops_of(fresh, onnx.ConstantOp)]
    assert sum(isinstance(a, WeightsAttr) and a.reference is weights.reference for a in attributes) == 2


def test_types_are_recorded() -> None:
    text = MODULE.replace(
        '%b = "onnx.Neg"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>',
        '%b = "onnx.Neg"(%a) : (tensor<2x3xf32>) -> tensor<?x3xf32>',
    ).replace('"onnx.Add"(%b, %k) : (tensor<2x3xf32>', '"onnx.Add"(%b, %k) : (tensor<?x3xf32>')
    text = text.replace("onnx.Yield %b : tensor<2x3xf32>", "onnx.Yield %b : tensor<?x3xf32>")

    def infer(module: ModuleOp) -> None:
        (infer_shapes,) = parse_passes("shape-inference")
        infer_shapes.apply(Context(), module)

    (record,) = recorded(infer, text)[0].records
    assert (f"was_{MAIN}.2#0", "tensor<2x3xf32>") in record.retyped and not record.changed


def test_arguments_of_blocks_are_recorded() -> None:
    def swap_and_extend(module: ModuleOp) -> None:
        (function,) = ops_of(module, FuncOp)
        block = function.body.block
        x, c = block.args
        extra = block.insert_arg(X, 0)
        extra.name_hint = "extra"
        block._args = (extra, c, x)  # pyright: ignore[reportPrivateUsage]
        c.index, x.index = 1, 2
        function.update_function_type()

    log, module = recorded(swap_and_extend)
    assert [form.arguments for form in log.records[0].rearranged] == [("tensor<2x3xf32>", 1, 0)]
    assert "@main(%extra: tensor<2x3xf32>, %c: tensor<i1>, %x: tensor<2x3xf32>)" in text_of(module)


def test_an_argument_may_go() -> None:
    def drop_x(module: ModuleOp) -> None:
        (function,) = ops_of(module, FuncOp)
        x = function.body.block.args[0]
        x.replace_all_uses_with(ops_of(module, onnx.ConstantOp)[0].results[0])
        function.body.block.erase_arg(x)
        function.update_function_type()

    log, _ = recorded(drop_x)
    assert [form.arguments for form in log.records[0].rearranged] == [(1,)]


def test_an_op_may_take_over_the_blocks_of_another() -> None:
    def rebuild(module: ModuleOp) -> None:
        (old,) = ops_of(module, onnx.IfOp)
        regions = [old.detach_region(0), old.detach_region(0)]
        new = onnx.IfOp.create(operands=list(old.operands), result_types=[X], regions=regions[::-1])
        old.parent.insert_op_before(new, old)
        old.results[0].replace_all_uses_with(new.results[0])
        old.detach()
        old.erase()

    (record,) = recorded(rebuild)[0].records
    (added,) = record.added
    assert [[form.was for form in region] for region in added.regions] == [
        [f"{MAIN}.3.1.0"],
        [f"{MAIN}.3.0.0"],
    ]


def test_a_pass_that_changes_nothing_leaves_no_record() -> None:
    log, _ = recorded(lambda module: None)
    assert log.records == () and log.model == log.result


# Batches


def test_a_batch_is_split_by_match() -> None:
    module, recorder = module_of(), Recorder()
    first, second = ops_of(module, onnx.NegOp)
    x = first.operands[0]
    with recorder.batch(module, "engine") as batch:
        second.results[0].replace_all_uses_with(x)
        relu = make(onnx.ReluOp, [x], [X])
        elu = ops_of(module, onnx.EluOp)[0]
        elu.parent.insert_op_before(relu, elu)
        elu.operands[0] = relu.results[0]
        for op in (second, first):
            op.detach()
            op.erase()
        batch.attribute(AppliedMatch("NegNeg", [second], [], {second.results[0]: x}, 5, 7, "a comment"))
        batch.attribute(AppliedMatch("AddsRelu", [], [relu], adds_ops="for the test"))
        batch.attribute(AppliedMatch("DidNothing", [], []))
    log = RewriteLog.from_json(recorder.log().to_json())
    assert [record.pattern for record in log] == ["NegNeg", "AddsRelu", "engine"]
    negation, relus, rest = log.records
    assert len(negation.matched) == 1 and len(negation.renames) == 1
    assert (negation.match_ns, negation.apply_ns, negation.comment) == (5, 7, "a comment")
    assert len(relus.added) == 1 and relus.adds_ops == "for the test"
    assert len(rest.matched) == 1  # the first negation became dead
    assert len(log.batches) == 1
    fresh = module_of()
    replay(fresh, log)
    assert text_of(fresh) == text_of(module)


def test_an_inner_batch_keeps_its_own() -> None:
    module, recorder = module_of(), Recorder()
    with recorder.batch(module, "outer"):
        insert_relu(module)
        with recorder.batch(ops_of(module, FuncOp)[0], "inner"):
            drop_double_negation(module)
        ops_of(module, onnx.EluOp)[0].properties["alpha"] = FloatAttr(2.0, f32)
    log = recorder.log()
    assert [record.pattern for record in log] == ["outer", "inner", "outer"]
    assert [record.batch for record in log] == [0, 1, 2]
    fresh = module_of()
    replay(fresh, log)
    assert text_of(fresh) == text_of(module)


def test_what_happens_between_passes_is_recorded_too() -> None:
    module, recorder = module_of(), Recorder()
    with recorder.batch(module, "one"):
        insert_relu(module)
    drop_double_negation(module)
    with recorder.batch(module, "two"):
        pass
    ops_of(module, onnx.EluOp)[0].properties["alpha"] = FloatAttr(2.0, f32)
    assert [record.pattern for record in recorder.log()] == ["one", BETWEEN, BETWEEN]


def test_a_pass_that_raises_is_recorded_as_far_as_it_came() -> None:
    module, recorder = module_of(), Recorder()
    with pytest.raises(ZeroDivisionError), recorder.batch(module, "one"):
        insert_relu(module)
        raise ZeroDivisionError
    assert [record.pattern for record in recorder.records] == ["one"]


def test_a_recorder_is_in_use_for_a_block_of_code() -> None:
    module, recorder = module_of(), Recorder()
    with recording(module, "nobody listens"):
        insert_relu(module)
    with use_recorder(recorder):
        assert current_recorder() is recorder
        with recording(module, "pass"):
            drop_double_negation(module)
    assert current_recorder() is None
    assert [record.pattern for record in recorder.records] == ["pass"]


def test_a_recorder_watches_one_module() -> None:
    recorder = Recorder()
    with pytest.raises(PassError, match="nothing was recorded"):
        recorder.log()
    with recorder.batch(module_of(), "one"):
        pass
    with pytest.raises(PassError, match="one module"), recorder.batch(module_of(), "two"):
        pass


# What is refused


def test_another_model_is_refused_and_left_alone() -> None:
    log, _ = recorded(drop_double_negation)
    other = module_of(MODULE.replace("dense<1.0>", "dense<-1.0>"))
    before = text_of(other)
    with pytest.raises(PassError, match="recorded on another model"):
        replay(other, log)
    assert text_of(other) == before


def test_other_weights_are_another_model() -> None:
    def with_weights(value: float) -> ModuleOp:
        module = module_of()
        (constant,) = ops_of(module, onnx.ConstantOp)
        data = np.full((100, 2), value, np.float32)
        constant.parent.insert_op_before(make_constant(data), constant)
        return module

    recorder, module = Recorder(), with_weights(1)
    with recorder.batch(module, "pass"):
        drop_double_negation(module)
    replay(with_weights(1), recorder.log())
    with pytest.raises(PassError, match="another model"):
        replay(with_weights(2), recorder.log())


def test_another_result_is_refused_and_leaves_the_module_alone() -> None:
    log, _ = recorded(drop_double_negation)
    module = module_of()
    with pytest.raises(PassError, match="not the one that was recorded"):
        replay(module, dataclasses.replace(log, result=log.model))
    with pytest.raises(PassError, match="batch 0"):
        replay(module, dataclasses.replace(log, records=log.records * 2))
    assert text_of(module) == text_of(module_of())


ADD = "0.0.0.0.0.3.0.0.0"
RELU = '"onnx.Relu"(%was_0.0.0.0.0.2#0) : (tensor<2x3xf32>) -> tensor<2x3xf32>'
ELU = '"onnx.Elu"(%was_0.0.0.0.0.3#0) <{alpha = 1.0 : f32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>'
IF_FORMS = [[{"was": f"{MAIN}.3.0.0"}], [{"was": f"{MAIN}.3.1.0"}]]


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"matched": [{"was": f"{MAIN}.9", "name": "onnx.Neg"}]},
            "there is no op 0.0.0.0.0.9: its block has 6",
        ),
        ({"matched": [{"was": f"{MAIN}.1", "name": "onnx.Abs"}]}, "is onnx.Neg; the record expects onnx.Abs"),
        ({"matched": [{"was": f"{MAIN}.2", "name": "onnx.Neg"}]}, "still reads a value that is removed"),
        ({"matched": [{"was": f"{MAIN}.1", "name": "onnx.Neg"}] * 2}, "is removed twice"),
        ({"matched": [{"was": "module", "name": "builtin.module"}]}, "or is the module itself"),
        ({"matched": [{"was": "0.0", "name": "onnx.Neg"}]}, "'0.0' is not the position of an op"),
        ({"matched": [{"was": "0.0.00", "name": "onnx.Neg"}]}, "is not the position of an op"),
        ({"matched": [{"was": "0.7.0", "name": "onnx.Neg"}]}, "there is no block 0.7"),
        ({"matched": [{"was": "5.0.0", "name": "onnx.Neg"}]}, "there is no block 5.0"),
        (
            {"moved": [{"was": f"{MAIN}.0", "name": "onnx.Constant", "new": f"{MAIN}.0"}] * 2},
            "is moved twice",
        ),
        ({"moved": [{"was": f"{MAIN}.0", "name": "onnx.Neg", "new": f"{MAIN}.0"}]}, "expects onnx.Neg"),
        (
            {
                "matched": [{"was": f"{MAIN}.0", "name": "onnx.Constant"}],
                "moved": [{"was": f"{MAIN}.0", "name": "onnx.Constant", "new": f"{MAIN}.0"}],
            },
            "both removed and moved",
        ),
        ({"added": [{"new": f"{MAIN}.99", "text": RELU}]}, "put at 0.0.0.0.0.99, but the block has 7 ops"),
        ({"added": [{"new": f"{MAIN}.3", "text": RELU}] * 2}, "two ops are put at"),
        ({"added": [{"new": "module", "text": RELU}]}, "two ops are put at module"),
        ({"added": [{"new": f"{MAIN}.1", "text": RELU}]}, "is not valid"),
        (
            {"added": [{"new": f"{MAIN}.4", "text": RELU, "hints": ["a", "b"]}]},
            "has 1 results; the record names",
        ),
        (
            {"added": [{"new": f"{MAIN}.4", "text": RELU, "hints": ["1 x"]}]},
            "'1 x' is not the name of a value",
        ),
        ({"added": [{"new": f"{MAIN}.4", "text": RELU + " junk"}]}, "expected nothing more"),
        ({"added": [{"new": f"{MAIN}.4", "text": "%y = " + RELU}]}, "without results' names"),
        (
            {"added": [{"new": f"{MAIN}.4", "text": '"onnx.NoSuch"() : () -> ()'}]},
            "onnx.NoSuch is not registered",
        ),
        ({"added": [{"new": f"{MAIN}.4", "text": '"onnx'}]}, "does not parse"),
        (
            {"added": [{"new": f"{MAIN}.4", "text": RELU.replace("2x3xf32>)", "3x2xf32>)")}]},
            "the record expects",
        ),
        (
            {"added": [{"new": f"{MAIN}.4", "text": RELU.replace("0.2#0", "0.2#1")}]},
            "there is no value 1 of 0.0.0.0.0.2: the number of its values is 1",
        ),
        (
            {"added": [{"new": f"{MAIN}.4", "text": RELU.replace("was_0.0.0.0.0.2", "new_0.0.0.0.0.44")}]},
            "there is no op",
        ),
        (
            {"added": [{"new": f"{MAIN}.4", "text": RELU.replace("was_0.0.0.0.0.2", "x")}]},
            "does not name a value",
        ),
        (
            {"added": [{"new": f"{MAIN}.4", "text": RELU, "regions": [[{"arguments": ["f"], "hints": []}]]}]},
            "'f' does not parse",
        ),
        (
            {"added": [{"new": f"{MAIN}.4", "text": RELU, "regions": [[{"hints": ["a"]}]]}]},
            "other arguments than names",
        ),
        ({"changed": [{"was": f"{MAIN}.4", "text": ELU}] * 2}, "is changed twice"),
        ({"changed": [{"was": f"{MAIN}.4", "text": RELU}]}, "is onnx.Elu; the record expects onnx.Relu"),
        (
            {"changed": [{"was": f"{MAIN}.4", "text": ELU.replace("-> tensor<2x3xf32>", "-> ()")}]},
            "has 1 results",
        ),
        ({"relaid": [{"was": f"{MAIN}.3", "name": "onnx.Neg", "regions": []}]}, "expects onnx.Neg"),
        ({"relaid": [{"was": f"{MAIN}.3", "name": "onnx.If", "regions": IF_FORMS}] * 2}, "are given twice"),
        (
            {"relaid": [{"was": f"{MAIN}.3", "name": "onnx.If", "regions": [IF_FORMS[0], IF_FORMS[0]]}]},
            "is given to two ops",
        ),
        ({"relaid": [{"was": f"{MAIN}.3", "name": "onnx.If", "regions": IF_FORMS[:1]}]}, "is not valid"),
        ({"rearranged": [{"was": MAIN, "arguments": [0, 1]}] * 2}, "are given twice"),
        ({"rearranged": [{"was": MAIN, "arguments": [0, 0]}]}, "has 2 arguments; the record names others"),
        ({"rearranged": [{"was": MAIN, "arguments": [0, 2]}]}, "has 2 arguments; the record names others"),
        ({"rearranged": [{"was": MAIN, "arguments": [0, -1]}]}, "has 2 arguments; the record names others"),
        ({"rearranged": [{"was": MAIN, "arguments": [0, 1], "hints": ["a"]}]}, "other arguments than names"),
        ({"rearranged": [{"was": MAIN, "arguments": [0]}]}, "still reads a value that is removed"),
        ({"renames": [[f"new_{MAIN}.2#0", f"was_{MAIN}#0"]]}, "not a value from before"),
        ({"renames": [[f"was_{MAIN}.2#0", "x"]]}, "'x' does not name a value"),
        ({"retyped": [[f"was_{MAIN}.2#0", "tensor<2xf32"]]}, "does not parse"),
        ({"retyped": [[f"new_{MAIN}.2#0", "tensor<2xf32>"]]}, "not a value from before"),
        ({"named": [[f"was_{MAIN}.2#0", "9"]]}, "is not the name of a value"),
    ],
)
def test_a_record_that_does_not_fit_says_why(changes: dict[str, Any], message: str) -> None:
    data = {"batch": 4, "pattern": "Some", "path": MAIN, **changes}
    text = json.dumps({"format": 1, "model": "", "result": "", "records": [data]})
    with pytest.raises(PassError) as caught:
        replay_records(module_of(), RewriteLog.from_json(text).records)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert "batch 4 (Some)" in str(caught.value) or "is not valid" in str(caught.value)


@pytest.mark.parametrize(
    "place",
    [
        '"model.onnx", "w"',
        '"/etc/passwd", [0, 4]',
        '"memory", "1-2"',
        f'"was", "{MAIN}.1 value"',
        '"was", [0, 4]',
    ],
)
def test_a_record_may_not_name_weights_that_are_not_the_models(place: str) -> None:
    text = f'"onnx.Constant"() <{{value = #onnx.weights<{place} : tensor<200xf32>>}}> : () -> tensor<200xf32>'
    records = [{"batch": 0, "pattern": "P", "path": MAIN, "added": [{"new": f"{MAIN}.0", "text": text}]}]
    log = json.dumps({"format": 1, "model": "", "result": "", "records": records})
    with pytest.raises(PassError, match="weights"):
        replay_records(module_of(), RewriteLog.from_json(log).records)


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "expected an object"),
        ("{}", "format is 'None'; expected 1"),
        ('{"format": 2}', "format is '2'"),
        ('{"format": true}', "format is 'True'"),
        ('{"format": 1, "model": "", "result": ""}', "records is missing"),
        ('{"format": 1, "model": "", "result": "", "records": [], "more": 1}', "no field 'more'"),
        ('{"format": 1, "model": 3, "result": "", "records": []}', "rewrites.model is '3'; expected str"),
        (
            '{"format": 1, "model": "", "result": "", "records": {}}',
            "rewrites.records is '{}'; expected a list",
        ),
        ('{"format": 1, "model": "", "result": "", "records": [1]}', "records[0] is '1'; expected an object"),
        (
            '{"format": 1, "model": "", "result": "", "records": '
            '[{"batch": true, "pattern": "", "path": ""}]}',
            "records[0].batch is 'True'; expected int",
        ),
        (
            '{"format": 1, "model": "", "result": "", "records": '
            '[{"batch": 1, "pattern": "", "path": "", "renames": [["a"]]}]}',
            "records[0].renames[0] has 1 items; expected 2",
        ),
    ],
)
def test_text_that_is_no_log_says_why(text: str, message: str) -> None:
    with pytest.raises(PassError) as caught:
        RewriteLog.from_json(text)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("numbers", [(1, 0), (0, 1, 0)])
def test_batches_come_in_order(numbers: tuple[int, ...]) -> None:
    records = [RewriteRecord(number, "P", MAIN) for number in numbers]
    with pytest.raises(PassError, match="do not rise"):
        replay_records(module_of(), records)


def test_many_matches_of_one_batch() -> None:
    count = 1500
    lines = [f'  %{i + 1} = "onnx.Neg"(%{i}) : (tensor<2xf32>) -> tensor<2xf32>' for i in range(2 * count)]
    head = "func.func @main(%0: tensor<2xf32>) -> tensor<2xf32> {\n"
    text = head + "\n".join(lines) + f"\n  onnx.Return %{2 * count} : tensor<2xf32>\n}}"
    module, fresh, recorder = module_of(text), module_of(text), Recorder()
    with recorder.batch(module, "engine") as batch:
        negations = ops_of(module, onnx.NegOp)
        for first, second in zip(negations[::2], negations[1::2], strict=True):
            relu = make(onnx.ReluOp, [first.operands[0]], [first.results[0].type])
            first.parent.insert_op_before(relu, first)
            renames = {second.results[0]: relu.results[0]}
            second.results[0].replace_all_uses_with(relu.results[0])
            for op in (second, first):
                op.detach()
                op.erase()
            batch.attribute(AppliedMatch("Pair", [first, second], [relu], renames))
    log = RewriteLog.from_json(recorder.log().to_json())
    replay(fresh, log)
    assert len(log.records) == count and text_of(fresh) == text_of(module)
