"""The index: what each question answers, and that brute force finds what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rewriting import T, function, index_of, op_of, value
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, StringAttr, TensorType, f16, f32, i1, i64
from xdsl.dialects.func import FuncOp

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import DO_NOT_FOLD, KEEP, OVERRIDABLE
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import ModelError, PassError
from onnxloom.transforms.folding.evaluator import NumpyEvaluator
from onnxloom.transforms.rewriting.constants import ConstantValues
from onnxloom.transforms.rewriting.graph_index import GraphIndex

IF = f"""func.func @f(%x: {T}, %c: tensor<i1>) -> ({T}, {T}) {{
  %a = "onnx.Neg"(%x) : ({T}) -> {T}
  %b = "onnx.Abs"(%a) : ({T}) -> {T}
  %r = "onnx.If"(%c) ({{
    %t = "onnx.Exp"(%a) : ({T}) -> {T}
    onnx.Yield %t : {T}
  }}, {{
    onnx.Yield %x : {T}
  }}) : (tensor<i1>) -> {T}
  onnx.Return %b, %r : {T}, {T}
}}"""


@pytest.fixture
def diamond() -> ModuleOp:
    """%a is read by Abs, twice by Mul; %m is an output; %d is dead."""
    return function("a = Neg x", "b = Abs a", "m = Mul a a", "s = Add m b", "d = Exp s", returned="m s")


def test_producers(diamond: ModuleOp):
    index = index_of(diamond)
    assert index.producer(value(diamond, "a")) is op_of(diamond, "a")
    assert index.producer(value(diamond, "x")) is None
    assert index.producer_of(value(diamond, "a"), onnx.AbsOp, onnx.NegOp) is op_of(diamond, "a")
    assert index.producer_of(value(diamond, "a"), onnx.AbsOp) is None
    assert index.producer_of(value(diamond, "x"), onnx.NegOp) is None


def test_readers(diamond: ModuleOp):
    index, a = index_of(diamond), value(diamond, "a")
    b, m, s = (op_of(diamond, name) for name in "bms")
    assert index.uses(a) == ((b, 0), (m, 0), (m, 1))
    assert index.consumers(a) == (b, m)
    assert index.successors(op_of(diamond, "a")) == (b, m)
    assert index.predecessors(s) == (m, b) and index.predecessors(op_of(diamond, "a")) == ()
    assert index.only_consumer(value(diamond, "b")) is s
    assert index.only_consumer(a) is None and index.only_consumer(value(diamond, "d")) is None


def test_use_counts(diamond: ModuleOp):
    index = index_of(diamond)
    a, b, m, d = (value(diamond, name) for name in "abmd")
    assert index.is_used(a) and not index.is_used(d)
    assert index.is_used_more_than_once(a) and not index.is_used_more_than_once(b)
    assert not index.is_used_more_than_once(d)
    assert index.is_output(m) and index.is_used_more_than_once(m) and not index.is_output(b)
    assert index.is_private(b) and not index.is_private(m) and not index.is_private(d)
    assert index.is_used_only_by(a, (op_of(diamond, "b"), op_of(diamond, "m")))
    assert not index.is_used_only_by(a, (op_of(diamond, "b"),))


def test_one_op_that_reads_a_value_twice_is_one_reader():
    module = function("a = Neg x", "y = Mul a a")
    index = index_of(module)
    assert not index.is_used_more_than_once(value(module, "a"))
    assert index.only_consumer(value(module, "a")) is op_of(module, "y")


def test_ops_that_are_not_attached_do_not_read(diamond: ModuleOp):
    index = index_of(diamond)
    made = index.make(onnx.ExpOp, [value(diamond, "b")])
    assert index.is_private(value(diamond, "b")) and made.parent is None


def test_positions_grow(diamond: ModuleOp):
    index = index_of(diamond)
    found = [index.position(op) for op in index.block.ops]
    assert found == sorted(set(found))


def test_what_a_region_reads_is_read_by_its_holder():
    module = parse_module(IF)
    index = index_of(module)
    a, holder = value(module, "a"), op_of(module, "r")
    assert index.is_used_by_subgraph(a) and index.is_used_by_subgraph(value(module, "x"))
    assert not index.is_used_by_subgraph(value(module, "b"))
    assert index.is_used_more_than_once(a) and not index.is_private(a)
    assert index.consumers(a) == (op_of(module, "b"), holder)
    assert index.uses(a) == ((op_of(module, "b"), 0), (op_of(module, "t"), 0))
    assert index.is_used_only_by(a, (op_of(module, "b"), holder))
    inner = GraphIndex(op_of(module, "r").regions[0].block)
    assert inner.producer(a) is None and inner.is_output(value(module, "t"))


def test_a_value_read_only_by_one_nested_region_is_not_private():
    module = parse_module(IF.replace('%b = "onnx.Abs"(%a)', '%b = "onnx.Abs"(%x)'))
    assert not index_of(module).is_private(value(module, "a"))


SHAPES = """func.func @f(%x: tensor<?x3xf16> {onnx.dim_params = "0:n"},
                         %y: tensor<?x3xf32> {onnx.dim_params = "0:n"},
                         %z: tensor<*xf32>) -> tensor<?x3xf16> {
  %a = "onnx.Neg"(%x) : (tensor<?x3xf16>) -> tensor<?x3xf16>
  onnx.Return %a : tensor<?x3xf16>
}"""


def test_types_and_dims():
    module = parse_module(SHAPES)
    index = index_of(module)
    x, y, z, a = (value(module, name) for name in "xyza")
    assert index.rank(x) == 2 and index.rank(z) is None and index.shape(z) is None
    assert str(index.dim(x, 0)) == "n" and index.dim(x, -1) == index.dim(x, 1)
    assert index.dim(x, 2) is None and index.dim(x, -3) is None and index.dim(z, 0) is None
    assert index.static_shape(x) is None
    assert index.element_type(x) == f16 and index.dtype(x) == np.float16 and index.type_of(z) is z.type
    assert index.same_dim(x, 0, y, -2) and not index.same_dim(x, 0, y, 1) and not index.same_dim(z, 0, z, 0)
    assert index.same_shape(x, y) and index.same_shape(x, a) and not index.same_shape(z, z)


def test_absent_values_have_no_type():
    module = function('%n = "onnx.NoValue"() {value} : () -> none', "y = Neg x")
    index, none = index_of(module), value(module, "n")
    assert index.element_type(none) is None and index.dtype(none) is None and index.rank(none) is None
    assert not index.is_constant(none) and index.constant(none) is None and index.constant_ints(none) is None


def constants(*texts: str, **options: Any) -> tuple[GraphIndex, list[Any]]:
    """An index, and the values of constants with these texts."""
    lines = [f"%c{i} = onnx.Constant {text}" for i, text in enumerate(texts)]
    module = function(*lines, "y = Neg x")
    return index_of(module, **options), [value(module, f"c{i}") for i in range(len(texts))]


def test_constants():
    index, (c,) = constants("dense<[1.0, 2.0]> : tensor<2xf32>")
    found = index.constant(c)
    assert found is not None and found.tolist() == [1.0, 2.0] and not found.flags.writeable
    assert index.is_constant(c) and index.constant_shape(c) == (2,)
    x = index.block.args[0]
    assert not index.is_constant(x) and index.constant(x) is None and index.constant_shape(x) is None
    assert index.constant_scalar(x) is None and not index.is_constant_scalar(x)


@pytest.mark.parametrize(
    ("text", "expected", "broadcast"),
    [
        ("dense<2.5> : tensor<f32>", 2.5, False),
        ("dense<3> : tensor<1xi64>", 3, False),
        ("dense<true> : tensor<i1>", True, False),
        ("dense<1.5> : tensor<1x1xbf16>", 1.5, True),
        ("dense<1.5> : tensor<1x1xf32>", None, False),
        ("dense<1.5> : tensor<2xf32>", None, True),
        ('dense<"a"> : tensor<!onnx.String>', None, False),
    ],
)
def test_scalars(text: str, expected: object, broadcast: bool):
    index, (c,) = constants(text)
    found = index.constant_scalar(c, broadcast)
    assert found == expected and type(found) is type(expected)
    assert index.is_constant_scalar(c, broadcast=broadcast) == (expected is not None)


def test_scalars_are_compared_with_the_sign_of_zero():
    index, (plus, minus, one, whole) = constants(
        "dense<0.0> : tensor<f32>",
        "dense<-0.0> : tensor<f32>",
        "dense<1.0> : tensor<f32>",
        "dense<0> : tensor<i64>",
    )
    assert index.is_constant_scalar(plus, 0.0) and not index.is_constant_scalar(plus, -0.0)
    assert index.is_constant_scalar(minus, -0.0) and not index.is_constant_scalar(minus, 0)
    assert index.is_constant_scalar(one, 1) and not index.is_constant_scalar(one, 2)
    assert index.is_constant_scalar(whole, 0) and index.is_constant_scalar(whole, -0.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dense<[1, -2]> : tensor<2xi64>", (1, -2)),
        ("dense<7> : tensor<i32>", (7,)),
        ("dense<> : tensor<0xi64>", ()),
        ("dense<1> : tensor<1x1xi64>", None),
        ("dense<1.0> : tensor<1xf32>", None),
        ("dense<true> : tensor<1xi1>", None),
    ],
)
def test_integers(text: str, expected: tuple[int, ...] | None):
    index, (c,) = constants(text)
    assert index.constant_ints(c) == expected
    assert index.constant_ints(index.block.args[0]) is None


CONSTANT = f"%c = onnx.Constant dense<2.0> : {T}"


NUMPY = NumpyEvaluator()


def computed(*lines: str, evaluator: Any = NUMPY) -> tuple[ModuleOp, GraphIndex]:
    module = function(CONSTANT, *lines)
    return module, index_of(module, constants=ConstantValues(evaluator))


def test_what_is_computed_from_constants_is_constant():
    module, index = computed("a = Neg c", "b = Add a c", "d = Mul b b", "y = Add d x")
    found = index.constant(value(module, "d"))
    assert found is not None and np.all(found == 0.0) and not found.flags.writeable
    assert index.is_constant(value(module, "a")) and not index.is_constant(value(module, "y"))
    assert index.constant(value(module, "y")) is None
    assert index.constant(value(module, "d")) is found


def test_nothing_is_computed_without_an_evaluator():
    module, index = computed("a = Neg c", "y = Add a x", evaluator=None)
    assert index.is_constant(value(module, "a")) and index.constant(value(module, "a")) is None


def test_what_the_evaluator_refuses_is_not_computed():
    random = f'%a = "onnx.Gelu"(%c) : ({T}) -> {T}'
    module, index = computed(random, "b = Neg a", "y = Add b x")
    assert index.is_constant(value(module, "b")) and index.constant(value(module, "b")) is None


def test_random_ops_are_not_constant():
    module, index = computed(f'%a = "onnx.RandomNormalLike"(%c) : ({T}) -> {T}', "b = Neg a", "y = Add b x")
    assert not index.is_constant(value(module, "a")) and not index.is_constant(value(module, "b"))


@pytest.mark.parametrize("attribute", [KEEP, DO_NOT_FOLD])
def test_ops_that_are_not_to_be_folded_are_not_constant(attribute: str):
    module, index = computed("a = Neg c", "y = Add a x")
    op_of(module, "a").attributes[attribute] = StringAttr("")
    assert not index.is_constant(value(module, "a"))


def test_default_values_of_inputs_are_not_constant():
    module, index = computed("a = Neg c", "y = Add a x")
    op_of(module, "c").attributes[OVERRIDABLE] = StringAttr("")
    assert not index.is_constant(value(module, "a")) and not index.is_constant(value(module, "c"))
    assert index.constant(value(module, "c")) is None


@pytest.mark.parametrize("size", [4096, 1 << 32])
def test_large_results_are_not_computed(size: int):
    shape = f"%s = onnx.Constant dense<{size}> : tensor<2xi64>"
    one = "%o = onnx.Constant dense<1.0> : tensor<f32>"
    expand = f'%e = "onnx.Expand"(%o, %s) : (tensor<f32>, tensor<2xi64>) -> tensor<{size}x{size}xf32>'
    module, index = computed(shape, one, expand, "y = Neg x")
    assert index.is_constant(value(module, "e")) and index.constant(value(module, "e")) is None


def test_results_of_unknown_size_are_not_computed():
    module, index = computed(f'%a = "onnx.Neg"(%c) : ({T}) -> tensor<*xf32>', "y = Neg x")
    assert index.constant(value(module, "a")) is None


def test_a_long_chain_of_constants_needs_no_deep_stack():
    lines = [f"v{i} = Neg {f'v{i - 1}' if i else 'c'}" for i in range(3000)]
    module, index = computed(*lines, "y = Neg x")
    found = index.constant(value(module, "v2999"))
    assert found is not None and found[0, 0] == 2.0


def test_opsets():
    module = function("y = Neg x")
    assert index_of(module, opset=17).opset() == index_of(module, opset=17).opset("ai.onnx") == 17
    assert index_of(module).opset() >= 23
    assert index_of(module, opset=17).opset("ai.onnx.ml") >= 3 and index_of(module).opset("nobody") == 0


def test_kept_ops():
    module = function("a = Neg x", "y = Abs a")
    index = index_of(module, keep=lambda op: op.name == "onnx.Abs")
    assert index.is_kept(op_of(module, "y")) and not index.is_kept(op_of(module, "a"))
    op_of(module, "a").attributes[KEEP] = StringAttr("")
    assert index.is_kept(op_of(module, "a"))


# New ops.


def test_results_of_new_ops_are_inferred_with_symbolic_dims():
    module = parse_module(SHAPES)
    index, x = index_of(module), value(module, "x")
    made = index.make(onnx.CastOp, [x], to=1)
    assert made.output.type == TensorType(f32, [DYNAMIC_INDEX, 3]) and str(index.dim(made.output, 0)) == "n"
    compared = index.make(onnx.EqualOp, [x, x])
    assert compared.results[0].type == TensorType(i1, [DYNAMIC_INDEX, 3])
    shape = index.make(onnx.ShapeOp, [x])
    assert shape.results[0].type == TensorType(i64, [2])
    again = index.make(onnx.ExpandOp, [made.output, shape.results[0]])
    assert index.same_shape(again.results[0], x)


def test_operands_that_are_left_out():
    module = function("y = Neg x")
    index, x = index_of(module), value(module, "x")
    made = index.make(onnx.ClipOp, [x, None, value(module, "y")])
    assert isinstance(made.operands[1].owner, onnx.NoValueOp)
    assert [isinstance(o.owner, onnx.NoValueOp) for o in index.make(onnx.ClipOp, [x]).operands] == [
        False,
        True,
        True,
    ]
    dropped = index.make(onnx.DropoutOp, [x])
    assert str(dropped.results[1].type) == "none"


def test_a_new_op_takes_over_a_name():
    module = function("y = Neg x")
    index = index_of(module)
    op_of(module, "y").attributes["onnx_node_name"] = StringAttr("n")
    made = index.make(onnx.AbsOp, [value(module, "x")], name_from=op_of(module, "y"))
    assert made.attributes["onnx_node_name"] == StringAttr("n")
    assert "onnx_node_name" not in index.make(onnx.AbsOp, [value(module, "x")]).attributes


def test_result_types_may_be_given():
    module = function("y = Neg x")
    t = TensorType(f32, [2, 4])
    index = index_of(module)
    made = index.make(onnx.SplitOp, [value(module, "x"), None], axis=0, num_outputs=2, result_types=[t, t])
    assert [r.type for r in made.results] == [t, t]
    with pytest.raises(PassError, match="onnx.Split: its results vary in number; expected result_types"):
        index.make(onnx.SplitOp, [value(module, "x"), None], axis=0, num_outputs=2)


def test_a_result_type_that_nothing_tells():
    index = index_of(function("y = Neg x"))
    with pytest.raises(PassError, match="its result type cannot be told; expected result_types"):
        index.make(onnx.SequenceEmptyOp, [])


def test_shapes_that_contradict_each_other():
    module = function("%c = onnx.Constant dense<1.0> : tensor<3xf32>", "y = Neg x")
    with pytest.raises(ModelError, match="onnx.Add"):
        index_of(module).make(onnx.AddOp, [value(module, "x"), value(module, "c")])


def test_code_that_may_never_run_may_contradict_itself():
    module = parse_module(IF.replace("%c: tensor<i1>", "%c: tensor<i1>, %v: tensor<3xf32>"))
    inner = GraphIndex(op_of(module, "r").regions[0].block)
    made = inner.make(onnx.AddOp, [value(module, "a"), value(module, "v")])
    assert inner.element_type(made.results[0]) == f32


def test_a_block_outside_any_function():
    from xdsl.ir import Block

    with pytest.raises(ValueError, match="stands in no function"):
        GraphIndex(Block())


def test_a_function_stands_for_its_body(diamond: ModuleOp):
    function_op = next(op for op in diamond.ops if isinstance(op, FuncOp))
    assert GraphIndex(function_op).block is function_op.body.block


# Corrupting it by hand.


def _insert_unannounced(module: ModuleOp, index: GraphIndex) -> None:
    made = index.make(onnx.NegOp, [value(module, "x")])
    index.block.insert_op_before(made, op_of(module, "b"))


def _move(module: ModuleOp, index: GraphIndex) -> None:
    index.position(op_of(module, "b"))
    op = op_of(module, "b")
    op.detach()
    index.block.insert_op_before(op, op_of(module, "a"))


def _change_operand_of_end(module: ModuleOp, index: GraphIndex) -> None:
    end = index.block.last_op
    assert end is not None
    end.operands[0] = value(module, "b")


def _read_in_region(module: ModuleOp, index: GraphIndex) -> None:
    op_of(module, "t").operands[0] = value(module, "b")


def _count_output_twice(module: ModuleOp, index: GraphIndex) -> None:
    index.outputs[value(module, "b")] = 2


def _forget_capture(module: ModuleOp, index: GraphIndex) -> None:
    index.captures.pop(value(module, "a"))


def _lie_about_constants(module: ModuleOp, index: GraphIndex) -> None:
    index.is_constant(value(module, "b"))
    op_of(module, "a").operands[0] = op_of(module, "k").results[0]


@pytest.mark.parametrize(
    ("corrupt", "message"),
    [
        (_insert_unannounced, "onnx.Neg -> .* has no position"),
        (_move, "onnx.Neg -> .* comes before the op in front of it"),
        (_change_operand_of_end, "%b is an output of the block 2 times; the index says 1|%r is an output"),
        (_read_in_region, "%a is read by nested regions 0 times; the index says 1"),
        (_count_output_twice, "%b is an output of the block 1 times; the index says 2"),
        (_forget_capture, "%a is read by nested regions 1 times; the index says 0"),
        (_lie_about_constants, "%a is a constant; the index says else"),
    ],
)
def test_brute_force_finds_what_is_wrong(corrupt: Callable[[ModuleOp, GraphIndex], None], message: str):
    text = IF.replace("onnx.Return %b, %r", "onnx.Return %r, %b")
    module = parse_module(text.replace("  %a = ", f"  %k = onnx.Constant dense<1.0> : {T}\n  %a = "))
    index = index_of(module)
    index.position(op_of(module, "a"))
    index.validate()
    corrupt(module, index)
    with pytest.raises(PassError, match=message):
        index.validate()
