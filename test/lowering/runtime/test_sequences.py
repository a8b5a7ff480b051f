"""Sequences and optional values: what ops do with them, who owns elements, positions that are not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from text_models import compiled, model_of

from onnxloom.errors import InputError, ModelError
from onnxloom.lowering.runtime.model import CompiledModel

pytestmark = pytest.mark.filterwarnings("ignore::onnxloom.HostStepWarning")

Array = np.ndarray[Any, Any]


def vectors(*lengths: int) -> list[Array]:
    return [np.arange(n, dtype=np.float32) + 10 * i for i, n in enumerate(lengths)]


def same(got: Any, expected: Any) -> None:
    if isinstance(expected, list):
        assert isinstance(got, list)
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):  # pyright: ignore[reportUnknownVariableType]
            same(g, e)
        return
    np.testing.assert_array_equal(got, expected)
    assert got.dtype == expected.dtype


def check(graph: str, *inputs: Any) -> CompiledModel:
    """Compares with onnxruntime, at both ends of optimization."""
    proto = model_of(graph)
    session = ort.InferenceSession(proto.SerializeToString())
    names = [i.name for i in proto.graph.input]
    expected = session.run(None, dict(zip(names, inputs, strict=True)))
    for level in (0, 3):
        model = compiled(graph, opt_level=level)
        same(model(*inputs), expected)
    return model  # pyright: ignore[reportPossiblyUnboundVariable]


@pytest.mark.parametrize("position", [-3, -1, 0, 2])
def test_elements_by_position(position: int) -> None:
    check(
        "agraph (seq(float[N]) s, int64 p) => (float[M] y, int64 n) {"
        " y = SequenceAt(s, p) n = SequenceLength(s) }",
        vectors(2, 3, 4), np.array(position),
    )  # fmt: skip


@pytest.mark.parametrize("position", [-3, -1, 0, 2, 3])
def test_elements_put_before_a_position(position: int) -> None:
    check(
        "agraph (seq(float[N]) s, float[K] x, int64 p) => (seq(float[M]) y) { y = SequenceInsert(s, x, p) }",
        vectors(2, 3, 4), np.array([7.0], np.float32), np.array(position),
    )  # fmt: skip


@pytest.mark.parametrize("position", [-3, -1, 0, 2])
def test_elements_taken_out(position: int) -> None:
    check(
        "agraph (seq(float[N]) s, int64 p) => (seq(float[M]) y, seq(float[M]) z) {"
        " y = SequenceErase(s, p) z = SequenceErase(s) }",
        vectors(2, 3, 4), np.array(position),
    )  # fmt: skip


def test_sequences_of_nothing_and_of_operands() -> None:
    check(
        """agraph (float[N] x, float[M] z) => (seq(float[K]) y, int64 n) {
            e = SequenceEmpty <dtype = 1> ()
            n = SequenceLength(e)
            s = SequenceConstruct(x, z)
            y = SequenceInsert(s, x)
        }""",
        *vectors(2, 5),
    )


@pytest.mark.parametrize("attributes", ["", "<axis = 1>", "<axis = -1, keepdims = 0>", "<keepdims = 0>"])
def test_tensors_split_into_slices(attributes: str) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    check(f"agraph (float[A, B] x) => (seq(float[C, D]) y) {{ y = SplitToSequence {attributes} (x) }}", x)


@pytest.mark.parametrize("split", [2, 4, 9, [1, 3, 0], [4]])
def test_tensors_split_into_parts(split: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    rank = "[K]" if isinstance(split, list) else ""
    check(
        f"agraph (float[A, B] x, int64{rank} n) => (seq(float[A, D]) y) {{"
        " y = SplitToSequence <axis = 1> (x, n) }",
        x, np.array(split),
    )  # fmt: skip


@pytest.mark.parametrize(
    "attributes", ["axis = 0", "axis = -1", "axis = 1, new_axis = 1", "axis = -1, new_axis = 1"]
)
def test_elements_are_joined(attributes: str) -> None:
    parts = [np.full((2, 3), i, np.float32) for i in range(3)]
    check(
        f"agraph (seq(float[A, B]) s) => (float y) {{ y = ConcatFromSequence <{attributes}> (s) }}".replace(
            "float y", "float[C, D] y" if "new" not in attributes else "float[C, D, E] y"
        ),
        parts,
    )


def test_a_body_is_mapped_over_sequences() -> None:
    graph = """agraph (seq(float[N]) s, seq(float[M]) t, float[K] x) => (seq(float[P]) y, seq(float[Q]) z) {
        y, z = SequenceMap(s, t, x) <
            body = b (float[A] a, float[B] b, float[C] c) => (float[D] d, float[E] e) {
            d = Concat <axis = 0> (a, b, c)
            e = Tanh(a)
        }>
    }"""
    model = compiled(graph)
    assert {title for title, _ in model.artifact.notes} == {"SequenceLength", "SequenceAt", "SequenceInsert"}
    s, t, x = vectors(2, 0, 4), vectors(1, 2, 3), np.array([0.5], np.float32)
    y, z = model(s, t, x)
    same(y, [np.concatenate([a, b, x]) for a, b in zip(s, t, strict=True)])
    for got, a in zip(z, s, strict=True):
        np.testing.assert_allclose(got, np.tanh(a), rtol=1e-6)
    assert model([], [], x) == [[], []]


INSERT = "agraph (seq(float[N]) s, float[K] x, int64 p) => (seq(float[M]) y) { y = SequenceInsert(s, x, p) }"
STACK = (
    "agraph (seq(float[A, B]) s) => (float[C, D] y) { y = ConcatFromSequence <axis = 0, new_axis = 1> (s) }"
)
AT = "agraph (seq(float[N]) s, int64 p) => (float[M] y) { y = SequenceAt(s, p) }"


@pytest.mark.parametrize(
    ("graph", "inputs", "message"),
    [
        (AT, (vectors(1, 2), np.array(2)), r"SequenceAt: position 2 is not in \[-2, 1\]: there are 2"),
        (AT, (vectors(1, 2), np.array(-3)), r"SequenceAt: position -3 is not in \[-2, 1\]"),
        (AT.replace("SequenceAt", "SequenceErase").replace("float[M]", "seq(float[M])"),
         ([], np.array(0)), r"SequenceErase: position 0 is not in \[0, -1\]: there are 0 elements"),
        (INSERT,
         (vectors(1), np.zeros(1, np.float32), np.array(2)), r"SequenceInsert: position 2 is not in"),
        (AT.replace("int64 p", "int64[K] p"), (vectors(1), np.array([0, 0])),
         r"SequenceAt: its position has shape \[2\]; it must hold one element"),
        ("agraph (float[N] x, int64 n) => (seq(float[M]) y) { y = SplitToSequence(x, n) }",
         (np.zeros(3, np.float32), np.array(0)), "SplitToSequence: it splits into parts of 0;"),
        ("agraph (float[N] x, int64[K] n) => (seq(float[M]) y) { y = SplitToSequence(x, n) }",
         (np.zeros(3, np.float32), np.array([1, 1])), r"it splits dim 0, which is 3, into \[1, 1\]"),
        ("agraph (float[N] x, int64[K] n) => (seq(float[M]) y) { y = SplitToSequence(x, n) }",
         (np.zeros(3, np.float32), np.array([4, -1])), r"it splits dim 0, which is 3, into \[4, -1\]"),
        ("agraph (seq(float[N]) s) => (float[M] y) { y = ConcatFromSequence <axis = 0> (s) }",
         ([],), "ConcatFromSequence: it joins the elements of a sequence that has none"),
        ("agraph (seq(float[A, B]) s) => (float[C, D] y) { y = ConcatFromSequence <axis = 0> (s) }",
         ([np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)],),
         r"elements 0 and 1, of shapes \[2, 3\] and \[2, 4\], do not join along 0"),
        (STACK,
         ([np.zeros((2, 3), np.float32), np.zeros((1, 3), np.float32)],), "elements 0 and 1, of shapes"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_an_error_that_names_the_op(graph: str, inputs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compiled(graph)(*inputs)


def test_an_axis_that_is_not_there() -> None:
    graph = "agraph (seq(float[N]) s) => (float[M] y) { y = ConcatFromSequence <axis = 3> (s) }"
    with pytest.raises((InputError, ModelError), match="axis"):
        compiled(graph)(vectors(1))


def test_results_share_no_memory_with_inputs_and_with_each_other() -> None:
    model = compiled(
        "agraph (seq(float[N]) s, float[K] x, int64 p) =>"
        " (float[M] a, float[M] b, seq(float[M]) c, seq(float[M]) d)"
        " { a = SequenceAt(s, p) b = SequenceAt(s, p) c = SequenceInsert(s, x) d = SequenceConstruct(x, x) }"
    )
    s, x = vectors(2, 3), np.ones(2, np.float32)
    kept = [v.copy() for v in s]
    a, b, c, d = model(s, x, np.array(0))
    a += 100
    same(b, kept[0])
    for element in (*c, d[0]):
        element += 100
    same(s, kept)
    same(x, np.ones(2, np.float32))
    same(d[1], np.ones(2, np.float32))


@pytest.mark.parametrize("is_there", [True, False])
def test_optional_values_tell_whether_they_are_there(is_there: bool) -> None:
    model = compiled("agraph (optional(float[N]) o) => (bool has) { has = OptionalHasElement(o) }")
    (has,) = model(np.ones(2, np.float32) if is_there else None)
    assert bool(has) is is_there


def test_an_optional_value_that_is_absent_is_an_error() -> None:
    model = compiled("agraph (optional(float[N]) o) => (float[M] y) { y = OptionalGetElement(o) }")
    same(model(np.ones(2, np.float32)), [np.ones(2, np.float32)])
    with pytest.raises((InputError, ModelError), match="OptionalGetElement.*absent"):
        model(None)
