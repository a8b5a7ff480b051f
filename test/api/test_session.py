"""`InferenceSession` and `compile` behave as onnxruntime's users expect, and keep their own promises."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from text_models import model_of

import onnxloom
import onnxloom.backend

GRAPH = """agraph (float[batch, 3] x, float[batch, 3] b) => (float[batch, 3] y, float[batch, 3] x2) {
    s = Add(x, b)
    y = Relu(s)
    x2 = Identity(x)
}"""


@pytest.fixture(scope="module")
def session() -> onnxloom.InferenceSession:
    return onnxloom.InferenceSession(model_of(GRAPH).SerializeToString())


def feeds(batch: int = 2) -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(batch)
    return {name: rng.standard_normal((batch, 3)).astype(np.float32) for name in ("x", "b")}


def test_inputs_and_outputs_are_described(session: onnxloom.InferenceSession) -> None:
    assert [(a.name, a.type, a.shape) for a in session.get_inputs()] == [
        ("x", "tensor(float)", ["batch", 3]),
        ("b", "tensor(float)", ["batch", 3]),
    ]
    assert [(a.name, a.type, a.shape) for a in session.get_outputs()] == [
        ("y", "tensor(float)", ["batch", 3]),
        ("x2", "tensor(float)", ["batch", 3]),
    ]
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_outputs_can_be_chosen_by_name(session: onnxloom.InferenceSession) -> None:
    given = feeds()
    x2, y = session.run(["x2", "y"], given)
    np.testing.assert_array_equal(x2, given["x"])
    np.testing.assert_array_equal(y, np.maximum(given["x"] + given["b"], 0))


@pytest.mark.parametrize("kind", ["path", "str", "bytes", "proto", "file", "mlir", "module"])
def test_every_kind_of_source(kind: str, tmp_path: Path) -> None:
    from onnxloom.conversion.onnx_import import import_model
    from onnxloom.dialects.onnx.text import print_module

    proto = model_of(GRAPH)
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    source: Any = {"path": path, "str": str(path), "bytes": path.read_bytes(), "proto": proto}.get(kind)
    if kind == "file":
        source = path.open("rb")
    elif kind == "module":
        source = import_model(proto)
    elif kind == "mlir":
        source = tmp_path / "m.mlir"
        with source.open("w") as text:
            print_module(import_model(proto), text)
    given = feeds()
    model = onnxloom.compile(source)
    expected = np.maximum(given["x"] + given["b"], 0)
    np.testing.assert_array_equal(model(given["x"], given["b"])[0], expected)
    np.testing.assert_array_equal(model.run(given)["y"], expected)
    if kind == "file":
        source.close()


def test_session_options_choose_the_level() -> None:
    options = onnxloom.SessionOptions(intra_op_num_threads=1)
    options.graph_optimization_level = onnxloom.GraphOptimizationLevel.ORT_DISABLE_ALL
    plain = onnxloom.InferenceSession(model_of(GRAPH), options, providers=["CPUExecutionProvider"])
    full = onnxloom.InferenceSession(model_of(GRAPH))
    assert not plain.model.artifact.fused
    assert full.model.artifact.fused
    given = feeds()
    for a, b in zip(plain.run(None, given), full.run(None, given), strict=True):
        np.testing.assert_array_equal(a, b)


def test_metadata_of_the_model() -> None:
    proto = model_of(GRAPH)
    proto.producer_name, proto.model_version, proto.doc_string = "someone", 7, "what it does"
    onnx.helper.set_model_props(proto, {"author": "a"})
    meta = onnxloom.InferenceSession(proto).get_modelmeta()
    assert (meta.producer_name, meta.version, meta.description) == ("someone", 7, "what it does")
    assert meta.custom_metadata_map == {"author": "a"}
    assert meta.graph_name == "agraph"


def test_outputs_stay_valid_and_belong_to_the_caller(session: onnxloom.InferenceSession) -> None:
    first = feeds()
    kept = session.run(None, first)
    copies = [k.copy() for k in kept]
    session.run(None, {name: value + 1 for name, value in first.items()})
    for k, c in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(k, c)
    kept[1][:] = 99  # the output that is an input
    assert not (first["x"] == 99).any()


def test_constant_outputs_are_copies() -> None:
    model = onnxloom.compile(
        model_of("""agraph (float[N] x) => (float[2] c, float[2] d) {
            c = Constant <value = float[2] {1, 2}> ()
            d = Identity(c)
        }"""),
        cache=False,
    )
    x = np.zeros(1, np.float32)
    c, d = model(x)
    c[:] = 5
    d[:] = 6
    assert [v.tolist() for v in model(x)] == [[1, 2], [1, 2]]


def test_strided_read_only_and_foreign_endian_inputs(session: onnxloom.InferenceSession) -> None:
    given = feeds(4)
    expected = session.run(None, given)[0]
    wide = np.zeros((8, 6), np.float32)
    wide[::2, ::2] = given["x"]
    unaligned = np.frombuffer(b"\0" + given["x"].tobytes(), np.uint8)[1:].view(np.float32).reshape(4, 3)
    read_only = given["x"].copy()
    read_only.flags.writeable = False
    fortran = np.asfortranarray(given["x"])
    for x in (wide[::2, ::2], unaligned, read_only, fortran, given["x"].astype(">f4")):
        before = x.copy()
        for _ in range(2):
            np.testing.assert_array_equal(session.run(None, {"x": x, "b": given["b"]})[0], expected)
        np.testing.assert_array_equal(x, before)


def test_lists_and_scalars_are_taken() -> None:
    model = onnxloom.compile(model_of("agraph (float[N] x, float s) => (float[N] y) { y = Mul(x, s) }"))
    assert model([1.0, 2.0], 3.0)[0].tolist() == [3, 6]


def test_an_empty_batch(session: onnxloom.InferenceSession) -> None:
    assert session.run(None, feeds(0))[0].shape == (0, 3)


def test_strings_pass_through() -> None:
    model = onnxloom.compile(
        model_of("agraph (string[N] a, string[N] b) => (string[N] y) { y = StringConcat(a, b) }")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model(np.array(["a", "ü"]), np.array(["x", "y"], object))[0].tolist() == ["ax", "üy"]


def test_the_first_host_step_of_a_session_warns() -> None:
    model = onnxloom.compile(model_of("agraph (float[N, M] x) => (int32[N, 1] y) { y = Multinomial(x) }"))
    x = np.ones((2, 3), np.float32)
    with pytest.warns(onnxloom.HostStepWarning, match="Multinomial") as caught:
        model(x)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(x)
    assert model.host_steps == 2
    assert model.artifact.notes


def test_an_output_listed_twice_is_given_twice_in_lists_and_once_by_name() -> None:
    model = model_of("agraph (float[N] x) => (float[N] y, float[N] y) { y = Relu(x) }")
    session = onnxloom.InferenceSession(model)
    x = np.array([-1, 2], np.float32)
    assert [y.tolist() for y in session.run(None, {"x": x})] == [[0, 2], [0, 2]]
    assert [y.tolist() for y in session.run([], {"x": x})] == [[0, 2], [0, 2]]
    assert [y.tolist() for y in session.model(x)] == [[0, 2], [0, 2]]
    assert {name: y.tolist() for name, y in session.model.run({"x": x}).items()} == {"y": [0, 2]}
    assert [y.tolist() for y in session.run(["y", "y", "y"], {"x": x})] == [[0, 2]] * 3
    assert len(onnxloom.backend.prepare(model).run({"x": x})) == 2


def test_options_of_onnxruntime_are_taken() -> None:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = model_of("agraph (float[N] x) => (float[N] y) { a = Exp(x) y = Neg(a) }")
    session = onnxloom.InferenceSession(model, options)  # pyright: ignore[reportArgumentType]
    assert session.get_session_options().opt_level == 0
    assert session.model.artifact.fused == ()


@pytest.mark.parametrize("value", [[1.5, 2], [1.0], ["1"], 2.5, [1 + 2j]])
def test_lists_that_would_lose_something_are_refused(value: Any) -> None:
    model = onnxloom.compile(model_of("agraph (int64[N] x) => (int64[N] y) { y = Neg(x) }"))
    assert model([1, 2])[0].tolist() == [-1, -2]
    assert model([])[0].tolist() == []
    with pytest.raises(onnxloom.InputError, match="^input 'x': got a (list|float) that is no tensor"):
        model(value)


class NoArray:
    def __array__(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("not one")


def test_an_object_that_cannot_be_made_an_array_is_refused() -> None:
    model = onnxloom.compile(model_of("agraph (int64[N] x) => (int64[N] y) { y = Neg(x) }"))
    with pytest.raises(onnxloom.InputError, match="^input 'x': got a NoArray that is no tensor.*not one"):
        model(NoArray())
