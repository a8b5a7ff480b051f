"""The folding passes on modules: values, order, cost, reports."""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np
import onnx.helper as oh
import pytest
from calls import count_calls
from onnx import ModelProto, TensorProto, numpy_helper
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import DO_NOT_FOLD, KEEP, OVERRIDABLE
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.text import make_context
from onnxloom.dialects.verify_module import verify_module
from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.lowering.evaluate_op import HostEvaluator
from onnxloom.testing import Exact, as_module, assert_noop, assert_preserves_numerics
from onnxloom.transforms.folding.adjust_dimensions import AdjustDimensionsPass
from onnxloom.transforms.folding.evaluator import use_evaluator
from onnxloom.transforms.folding.fold_constants import FoldConstantsPass
from onnxloom.transforms.folding.fold_dimensions import FoldDimensionsPass
from onnxloom.transforms.folding.folding_pass import FoldingPass
from onnxloom.transforms.folding.replace_empty import ReplaceEmptyPass
from onnxloom.transforms.rewriting.budget import limit_rewrites
from onnxloom.transforms.shape_inference import infer_shapes


def run(module: ModuleOp, step: FoldingPass) -> int:
    """Number of ops folded; the module must be valid afterwards."""
    with use_evaluator(HostEvaluator()):
        step.apply(make_context(), module)
    verify_module(module)
    return step.report.folded


def folding(*steps: type[FoldingPass]) -> Callable[[ModuleOp], None]:
    def transform(module: ModuleOp) -> None:
        infer_shapes(module)
        for step in steps:
            run(module, step())

    return transform


