"""Loop and Scan: trips, conditions, captures, nesting, scan outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from text_models import compiled, model_of

from onnxloom.errors import InputError, ModelError

pytestmark = pytest.mark.filterwarnings("ignore::onnxloom.HostStepWarning")

LOOP = """agraph (int64 m, float[N] x, float[N] w) => (float[N] last, float[T, N] all) {
    c = Constant <value = bool {1}> ()
    last, all = Loop(m, c, x) <
    body = b (int64 i, bool go, float[N] v) => (bool more, float[N] next, float[N] out) {
        next = Add(v, w)
        out = Mul(next, w)
        s = ReduceSum <keepdims = 0> (next)
        limit = Constant <value = float {30}> ()
        more = Less(s, limit)
    }>
}"""


def both(graph: str, *inputs: np.ndarray[Any, Any]) -> tuple[list[Any], list[Any]]:
    proto = model_of(graph)
    names = [i.name for i in proto.graph.input]
    expected = ReferenceEvaluator(proto).run(None, dict(zip(names, inputs, strict=True)))
    return compiled(graph)(*inputs), list(expected)


@pytest.mark.parametrize("trips", [0, 1, 3, 50])
def test_a_loop_counts_and_stops_on_its_condition(trips: int) -> None:
    x = np.array([1.0, 2.0], np.float32)
    w = np.array([1.0, 3.0], np.float32)
    got, expected = both(LOOP, np.array(trips), x, w) if trips else (compiled(LOOP)(np.array(0), x, w), None)
    if expected is None:
        np.testing.assert_array_equal(got[0], x)
        assert got[1].shape[0] == 0
        return
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-6)


def test_results_of_a_loop_that_never_ran_are_not_its_inputs() -> None:
    x, w = np.ones(2, np.float32), np.ones(2, np.float32)
    last, _ = compiled(LOOP)(np.array(0), x, w)
    last[:] = 7
    np.testing.assert_array_equal(x, 1)


def test_loops_nest_and_capture_from_both_levels() -> None:
    graph = """agraph (int64 m, float[N] x) => (float[N] y) {
        y = Loop(m, , x) <body = outer (int64 i, bool g, float[N] v) => (bool go, float[N] o) {
            go = Identity(g)
            f = Cast <to = 1> (i)
            o = Loop(m, , v) <body = inner (int64 j, bool h, float[N] u) => (bool on, float[N] p) {
                on = Identity(h)
                q = Add(u, f)
                p = Add(q, x)
            }>
        }>
    }"""
    x = np.array([1.0, -2.0], np.float32)
    expected = x.copy()
    for i in range(3):
        for _ in range(3):
            expected = expected + i + x
    np.testing.assert_allclose(compiled(graph)(np.array(3), x)[0], expected, rtol=1e-6)


@pytest.mark.parametrize("reverse", [0, 1])
def test_scan_over_slices(reverse: int) -> None:
    graph = f"""agraph (float[2] s, float[T, 2] x) => (float[2] last, float[T, 2] y) {{
        last, y = Scan <num_scan_inputs = 1, scan_input_directions = [{reverse}],
                        scan_output_directions = [{reverse}],
                        body = b (float[2] a, float[2] v) => (float[2] next, float[2] out) {{
            next = Add(a, v)
            out = Mul(next, v)
        }}> (s, x)
    }}"""
    s = np.array([0.5, 1.0], np.float32)
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    rows = x[::-1] if reverse else x
    states = np.cumsum(np.vstack([s, rows]), axis=0)[1:]
    y = states * rows
    got = compiled(graph)(s, x)
    np.testing.assert_allclose(got[0], states[-1], rtol=1e-6)
    np.testing.assert_allclose(got[1], y[::-1] if reverse else y, rtol=1e-6)


def test_scan_over_numbers() -> None:
    graph = """agraph (float s, float[T] x) => (float last, float[T] y) {
        last, y = Scan <num_scan_inputs = 1, body = b (float a, float v) => (float next, float out) {
            next = Add(a, v)
            out = Identity(next)
        }> (s, x)
    }"""
    last, y = compiled(graph)(np.float32(1), np.array([1, 2, 3], np.float32))
    assert last == 7 and y.tolist() == [2, 4, 7]


def test_a_sequence_grows_in_a_loop() -> None:
    graph = """agraph (int64 m, float[N] x) => (seq(float[N]) y) {
        e = SequenceEmpty <dtype = 1> ()
        y = Loop(m, , e) <body = b (int64 i, bool g, seq(float[N]) s) => (bool go, seq(float[N]) t) {
            go = Identity(g)
            f = Cast <to = 1> (i)
            v = Add(x, f)
            t = SequenceInsert(s, v)
        }>
    }"""
    x = np.array([1.0, 2.0], np.float32)
    (got,) = compiled(graph)(np.array(3), x)
    assert [list(v) for v in got] == [[1, 2], [2, 3], [3, 4]]


def test_scan_outputs_of_different_shapes_cannot_be_stacked() -> None:
    model = compiled("""agraph (int64 m) => (float[T, K] y) {
        y = Loop(m, , ) <body = b (int64 i, bool g) => (bool go, float[Q] o) {
            go = Identity(g)
            one = Constant <value_ints = [1]> ()
            k = Add(i, one)
            s = Constant <value_float = 1.0> ()
            o = Expand(s, k)
        }>
    }""")
    assert model(np.array(1))[0].shape == (1, 1)
    with pytest.raises(InputError, match=r"^Loop: a scan output has shape \[1\] .* and \[2\] in another"):
        model(np.array(3))


IF = """agraph (bool[K] c, float[N] x) => (float[N] y) {
    y = If(c) <then_branch = t () => (float[N] t1) { t1 = Neg(x) },
               else_branch = e () => (float[N] e1) { e1 = Relu(x) }>
}"""


@pytest.mark.parametrize("condition", [[], [True, False]])
def test_the_condition_of_an_if_is_one_element(condition: list[bool]) -> None:
    model = compiled(IF)
    x = np.array([1, -2], np.float32)
    np.testing.assert_array_equal(model(np.array([False]), x)[0], [1, 0])
    with pytest.raises(InputError, match=rf"^If: its condition has shape \[{len(condition)}\]"):
        model(np.array(condition, bool), x)


def test_a_trip_count_is_one_element() -> None:
    model = compiled("""agraph (int64[K] m, float[N] x) => (float[N] y) {
        y = Loop(m, , x) <body = b (int64 i, bool g, float[N] v) => (bool go, float[N] o) {
            go = Identity(g)
            o = Add(v, v)
        }>
    }""")
    np.testing.assert_array_equal(model(np.array([2]), np.ones(2, np.float32))[0], [4, 4])
    with pytest.raises(InputError, match=r"^Loop: its trip count has shape \[2\]"):
        model(np.array([2, 3]), np.ones(2, np.float32))


@pytest.mark.parametrize("trips", [0, -5])
@pytest.mark.parametrize(("row", "shape"), [("float[3]", (0, 3)), ("float[K]", (0, 0))])
def test_rows_of_a_loop_that_never_ran_have_the_dims_that_are_declared(
    trips: int, row: str, shape: tuple[int, ...]
) -> None:
    # Unoptimized: what is inferred may say more.
    model = compiled(
        f"""agraph (int64 m, float[N] x) => (float[T, K] y) {{
            c = Constant <value = bool {{1}}> ()
            y = Loop(m, c) <body = b (int64 i, bool g) => (bool go, {row} o) {{
                go = Identity(g)
                o = Neg(x)
            }}>
        }}""",
        opt_level=0,
    )
    assert model(np.array(trips), np.ones(3, np.float32))[0].shape == shape


@pytest.mark.parametrize(("into", "out"), [(0, 0), (1, 0), (0, 1), (-1, -2)])
def test_rows_of_a_scan_over_nothing(into: int, out: int) -> None:
    model = compiled(f"""agraph (float[2] s, float[A, B] x) => (float[2] last, float[C, D] y) {{
        last, y = Scan <num_scan_inputs = 1, scan_input_axes = [{into}], scan_output_axes = [{out}],
                        body = b (float[2] a, float[2] v) => (float[2] next, float[2] row) {{
            next = Add(a, v)
            row = Neg(next)
        }}> (s, x)
    }}""")
    s = np.array([1.0, 2.0], np.float32)
    last, y = model(s, np.zeros((0, 2) if into == 0 else (2, 0), np.float32))
    np.testing.assert_array_equal(last, s)
    assert y.shape == ((2, 0) if out == 1 else (0, 2))


@pytest.mark.parametrize("name", ["input_axes", "input_directions", "output_axes", "output_directions"])
@pytest.mark.parametrize("given", ["0, 0", "0, 0, 0"])
def test_lists_of_a_scan_have_an_element_per_value(name: str, given: str) -> None:
    with pytest.raises(ModelError, match=f"scan_{name} has {given.count('0')} elements; expected 1"):
        compiled(
            f"""agraph (float[A, B] x) => (float[C, D] y) {{
                y = Scan <num_scan_inputs = 1, scan_{name} = [{given}],
                          body = b (float[K] v) => (float[K] row) {{ row = Neg(v) }}> (x)
            }}"""
        )


@pytest.mark.parametrize(("into", "out", "wrong"), [(2, 0, 2), (-3, 0, -3), (0, 2, 2), (0, -3, -3)])
@pytest.mark.parametrize("length", [0, 4])
def test_an_axis_of_a_scan_that_is_not_there(into: int, out: int, wrong: int, length: int) -> None:
    model = compiled(
        f"""agraph (float[A, B] x) => (float[C, D] y) {{
            y = Scan <num_scan_inputs = 1, scan_input_axes = [{into}], scan_output_axes = [{out}],
                      body = b (float[K] v) => (float[K] row) {{ row = Neg(v) }}> (x)
        }}""",
        strict=True,
    )
    with pytest.raises(ModelError, match=rf"^Scan: axis {wrong} is not in \[-2, 1\]$"):
        model(np.zeros((length, 2), np.float32))


def test_scanned_inputs_of_different_lengths() -> None:
    model = compiled("""agraph (float[A, N] x, float[B, N] z) => (float[T, N] y) {
        y = Scan <num_scan_inputs = 2, body = b (float[N] v, float[N] u) => (float[N] o) {
            o = Add(v, u)
        }> (x, z)
    }""")
    with pytest.raises(InputError, match=r"^Scan: the scanned inputs have different lengths \[2, 3\]$"):
        model(np.ones((2, 4), np.float32), np.ones((3, 4), np.float32))
