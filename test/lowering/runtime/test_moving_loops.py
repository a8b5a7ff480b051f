"""Loops whose iterations run on one table: where values lie, when they end; no step is a host step."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from text_models import compiled

from onnxloom.errors import InputError
from onnxloom.lowering.runtime import loops, moving_loop
from onnxloom.lowering.runtime.instance import Instance
from onnxloom.lowering.runtime.model import CompiledModel
from onnxloom.lowering.runtime.moving_loop import FIRST_ROWS, MovingLoop, NativeLoop, Outcome

pytestmark = pytest.mark.unchecked(reason="loops of checked kernels run step by step")

Run = Callable[..., list[Any]]


@pytest.fixture(params=["native", "python"])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a model, all loops of which must be of this kind; natively, or by what stands in for it."""
    count = [0]

    def counted(self: MovingLoop) -> Outcome:
        count[0] += 1
        return moving_run(self)

    def without_native(self: MovingLoop, instance: Instance, native: NativeLoop | None) -> Outcome:
        assert native is not None
        return moving_inner(self, instance, None)

    moving_run, moving_inner = MovingLoop.run, MovingLoop._run  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(MovingLoop, "run", counted)
    if request.param == "python":
        monkeypatch.setattr(MovingLoop, "_run", without_native)

    def run_model(model: CompiledModel, *inputs: Any) -> list[Any]:
        before = count[0]
        results = model(*inputs)
        assert count[0] > before
        assert model.host_steps == 0
        return results

    return run_model


def loop(body: str, *, carried: str = "x", outputs: str = "float[N] y", first: str = "m") -> CompiledModel:
    """A Loop over vectors; `body` is its parameters and what it does."""
    names = ", ".join(re.findall(r"(\w+)(?:,|$)", re.sub(r"\[.*?\]", "", outputs)))
    # Threads would run the records in Python; what is computed is the same.
    return compiled(
        f"agraph (int64 m, float[N] x, float[N] w) => ({outputs}) {{ {names} = Loop({first}, , {carried})"
        f" <body = b {body}> }}",
        threads=1,
    )


X = np.array([1.0, -2.0, 0.5], np.float32)
W = np.array([0.5, 1.5, -1.0], np.float32)


def test_values_pass_from_iteration_to_iteration(run: Run) -> None:
    model = loop("""(int64 i, bool g, float[N] v) => (bool go, float[N] o) {
        go = Identity(g)
        f = Cast <to = 1> (i)
        p = Mul(v, w)
        o = Add(p, f)
    }""")
    expected = X
    for trips in range(6):
        if trips:
            np.testing.assert_allclose(run(model, np.array(trips), X, W)[0], expected, rtol=1e-6)
        expected = expected * W + np.float32(trips)


def test_scan_outputs_have_as_many_rows_as_there_were_iterations(run: Run) -> None:
    model = loop(
        """(int64 i, bool g, float[N] v) => (bool go, float[N] o, float[N] row) {
            o = Add(v, w)
            row = Mul(o, w)
            limit = Constant <value = int64 {299}> ()
            go = Less(i, limit)
        }""",
        outputs="float[N] y, float[T, N] rows",
        first="",
    )
    y, rows = run(model, np.array(0), X, W)
    states = np.cumsum(np.vstack([X, np.tile(W, (300, 1))]), axis=0, dtype=np.float32)[1:]
    assert len(rows) == 300 > FIRST_ROWS
    np.testing.assert_allclose(y, states[-1], rtol=1e-5)
    np.testing.assert_allclose(rows, states * W, rtol=1e-5)
    y[:] = 7
    assert rows[-1, 0] != 7


def test_a_state_that_is_a_row_as_well(run: Run) -> None:
    model = loop(
        """(int64 i, bool g, float[N] v) => (bool go, float[N] o, float[N] row, float[N] before) {
            go = Identity(g)
            o = Add(v, w)
            row = Identity(o)
            before = Identity(v)
        }""",
        outputs="float[N] y, float[T, N] rows, float[T, N] before",
    )
    y, rows, before = run(model, np.array(4), X, W)
    states = [X + i * W for i in range(5)]
    np.testing.assert_allclose(rows, states[1:], rtol=1e-6)
    np.testing.assert_allclose(before, states[:4], rtol=1e-6)
    np.testing.assert_allclose(y, states[4], rtol=1e-6)
    y[:] = 7
    assert rows[-1, 0] != 7