def chain(count: int, *, op: str = "Add") -> ModelProto:
    """x + (c op c op ... c)."""
    nodes = [oh.make_node(op, [f"v{i}", "c"], [f"v{i + 1}"], name=f"n{i}") for i in range(count)]
    nodes.append(oh.make_node("Add", ["x", f"v{count}"], ["y"]))
    info = [oh.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    constants = [numpy_helper.from_array(np.array([1, 0.5], np.float32), name) for name in ("v0", "c")]
    return oh.make_model(
        oh.make_graph(nodes, "chain", info[:1], info[1:], constants), opset_imports=[oh.make_opsetid("", 20)]
    )


def ops(module: ModuleOp) -> list[Operation]:
    others = (onnx.ConstantOp, onnx.NoValueOp, onnx.ReturnOp, onnx.EntryPointOp)
    return [op for op in module.walk() if isinstance(op, onnx.OnnxOp) and not isinstance(op, others)]


def test_values_stay():
    assert_preserves_numerics(chain(5), None, folding(FoldConstantsPass), Exact())


def test_a_chain_folds_in_one_sweep_and_in_linear_time():
    calls: list[int] = []
    for count in (250, 1000, 4000):
        module = import_model(chain(count))
        folded: list[int] = []
        calls.append(
            count_calls(lambda module=module, folded=folded: folded.append(run(module, FoldConstantsPass())))
        )
        assert folded == [count]
        assert len(ops(module)) == 1
    assert calls[2] < 6 * calls[1], "four times the ops, quadratic would be sixteen times the work"


def test_nothing_is_left_to_do_the_second_time():
    module = import_model(chain(3))
    run(module, FoldConstantsPass())
    for step in (FoldConstantsPass, FoldDimensionsPass, AdjustDimensionsPass, ReplaceEmptyPass):
        assert_noop(module, folding(step))


def test_a_budget_takes_the_first_folds_of_an_unlimited_run():
    with limit_rewrites(None) as everything:
        run(import_model(chain(4)), FoldConstantsPass())
    assert everything.taken == [("fold-constants", f'fold at onnx.Add "n{i}"') for i in range(4)]
    for limit in range(5):
        module = import_model(chain(4))
        with limit_rewrites(limit) as log:
            assert run(module, FoldConstantsPass()) == limit
        assert log.taken == everything.taken[:limit]
        assert len(ops(module)) == 5 - limit


def test_a_weight_that_cannot_be_read_is_a_decline():
    module = as_module("""
    func.func @f() -> (tensor<256xf32>, tensor<f32>) {
      %w = onnx.Constant #onnx.weights<"nowhere.onnx", "w" : tensor<256xf32>>
      %c = onnx.Constant dense<1.0> : tensor<f32>
      %0 = "onnx.Neg"(%w) : (tensor<256xf32>) -> tensor<256xf32>
      %1 = "onnx.Neg"(%c) : (tensor<f32>) -> tensor<f32>
      onnx.Return %0, %1 : tensor<256xf32>, tensor<f32>
    }""")
    step = FoldConstantsPass()
    assert run(module, step) == 1
    assert "an input cannot be read" in step.report.declines[0].reason


def test_metadata_of_a_node_opts_out_and_survives_export():
    for key in (DO_NOT_FOLD, KEEP):
        model = chain(2)
        model.graph.node[0].metadata_props.add(key=key, value="1")
        model.graph.node[1].metadata_props.add(key="author", value="me")
        module = import_model(model)
        step = FoldConstantsPass()
        assert run(module, step) == 0
        assert [decline.op for decline in step.report.declines] == ['onnx.Add "n0"']
        exported = export_model(module)
        kept = {entry.key: entry.value for node in exported.graph.node for entry in node.metadata_props}
        assert kept == {key: "1"}
        assert run(import_model(exported), FoldConstantsPass()) == 0


def test_metadata_inside_of_functions_counts():
    body = [oh.make_node("Neg", ["a"], ["b"])]
    body[0].metadata_props.add(key=DO_NOT_FOLD, value="")
    function = oh.make_function("mine", "F", ["a"], ["b"], body, [oh.make_opsetid("", 20)])
    graph = oh.make_graph(
        [oh.make_node("F", ["c"], ["y"], domain="mine")],
        "g",
        [],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
        [numpy_helper.from_array(np.ones(1, np.float32), "c")],
    )
    opsets = [oh.make_opsetid("", 20), oh.make_opsetid("mine", 1)]
    model = oh.make_model(graph, opset_imports=opsets, functions=[function])
    assert run(import_model(model), FoldConstantsPass()) == 0


def test_names_of_outputs_stay():
    model = chain(1)
    model.graph.output.add().CopyFrom(oh.make_tensor_value_info("v1", TensorProto.FLOAT, [2]))
    module = import_model(model)
    assert run(module, FoldConstantsPass()) == 1
    assert [output.name for output in export_model(module).graph.output] == ["y", "v1"]


def test_default_values_of_inputs_do_not_fold_until_they_are_settled():
    model = chain(1)
    model.graph.input.add().CopyFrom(oh.make_tensor_value_info("c", TensorProto.FLOAT, [2]))
    module = import_model(model)
    assert run(module, FoldConstantsPass()) == 0
    for op in module.walk():
        op.attributes.pop(OVERRIDABLE, None)
    assert run(module, FoldConstantsPass()) == 1
    compiled = compile_model(model, CompileOptions(cache=False))
    feeds = {"x": np.zeros(2, np.float32)}
    np.testing.assert_array_equal(compiled.run(feeds)["y"], np.array([2, 1], np.float32))
    overridden = compiled.run({**feeds, "c": np.array([5, 5], np.float32)})
    np.testing.assert_array_equal(overridden["y"], np.array([6, 5.5], np.float32))


def test_the_report_counts_by_op_type():
    module = import_model(chain(3))
    add = next(op for op in ops(module) if op.attributes.get("onnx_node_name") == StringAttr("n2"))
    add.attributes[DO_NOT_FOLD] = StringAttr("")
    step = FoldConstantsPass()
    run(module, step)
    found = step.report.to_json()
    assert found["pass"] == "fold-constants"
    count = found["ops"]["onnx.Add"]
    assert (count["folded"], count["declined"]) == (2, 1) and count["nanoseconds"] > 0
    [decline] = found["declines"]
    assert decline["op"] == 'onnx.Add "n2"' and decline["file"] == "transforms/folding/fold_op.py"
    run(import_model(chain(0)), step)
    assert step.report.to_json() == {"pass": "fold-constants", "ops": {}, "declines": []}


def test_a_fill_of_four_gigabytes_is_not_made_and_its_shape_still_folds():
    module = as_module("""
    func.func @f(%i: tensor<1xi64>) -> (tensor<*xf32>, tensor<*xi64>) {
      %c = onnx.Constant dense<1.0> : tensor<f32>
      %n = onnx.Constant dense<[32768, 32768]> : tensor<2xi64>
      %e = "onnx.Expand"(%c, %n) : (tensor<f32>, tensor<2xi64>) -> tensor<*xf32>
      %s = "onnx.Shape"(%e) {start = 1 : si64} : (tensor<*xf32>) -> tensor<*xi64>
      %t = "onnx.Mul"(%s, %s) : (tensor<*xi64>, tensor<*xi64>) -> tensor<*xi64>
      %g = "onnx.Gather"(%e, %i) {axis = 0 : si64} : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
      onnx.Return %g, %t : tensor<*xf32>, tensor<*xi64>
    }""")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    folding(ReplaceEmptyPass, FoldDimensionsPass, FoldConstantsPass, AdjustDimensionsPass)(module)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000, "KiB"
    assert [op.name for op in ops(module)] == ["onnx.Expand", "onnx.Gather"]
    returned = next(op for op in module.walk() if isinstance(op, onnx.ReturnOp)).operands[1]
    np.testing.assert_array_equal(constant_value(returned), [32768 * 32768])


PASSES: list[type[FoldingPass]] = [
    ReplaceEmptyPass,
    FoldDimensionsPass,
    FoldConstantsPass,
    AdjustDimensionsPass,
]


def attention_shapes() -> str:
    """Splits and merges heads by computed targets, as exporters write it."""
    return """
    func.func @f(%x: tensor<?x?x12xf32> {onnx.name = "x", onnx.dim_params = "0:b,1:s"}) -> tensor<*xf32> {
      %i0 = onnx.Constant dense<0> : tensor<i64>
      %i1 = onnx.Constant dense<1> : tensor<i64>
      %ax = onnx.Constant dense<0> : tensor<1xi64>
      %h = onnx.Constant dense<3> : tensor<1xi64>
      %d = onnx.Constant dense<4> : tensor<1xi64>
      %m = onnx.Constant dense<-1> : tensor<1xi64>
      %s = "onnx.Shape"(%x) : (tensor<?x?x12xf32>) -> tensor<3xi64>
      %b0 = "onnx.Gather"(%s, %i0) {axis = 0 : si64} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
      %s0 = "onnx.Gather"(%s, %i1) {axis = 0 : si64} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
      %b = "onnx.Unsqueeze"(%b0, %ax) : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
      %t = "onnx.Unsqueeze"(%s0, %ax) : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
      %split = "onnx.Concat"(%b, %t, %h, %d) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
      %merge = "onnx.Concat"(%b, %m, %h) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
      %y = "onnx.Reshape"(%x, %split) : (tensor<?x?x12xf32>, tensor<4xi64>) -> tensor<*xf32>
      %z = "onnx.Transpose"(%y) {perm = [0, 2, 1, 3]} : (tensor<*xf32>) -> tensor<*xf32>
      %w = "onnx.Transpose"(%z) {perm = [0, 2, 3, 1]} : (tensor<*xf32>) -> tensor<*xf32>
      %v = "onnx.Reshape"(%w, %merge) : (tensor<*xf32>, tensor<3xi64>) -> tensor<*xf32>
      onnx.Return %v : tensor<*xf32>
    }"""  # noqa: E501


@pytest.mark.parametrize(("batch", "length"), [(2, 5), (1, 1), (2, 1), (1, 4)])
def test_targets_made_constant_hold_for_all_dims(batch: int, length: int):
    feeds: dict[str, Any] = {"x": np.random.default_rng(0).standard_normal((batch, length, 12), np.float32)}

    def transform(module: ModuleOp) -> None:
        folding(*PASSES)(module)
        names = {op.name for op in ops(module)}
        assert names == {"onnx.Reshape", "onnx.Transpose"}

    assert_preserves_numerics(attention_shapes(), feeds, transform, Exact())


@pytest.mark.parametrize("batch", [0, 2])
def test_an_empty_batch_still_splits(batch: int):
    text = """
    func.func @f(%x: tensor<?x12xf32> {onnx.name = "x"}) -> (tensor<*xf32>, tensor<*xf32>) {
      %d = onnx.Constant dense<4> : tensor<1xi64>
      %h = onnx.Constant dense<3> : tensor<1xi64>
      %b = "onnx.Shape"(%x) {start = 0 : si64, end = 1 : si64} : (tensor<?x12xf32>) -> tensor<1xi64>
      %t = "onnx.Concat"(%b, %h, %d) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
      %u = "onnx.Concat"(%h, %b, %d) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
      %y = "onnx.Reshape"(%x, %t) : (tensor<?x12xf32>, tensor<3xi64>) -> tensor<*xf32>
      %z = "onnx.Reshape"(%x, %u) {allowzero = 1 : si64} : (tensor<?x12xf32>, tensor<3xi64>) -> tensor<*xf32>
      onnx.Return %y, %z : tensor<*xf32>, tensor<*xf32>
    }"""  # noqa: E501
    feeds = {"x": np.ones((batch, 12), np.float32)}
    assert_preserves_numerics(text, feeds, folding(FoldDimensionsPass, AdjustDimensionsPass), Exact())


def test_all_passes_keep_special_values_and_strings():
    text = """
    func.func @f(%x: tensor<3xf32> {onnx.name = "x"}) -> (tensor<3xf32>, tensor<3xi8>, tensor<3xf16>, tensor<2x!onnx.String>, tensor<3xbf16>, tensor<2xi4>) {
      %c = onnx.Constant dense<[-0.0, 0x7FC00000, 0xFF800000]> : tensor<3xf32>
      %one = onnx.Constant dense<1.0> : tensor<3xf32>
      %0 = "onnx.Mul"(%c, %one) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %1 = "onnx.Add"(%x, %0) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %i = onnx.Constant dense<[127, -128, 64]> : tensor<3xi8>
      %2 = "onnx.Add"(%i, %i) : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi8>
      %h = onnx.Constant dense<[2049.0, 65504.0, 6.0e-8]> : tensor<3xf16>
      %3 = "onnx.Add"(%h, %h) : (tensor<3xf16>, tensor<3xf16>) -> tensor<3xf16>
      %s = onnx.Constant dense<["a", ""]> : tensor<2x!onnx.String>
      %4 = "onnx.StringConcat"(%s, %s) : (tensor<2x!onnx.String>, tensor<2x!onnx.String>) -> tensor<2x!onnx.String>
      %b = onnx.Constant dense<[1.0, 257.0, -0.0]> : tensor<3xbf16>
      %5 = "onnx.Add"(%b, %b) : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xbf16>
      %n = onnx.Constant dense<[-8, 7]> : tensor<2xi4>
      %6 = "onnx.Identity"(%n) : (tensor<2xi4>) -> tensor<2xi4>
      onnx.Return %1, %2, %3, %4, %5, %6 : tensor<3xf32>, tensor<3xi8>, tensor<3xf16>, tensor<2x!onnx.String>, tensor<3xbf16>, tensor<2xi4>
    }"""  # noqa: E501

    def transform(module: ModuleOp) -> None:
        folding(*PASSES)(module)
        assert [op.name for op in ops(module)] == ["onnx.Add"]

    assert_preserves_numerics(text, {"x": np.zeros(3, np.float32)}, transform, Exact())


def test_a_pass_without_a_rule_says_so():
    class Ruleless(FoldingPass):
        name = "ruleless"

    with pytest.raises(NotImplementedError):
        Ruleless().apply(make_context(), import_model(chain(1)))


BRANCHES = """
func.func @f(%c: tensor<i1>, %x: tensor<3xf32>) -> tensor<1xi64> {
  %0 = "onnx.If"(%c) ({
    %s = "onnx.Shape"(%x) {MARK} : (tensor<3xf32>) -> tensor<1xi64>
    onnx.Yield %s : tensor<1xi64>
  }, {
    %s = "onnx.Shape"(%x) {MARK} : (tensor<3xf32>) -> tensor<1xi64>
    onnx.Yield %s : tensor<1xi64>
  }) : (tensor<i1>) -> tensor<1xi64>
  onnx.Return %0 : tensor<1xi64>
}"""


def test_what_goes_with_an_op_that_holds_it_is_neither_declined_nor_folded():
    module = as_module(BRANCHES.replace("MARK", DO_NOT_FOLD))
    step = FoldDimensionsPass()
    assert run(module, step) == 1
    assert step.report.declines == [] and ops(module) == []
    module = as_module(BRANCHES.replace("MARK", "my.note"))
    run(module, FoldDimensionsPass(mark_only=True))
    assert len(ops(module)) == 5
    step = FoldConstantsPass()
    assert run(module, step) == 1
    assert step.report.ops["onnx.If"].folded == 1 and ops(module) == []


def test_sizes_fold_where_they_stand_unless_they_are_only_marked():
    text = """
    func.func @f(%x: tensor<3xf32>) -> tensor<i64> {
      %0 = "onnx.Size"(%x) {onnx_node_name = "size"} : (tensor<3xf32>) -> tensor<i64>
      onnx.Return %0 : tensor<i64>
    }"""
    with limit_rewrites(None) as log:
        run(as_module(text), FoldDimensionsPass())
    assert log.taken == [("fold-dimensions", 'fold at onnx.Size "size"')]
    module = as_module(text)
    with limit_rewrites(None) as log:
        assert run(module, FoldDimensionsPass(mark_only=True)) == 0
        assert run(module, FoldDimensionsPass()) == 1
    assert [pass_name for pass_name, _ in log.taken] == ["fold-dimensions"]


@pytest.mark.parametrize(("end", "is_shared"), [(500, False), (3000, True)])
def test_a_small_part_of_a_weight_does_not_keep_the_rest_alive(end: int, is_shared: bool):
    weight = np.arange(4096, dtype=np.float32)
    nodes = [oh.make_node("Slice", ["w", "zero", "end"], ["part"]), oh.make_node("Add", ["x", "part"], ["y"])]
    info = [oh.make_tensor_value_info(name, TensorProto.FLOAT, [end]) for name in "xy"]
    ends = {"zero": np.array([0]), "end": np.array([end])}
    constants = [numpy_helper.from_array(array, name) for name, array in {"w": weight, **ends}.items()]
    module = import_model(oh.make_model(oh.make_graph(nodes, "g", info[:1], info[1:], constants)))
    whole = next(constant_value(op.output) for op in module.walk() if _is_constant_of(op, 4096))
    assert run(module, FoldConstantsPass()) == 1
    part = next(constant_value(op.output) for op in module.walk() if _is_constant_of(op, end))
    assert part is not None and whole is not None
    np.testing.assert_array_equal(part, weight[:end])
    assert np.shares_memory(part, whole) == is_shared


def _is_constant_of(op: Operation, size: int) -> TypeGuard[onnx.ConstantOp]:
    return isinstance(op, onnx.ConstantOp) and op.output.type.get_shape() == (size,)  # pyright: ignore


def test_what_is_empty_already_and_what_nothing_reads_is_no_candidate():
    module = as_module("""
    func.func @f(%x: tensor<0xf32>) -> tensor<0xf32> {
      %c = onnx.Constant dense<> : tensor<0xf32>
      %unread = "onnx.Neg"(%x) : (tensor<0xf32>) -> tensor<0xf32>
      onnx.Return %c : tensor<0xf32>
    }""")
    step = ReplaceEmptyPass()
    assert run(module, step) == 0
    assert step.report.declines == [] and [op.name for op in ops(module)] == ["onnx.Neg"]
