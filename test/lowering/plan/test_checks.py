"""When is a status looked at, and what does the run do if it is not 0?"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from text_models import compiled

import onnxloom
from onnxloom.conversion.onnx_to_loom.registry import op_lowerings
from onnxloom.dialects import onnx
from onnxloom.errors import InputError
from onnxloom.lowering.plan.node import ReturnEnd, StepEnd

pytestmark = pytest.mark.filterwarnings("ignore::onnxloom.HostStepWarning")

X = np.array([1.0, -2.0, 3.0], np.float32)
TEXT = "Gather: index 3 is out of range for a dim of 3"


def test_a_failure_comes_before_the_host_step_that_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(op_lowerings(), onnx.UniqueOp)
    model = compiled("""agraph (float[N] x, int64[K] i) => (float[A] y) {
        g = Gather(x, i)
        u, a, b, c = Unique <sorted=1> (g)
        y = Neg(u)
    }""")
    np.testing.assert_array_equal(model(X, np.array([0, 1, 0]))[0], [2, -1])
    (root,) = model.plans
    assert isinstance(root.end, StepEnd)
    assert len(root.checks) == 1
    steps = model.host_steps
    with pytest.raises(InputError, match=TEXT):
        model(X, np.array([0, 1, 3]))
    assert model.host_steps == steps


def test_a_failure_before_a_condition_that_is_observed() -> None:
    model = compiled("""agraph (float[N] x, bool[M] b, int64 i) => (float[N] y) {
        c = Gather(b, i)
        y = If(c) <then_branch = t () => (float[N] t1) { t1 = Neg(x) },
                   else_branch = e () => (float[N] e1) { e1 = Relu(x) }>
    }""")
    flags = np.array([True, False, True])
    np.testing.assert_array_equal(model(X, flags, np.array(-1))[0], -X)
    np.testing.assert_array_equal(model(X, flags, np.array(1))[0], [1, 0, 3])
    with pytest.raises(InputError, match=TEXT):
        model(X, flags, np.array(3))


def test_a_branch_that_is_not_taken_is_not_checked() -> None:
    model = compiled("""agraph (float[N] x, bool c, int64[K] i) => (float[K] y) {
        y = If(c) <then_branch = t () => (float[K] t1) { t1 = Gather(x, i) },
                   else_branch = e () => (float[K] e1) { f = Cast <to = 1> (i) e1 = Neg(f) }>
    }""")
    bad = np.array([0, 3])
    np.testing.assert_array_equal(model(X, np.array(False), bad)[0], [0, -3])
    with pytest.raises(InputError, match=TEXT):
        model(X, np.array(True), bad)


def test_an_iteration_of_a_loop_fails_like_any_run() -> None:
    model = compiled("""agraph (float[N] x, int64 m) => (float[T] y) {
        y = Loop(m, , ) <body = b (int64 j, bool g) => (bool go, float o) {
            go = Identity(g)
            o = Gather(x, j)
        }>
    }""")
    np.testing.assert_array_equal(model(X, np.array(3))[0], X)
    with pytest.raises(InputError, match=TEXT):
        model(X, np.array(4))


def test_the_first_of_several_failures_is_told() -> None:
    model = compiled("""agraph (float[N] x, int64[K] i, int64[L] j) => (float[K] y, float[L] z) {
        y = Gather(x, i)
        z = Gather(y, j)
    }""")
    assert len(model(X, np.array([0, 1]), np.array([1]))) == 2
    with pytest.raises(InputError, match=TEXT):
        model(X, np.array([0, 3]), np.array([5]))
    with pytest.raises(InputError, match="index 5 is out of range for a dim of 2"):
        model(X, np.array([0, 2]), np.array([5]))
    (root,) = model.plans
    assert isinstance(root.end, ReturnEnd)
    assert len({at for at, _, _ in root.checks}) == 2, "statuses do not share memory"


def test_a_status_is_not_overwritten_by_later_launches() -> None:
    model = compiled(
        """agraph (float[N] x, int64[K] i) => (float[A] y) {
        a = Gather(x, i)
        b = Exp(a)
        c = Tanh(b)
        d = Concat <axis=0> (c, b, a)
        e = ReduceSum <keepdims=1> (d)
        f = Add(e, d)
        y = ReduceMax <keepdims=1> (f)
    }""",
        opt_level=0,
    )
    model(X, np.array([0]))
    with pytest.raises(InputError, match=TEXT):
        model(X, np.array([3]))
    for _ in range(3):
        model(X, np.array([2]))


def test_threads_get_their_own_failures() -> None:
    model = compiled("agraph (float[N] x, int64[K] i) => (float[K] y) { y = Gather(x, i) }")
    wrong: list[str] = []

    def work(index: int) -> None:
        for _ in range(200):
            try:
                (y,) = model(X, np.array([index]))
                if index == 3 or y[0] != X[index]:
                    wrong.append(f"{index} gave {y}")
            except InputError as error:
                if index != 3:
                    wrong.append(str(error))

    threads = [threading.Thread(target=work, args=(n,)) for n in (0, 3, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_any_program_may_check_a_size_or_a_status() -> None:
    """A program in the loom dialect alone, no ONNX op in sight."""
    from onnxloom.dialects.onnx.text import parse_module

    model = onnxloom.compile(parse_module(PROGRAM), cache=False)
    np.testing.assert_array_equal(model(np.array([0, 5, 0]))[0], [0, 5, 0])
    with pytest.raises(InputError, match=r"^source 3: 7 and \{5\}$"):
        model(np.array([7, 5, 0]))
    with pytest.raises(InputError, match="^a size of 4 is too much$"):
        model(np.array([0, 5, 0, 0]))


PROGRAM = """
"loom.kernel"() <{sym_name = "copy", access = ["read", "write"]}> ({
^bb0(%x: memref<?xi64>, %y: memref<?xi64>, %n: index):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %v = memref.load %x[%i] : memref<?xi64>
    memref.store %v, %y[%i] : memref<?xi64>
    scf.yield
  }
  "loom.end"() : () -> ()
}) : () -> ()
"loom.program"() <{sym_name = "main", arg_names = ["x"], result_names = ["y"]}> ({
^bb0(%x: tensor<?xi64>):
  %n = "loom.dim"(%x) <{axis = 0 : i64}> : (tensor<?xi64>) -> index
  %three = arith.constant 3 : index
  %more = arith.cmpi sgt, %n, %three : index
  %zero = arith.constant 0 : index
  %many = arith.select %more, %n, %zero : index
  "loom.check"(%many) <{message = "a size of {0} is too much"}> : (index) -> ()
  %e = tensor.empty() : tensor<2xi64>
  %two = arith.constant 2 : index
  %s = "loom.launch"(%x, %e, %two) <{kernel = @copy, operandSegmentSizes = array<i32: 1, 1, 1>}>
    : (tensor<?xi64>, tensor<2xi64>, index) -> tensor<2xi64>
  "loom.check"(%s) <{message = "{0} and {{{1}}}"}> {origin = "source 3"} : (tensor<2xi64>) -> ()
  "loom.return"(%x) : (tensor<?xi64>) -> ()
}) : () -> ()
"""