def test_carried_values_that_change_places(run: Run) -> None:
    model = loop(
        """(int64 i, bool g, float[N] a, float[N] b, float[N] c) =>
           (bool go, float[N] b1, float[N] c1, float[N] a1) {
            go = Identity(g)
            b1 = Identity(b)
            c1 = Identity(c)
            a1 = Neg(a)
        }""",
        carried="x, w, x",
        outputs="float[N] p, float[N] q, float[N] r",
    )
    a, b, c = X, W, X
    for trips in range(1, 8):
        a, b, c = b, c, -a
        for got, expected in zip(run(model, np.array(trips), X, W), (a, b, c), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_carried_values_that_never_change_and_constants(run: Run) -> None:
    model = compiled(
        """agraph (int64 m, float[N] x, float[N] w) => (float[N] p, float q, int64 k, float[T] r) {
            z = ReduceMax <keepdims = 0> (x)
            p, q, k, r = Loop(m, , x, z, m) <
                body = b (int64 i, bool g, float[N] a, float b, int64 c) =>
                         (bool go, float[N] a1, float b1, int64 c1, float r1) {
                go = Identity(g)
                a1 = Identity(a)
                b1 = Constant <value = float {2.5}> ()
                c1 = Identity(i)
                s = ReduceSum <keepdims = 0> (w)
                r1 = Add(b, s)
            }>
        }""",
        threads=1,
    )
    x = X.copy()
    p, q, k, r = run(model, np.array(3), x, W)
    np.testing.assert_array_equal(p, X)
    assert (q, k) == (2.5, 2)
    np.testing.assert_allclose(r, np.array([1.0, 2.5, 2.5]) + W.sum())
    p[:] = 7
    np.testing.assert_array_equal(x, X)


def test_a_constant_condition_that_is_false(run: Run) -> None:
    model = loop("""(int64 i, bool g, float[N] v) => (bool go, float[N] o) {
        go = Constant <value = bool {0}> ()
        o = Add(v, w)
    }""")
    np.testing.assert_array_equal(run(model, np.array(9), X, W)[0], X + W)


def test_a_condition_that_is_carried(run: Run) -> None:
    model = compiled(
        """agraph (int64 m, float[N] x, bool c) => (float[N] y, bool d) {
            y, d = Loop(m, , x, c) <
                body = b (int64 i, bool g, float[N] v, bool a) => (bool a1, float[N] o, bool next) {
                a1 = Identity(a)
                o = Add(v, v)
                three = Constant <value = int64 {2}> ()
                next = Less(i, three)
            }>
        }""",
        threads=1,
    )
    for first, iterations in ((True, 4), (False, 1)):
        y, _ = run(model, np.array(100), X, np.array(first))
        np.testing.assert_array_equal(y, X * 2**iterations)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_scans_along_any_axis(run: Run, axis: int, reverse: int) -> None:
    model = compiled(
        f"""agraph (float[2] s, float[A, B] x) => (float[2] last, float[C, D] y, float[E, F] z) {{
            last, y, z = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}],
                            scan_input_directions = [{reverse}], scan_output_axes = [{axis}, 0],
                            scan_output_directions = [0, {1 - reverse}],
                            body = b (float[2] a, float[2] v) =>
                                     (float[2] next, float[2] out, float[2] seen) {{
                next = Add(a, v)
                out = Mul(next, v)
                seen = Identity(v)
            }}> (s, x)
        }}""",
        threads=1,
    )
    s = np.array([0.5, 1.0], np.float32)
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    ordered = rows[::-1] if reverse else rows
    states = np.cumsum(np.vstack([s, ordered]), axis=0)[1:]
    last, y, z = run(model, s, np.moveaxis(rows, 0, axis))
    np.testing.assert_allclose(last, states[-1], rtol=1e-6)
    np.testing.assert_allclose(y, np.moveaxis(states * ordered, 0, axis), rtol=1e-6)
    np.testing.assert_array_equal(z, ordered if reverse else ordered[::-1])


def test_a_value_that_a_kernel_cannot_accept_ends_the_loop(run: Run) -> None:
    model = loop("""(int64 i, bool g, float[N] v) => (bool go, float[N] o) {
        go = Identity(g)
        e = Gather(w, i)
        o = Add(v, e)
    }""")
    np.testing.assert_allclose(run(model, np.array(3), X, W)[0], X + W.sum(), rtol=1e-6)
    with pytest.raises(InputError, match=r"Gather.* index 3"):
        model(np.array(100), X, W)
    np.testing.assert_allclose(run(model, np.array(3), X, W)[0], X + W.sum(), rtol=1e-6)


def test_iterations_of_which_each_takes_long_are_run_in_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(moving_loop, "SLICE_SECONDS", 0.0)
    model = loop("""(int64 i, bool g, float[N] v) => (bool go, float[N] o) {
        go = Identity(g)
        o = Add(v, w)
    }""")
    np.testing.assert_allclose(model(np.array(5), X, W)[0], X + 5 * W, rtol=1e-6)


def test_however_many_iterations_there_are_a_loop_can_be_ended_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock on which an iteration takes a microsecond."""
    clock, calls = [0.0], list[int]()

    def timed(self: MovingLoop, instance: Instance, native: NativeLoop | None) -> Outcome:
        assert native is not None

        def run(table: int, starts: int, records: int, moves: int, begin: int, end: int) -> int:
            clock[0] += (end - begin) * 1e-6
            calls.append(end - begin)
            return native(table, starts, records, moves, begin, end)

        return moving_inner(self, instance, run)

    moving_inner = MovingLoop._run  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(MovingLoop, "_run", timed)
    monkeypatch.setattr(moving_loop, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    model = loop(
        """(int64 i, bool g, float[N] v) => (bool go, float[N] o, float[N] row) {
            go = Identity(g)
            o = Neg(v)
            row = Add(v, w)
        }""",
        outputs="float[N] y, float[T, N] rows",
    )
    model(np.array(1 << 16), X, W)
    assert sum(calls) == 1 << 16
    assert max(calls) * 1e-6 <= moving_loop.SLICE_SECONDS


def test_carried_values_that_grow_run_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MovingLoop", None)
    model = compiled("""agraph (int64 m, float[N] x) => (float[K] y) {
        y = Loop(m, , x) <body = b (int64 i, bool g, float[J] v) => (bool go, float[L] o) {
            go = Identity(g)
            o = Concat <axis = 0> (v, x)
        }>
    }""")
    np.testing.assert_array_equal(model(np.array(3), X)[0], np.tile(X, 4))
    assert model.host_steps == 0


def test_many_iterations_on_several_threads_of_python() -> None:
    from concurrent.futures import ThreadPoolExecutor

    model = loop("""(int64 i, bool g, float[N] v) => (bool go, float[N] o) {
        go = Identity(g)
        o = Add(v, w)
    }""")
    starts = [X + k for k in range(16)]
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda x: model(np.array(1000), x, np.ones_like(W))[0], starts))
    for start, got in zip(starts, results, strict=True):
        np.testing.assert_allclose(got, start + 1000, rtol=1e-5)


def test_loops_over_texts_run_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MovingLoop", None)
    model = compiled("""agraph (int64 m, string[N] x) => (string[N] y, string[T, N] rows) {
        y, rows = Loop(m, , x) <
            body = b (int64 i, bool g, string[N] v) => (bool go, string[N] o, string[N] row) {
            go = Identity(g)
            o = Identity(v)
            row = Identity(x)
        }>
    }""")
    texts = np.array(["a", "bc"], object)
    y, rows = model(np.array(2), texts)
    assert y.tolist() == ["a", "bc"]
    assert rows.tolist() == [["a", "bc"]] * 2


def test_loops_of_checked_kernels_run_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MovingLoop", None)
    model = compiled(
        """agraph (int64 m, float[N] x) => (float[N] y) {
            y = Loop(m, , x) <body = b (int64 i, bool g, float[N] v) => (bool go, float[N] o) {
                go = Identity(g)
                o = Add(v, x)
            }>
        }""",
        checked=True,
    )
    np.testing.assert_array_equal(model(np.array(3), X)[0], X * 4)


@pytest.mark.filterwarnings("ignore::onnxloom.HostStepWarning")
def test_loops_with_steps_behind_their_records_run_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MovingLoop", None)
    model = compiled("""agraph (int64 m, float[2] x) => (float[2] y, seq(float[2]) rows) {
        y, rows = Loop(m, , x) <
            body = b (int64 i, bool g, float[2] v) => (bool go, float[2] o, seq(float[2]) row) {
            go = Identity(g)
            o = Add(v, x)
            row = SequenceConstruct(o)
        }>
    }""")
    y, rows = model(np.array(3), X[:2])
    np.testing.assert_array_equal(y, X[:2] * 4)
    assert [[item.tolist() for item in row] for row in rows] == [[(X[:2] * k).tolist()] for k in (2, 3, 4)]


@pytest.mark.parametrize(
    "value", ["Cast <to = 9> (o)", "Constant <value = bool[2] {1, 1}> ()", "Cast <to = 9> (n)"]
)
def test_a_condition_is_one_element(value: str) -> None:
    model = loop(f"""(int64 i, bool g, float[N] v) => (bool go, float[N] o) {{
        o = Add(v, w)
        none = Constant <value = int64[1] {{0}}> ()
        n = Slice(o, none, none)
        go = {value}
    }}""")
    with pytest.raises(InputError, match="its body gives has shape"):
        model(np.array(2), X, W)


def test_loops_that_give_texts_run_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MovingLoop", None)
    model = compiled("""agraph (int64 m, float[N] x) => (float[N] y, string[T, K] rows) {
        y, rows = Loop(m, , x) <
            body = b (int64 i, bool g, float[N] v) => (bool go, float[N] o, string[1] row) {
            go = Identity(g)
            o = Add(v, x)
            row = Constant <value_strings = ["a"]> ()
        }>
    }""")
    y, rows = model(np.array(2), X)
    np.testing.assert_array_equal(y, 3 * X)
    assert rows.tolist() == [["a"], ["a"]]
