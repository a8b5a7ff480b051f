"""What is known before a run is computed before it; what is not ends a stretch."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from text_models import compiled, model_of

import onnxloom
from onnxloom.conversion.onnx_to_loom.registry import op_lowerings
from onnxloom.dialects import onnx as onnx_dialect
from onnxloom.lowering.plan.node import MAX_CHILDREN, Node, ReturnEnd, StepEnd, ValueEnd
from onnxloom.lowering.runtime.model import CompiledModel

pytestmark = pytest.mark.filterwarnings("ignore::onnxloom.HostStepWarning")

CHAIN = """agraph (float[N] x) => (float[N] y) {
    a = Relu(x)
    b = Exp(a)
    c = Sqrt(b)
    y = Neg(c)
}"""


def roots(model: CompiledModel) -> list[Node]:
    return model._tree.roots.values()  # pyright: ignore[reportPrivateUsage]


def path(node: Node) -> list[Node]:
    """The node and the only child of each, down to the return."""
    nodes = [node]
    while not isinstance(nodes[-1].end, ReturnEnd):
        (child,) = nodes[-1].children.values()
        nodes.append(child)
    return nodes


def test_shape_arithmetic_leaves_no_step_behind() -> None:
    model = compiled("""agraph (float[N, M] x) => (float[K] y) {
        s = Shape(x)
        p = ReduceProd <keepdims=1> (s)
        y = Reshape(x, p)
    }""")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(model(x)[0], x.reshape(6))
    assert model.host_steps == 0
    (root,) = roots(model)
    assert isinstance(root.end, ReturnEnd)


def test_a_shape_given_as_input_is_observed() -> None:
    model = compiled("agraph (float[N] x, int64[2] s) => (float[A, B] y) { y = Reshape(x, s) }")
    x = np.arange(6, dtype=np.float32)
    assert model(x, np.array([2, 3]))[0].shape == (2, 3)
    assert model(x, np.array([-1, 2]))[0].shape == (3, 2)
    assert model(x, np.array([2, 3]))[0].shape == (2, 3)
    (root,) = roots(model)
    assert isinstance(root.end, ValueEnd)
    assert len(root.children) == 2


def test_a_host_step_splits_the_program_and_shapes_it_gives_are_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(op_lowerings(), onnx_dialect.NonZeroOp)
    model = compiled("""agraph (float[N] x) => (int64[1, M] y, float[N] z) {
        r = Relu(x)
        y = NonZero(r)
        z = Neg(r)
    }""")
    for x in ([1.0, -1.0], [1.0, 2.0], [1.0, -3.0]):
        array = np.array(x, np.float32)
        y, z = model(array)
        np.testing.assert_array_equal(y, np.stack(np.nonzero(np.maximum(array, 0))))
        np.testing.assert_array_equal(z, -np.maximum(array, 0))
    (root,) = roots(model)
    assert isinstance(root.end, StepEnd)
    assert len(root.children) == 2
    assert model.host_steps == 3


@pytest.mark.parametrize("flag", [True, False])
def test_an_unknown_condition_takes_either_branch(flag: bool) -> None:
    model = compiled("""agraph (bool c, float[N] x) => (float[N] y) {
        a = Relu(x)
        b = If(c) <then_branch = t () => (float[N] t1) { t1 = Neg(a) },
                   else_branch = e () => (float[N] e1) { e0 = Exp(a) e1 = Neg(e0) }>
        y = Abs(b)
    }""")
    x = np.array([-1.0, 2.0], np.float32)
    r = np.maximum(x, 0)
    for condition in (flag, not flag, flag):
        expected = r if condition else np.exp(r)
        np.testing.assert_allclose(model(np.array(condition), x)[0], expected, rtol=1e-6)
    (root,) = roots(model)
    assert len(root.children) == 2


def test_a_condition_on_shapes_is_decided_while_filling() -> None:
    model = compiled("""agraph (float[N] x) => (float[N] y) {
        n = Size(x)
        three = Constant <value = int64 {3}> ()
        c = Greater(n, three)
        y = If(c) <then_branch = t () => (float[N] t1) { t1 = Neg(x) },
                   else_branch = e () => (float[N] e1) { e1 = Relu(x) }>
    }""")
    for count in (2, 5):
        x = np.linspace(-1, 1, count, dtype=np.float32)
        np.testing.assert_array_equal(model(x)[0], -x if count > 3 else np.maximum(x, 0))
    assert all(isinstance(root.end, ReturnEnd) for root in roots(model))
    assert model.host_steps == 0


def test_a_chain_of_launches_needs_no_arena_when_memory_is_taken_over() -> None:
    model = compiled(CHAIN, opt_level=0)
    model(np.ones(1000, np.float32))
    (root,) = roots(model)
    assert len(root.kernels) == 4
    assert root.arena_bytes <= 4096, "intermediates share the memory of the output or of each other"


def test_memory_of_a_value_that_is_read_later_is_not_taken_over() -> None:
    model = compiled(
        """agraph (float[N] x) => (float[N] y) {
        a = Relu(x)
        b = Neg(a)
        s = ReduceSum(a)
        y = Add(b, s)
    }""",
        opt_level=0,
    )
    x = np.linspace(-2, 2, 1000, dtype=np.float32)
    a = np.maximum(x, 0)
    np.testing.assert_allclose(model(x)[0], a.sum() - a, rtol=1e-5)


def test_plans_are_kept_for_a_bounded_number_of_shapes() -> None:
    model = compiled("agraph (float[N] x) => (float[N] y) { y = Relu(x) }")
    for count in range(MAX_CHILDREN + 10):
        assert model(np.full(count, -1, np.float32))[0].shape == (count,)
    assert len(roots(model)) == MAX_CHILDREN


def test_an_uncovered_step_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxloom.lowering.plan.walk import Walk

    original = Walk.advance

    def skip_two(self: Walk) -> None:
        original(self)
        if len(self.frames) == 1 and self.frames[0].pc == 1:
            self.frames[0].pc += 1

    monkeypatch.setattr(Walk, "advance", skip_two)
    with pytest.raises((AssertionError, Exception), match="covers|before it is set"):
        compiled(CHAIN, opt_level=0)(np.ones(4, np.float32))


WRONG_TYPE = """
func.func @main_graph(%x: tensor<?xf32> {onnx.name = "x"}, %k: tensor<1xi64> {onnx.name = "k"})
    -> (tensor<3xf32> {onnx.name = "y"}) {
  %v, %i = "onnx.TopK"(%x, %k) : (tensor<?xf32>, tensor<1xi64>) -> (tensor<3xf32>, tensor<3xi64>)
  %y = "onnx.Relu"(%v) : (tensor<3xf32>) -> tensor<3xf32>
  "onnx.Return"(%y) : (tensor<3xf32>) -> ()
}
"onnx.EntryPoint"() {func = @main_graph} : () -> ()
"""


def test_a_host_result_that_contradicts_its_declared_type_never_reaches_a_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from onnxloom.dialects.onnx.text import parse_module

    monkeypatch.delitem(op_lowerings(), onnx_dialect.TopKOp)
    model = onnxloom.compile(parse_module(WRONG_TYPE), cache=False)
    x = np.array([3, -1, 2, 5, 4], np.float32)
    assert model(x, np.array([3]))[0].tolist() == [5, 4, 3]
    with pytest.raises(onnxloom.ModelError, match=r"shape \[2\].*\[3\]"):
        model(x, np.array([2]))


def test_a_packed_weight_is_kept_once() -> None:
    proto = model_of("agraph (float[N, 64] x) => (float[N, 96] y) { y = MatMul(x, w) }")
    weight = np.random.default_rng(0).standard_normal((64, 96)).astype(np.float32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    model = onnxloom.compile(proto, cache=False)
    x = np.ones((2, 64), np.float32)
    np.testing.assert_allclose(model(x)[0], x @ weight, rtol=1e-4, atol=1e-5)
    kept = [v for v in model.artifact.constants.values if isinstance(v, np.ndarray) and v.nbytes > 4096]
    assert len(kept) == 1
    assert kept[0].shape != weight.shape
