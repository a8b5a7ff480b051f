"""Does a stored model compute what the compiled one does, for any inputs, without what compiled it?"""

from __future__ import annotations

import json
import mmap
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from text_models import model_of

import onnxloom
from onnxloom.errors import ArtifactError, InputError
from onnxloom.lowering.artifact import container, fit, save
from onnxloom.lowering.artifact.load import RecompiledWarning, load_file
from onnxloom.lowering.plan import store

PRODUCT = """agraph (float[N, 64] x) => (float[N, 40] y) {
    a = MatMul(x, w)
    b = Tanh(a)
    y = Add(b, c)
}"""
RNG = np.random.default_rng(7)
EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
X = RNG.standard_normal((5, 64)).astype(np.float32)


def product_model() -> onnx.ModelProto:
    proto = model_of(PRODUCT)
    for name, shape in (("w", (64, 40)), ("c", (40,))):
        weight = RNG.standard_normal(shape).astype(np.float32)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(weight, name))
    return proto


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    onnx.save(product_model(), path)
    return path


@pytest.fixture
def stored(model_file: Path) -> Path:
    path = model_file.with_suffix(".loom")
    model = onnxloom.compile(model_file, cache=False)
    model(X)
    model.save(path)
    return path


def changed(path: Path, **changes: Any) -> None:
    """Rewrites a stored model with another description."""
    found = container.read_container(path.read_bytes())
    description = {**found.description, **changes}
    container.write_container(path, description, {name: [data] for name, data in found.sections.items()})


def test_all_ways_in_give_the_same_result(model_file: Path, stored: Path) -> None:
    expected = onnxloom.compile(model_file, cache=False)(X)[0]
    for model in (onnxloom.load(stored), onnxloom.load(stored.read_bytes()), onnxloom.compile(stored)):
        np.testing.assert_array_equal(model(X)[0], expected)
    session = onnxloom.InferenceSession(str(stored))
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], expected)
    assert [(i.name, i.type, i.shape) for i in session.get_inputs()] == [("x", "tensor(float)", ["N", 64])]


def test_shapes_that_were_not_met_before(model_file: Path, stored: Path) -> None:
    model, reference = onnxloom.load(stored), onnxloom.compile(model_file, cache=False)
    for rows in (0, 1, 3, 17, 5):
        x = RNG.standard_normal((rows, 64)).astype(np.float32)
        np.testing.assert_array_equal(model(x)[0], reference(x)[0])


_FRESH = """
import sys, numpy as np, onnxloom
x = np.load(sys.argv[2])
y = onnxloom.load(sys.argv[1])(x)[0]
np.save(sys.argv[3], y)
print(*[m for m in ("onnx", "xdsl", "numba", "google", "ml_dtypes", "onnxloom.transforms",
    "onnxloom.conversion", "onnxloom.dialects.onnx") if m in sys.modules])
"""


def test_a_fresh_process_loads_no_compiler(model_file: Path, stored: Path, tmp_path: Path) -> None:
    given, result = tmp_path / "x.npy", tmp_path / "y.npy"
    np.save(given, X)
    expected = onnxloom.compile(model_file, cache=False)(X)[0]
    model_file.unlink()
    command = [sys.executable, "-c", _FRESH, str(stored), str(given), str(result)]
    said = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True)
    assert said.stdout.split() == []
    np.testing.assert_array_equal(np.load(result), expected)


def test_weights_are_read_where_they_lie_in_the_file(stored: Path) -> None:
    model = onnxloom.load(stored)
    arrays = [v for v in model.artifact.constants.values if isinstance(v, np.ndarray) and v.nbytes > 1000]
    assert arrays
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray):
            base = base.base
        assert isinstance(base.obj, mmap.mmap)


OPEN_RANKS = """agraph (float[N] x) => (float y) {
    shape = Shape(x)
    one = Constant <value = int64[1] {1}> ()
    is_one = Equal(shape, one)
    flag = Squeeze(is_one)
    s = If(flag) <
        then_branch = g () => (float r) { r = Squeeze(x) },
        else_branch = h () => (float[M] r) { r = Identity(x) }
    >
    t = Tanh(s)
    y = ReduceSum <keepdims = 0> (t)
}"""


def test_variants_for_single_shapes_are_stored(tmp_path: Path) -> None:
    path = tmp_path / "v.loom"
    model = onnxloom.compile(model_of(OPEN_RANKS).SerializeToString(), cache=False)
    one, two = np.ones(1, np.float32), np.ones(2, np.float32)
    expected = [model(x)[0] for x in (one, two)]
    assert len(model.variants) == 2
    model.save(path)
    loaded = onnxloom.load(path)
    for x, y in zip((one, two), expected, strict=True):
        np.testing.assert_array_equal(loaded(x)[0], y)
    assert len(loaded.variants) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(loaded(np.ones(3, np.float32))[0], 3 * np.tanh(1), rtol=1e-5)
    assert len(loaded.variants) == 2


def test_a_variant_is_compiled_from_the_model_in_the_file(tmp_path: Path) -> None:
    path, data = tmp_path / "v.loom", model_of(OPEN_RANKS).SerializeToString()
    onnxloom.compile(data, cache=False).save(path, source=data)
    loaded = onnxloom.load(path)
    np.testing.assert_allclose(loaded(np.ones(3, np.float32))[0], 3 * np.tanh(1), rtol=1e-5)
    assert len(loaded.variants) == 1


def overridable_model() -> bytes:
    proto = model_of("agraph (float[2] x, float[2] k) => (float[2] y) { y = Mul(x, k) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.full(2, 3, np.float32), "k"))
    return proto.SerializeToString()


def test_default_values_can_be_overridden_where_the_model_is_kept(tmp_path: Path) -> None:
    path, data = tmp_path / "o.loom", overridable_model()
    model = onnxloom.compile(data, cache=False)
    feeds = {"x": np.ones(2, np.float32), "k": np.full(2, 5, np.float32)}
    model.save(path)
    np.testing.assert_array_equal(onnxloom.load(path).run({"x": feeds["x"]})["y"], [3, 3])
    with pytest.raises(InputError, match="'k' has a default value"):
        onnxloom.load(path).run(feeds)
    model.save(path, source=data)
    np.testing.assert_array_equal(onnxloom.load(path).run(feeds)["y"], [5, 5])


def test_code_that_does_not_fit_is_refused(stored: Path) -> None:
    changed(stored, onnxloom="0.0.1")
    with pytest.raises(
        ArtifactError, match=r"m\.loom was compiled by onnxloom 0\.0\.1; .*compile the model"
    ) as caught:
        onnxloom.load(stored)
    assert "\n" not in str(caught.value)


def test_code_for_another_processor_is_refused(model_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.loom"
    artifact = onnxloom.compile(model_file, cache=False).artifact
    save.save_artifact(path, with_features(artifact, "tea-making"), {})
    with pytest.raises(ArtifactError, match="for a processor with tea-making"):
        onnxloom.load(path)
    save.save_artifact(path, with_features(artifact, "tea-making"), {}, source=model_file)
    with pytest.warns(RecompiledWarning, match="tea-making.*the model in it is compiled again"):
        model = onnxloom.load(path)
    np.testing.assert_array_equal(model(X)[0], onnxloom.compile(model_file, cache=False)(X)[0])


def with_features(artifact: Any, *features: str) -> Any:
    from dataclasses import replace

    return replace(artifact, features=features)


def test_a_kept_model_is_compiled_with_the_options_it_was_compiled_with(
    model_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "m.loom"
    onnxloom.compile(model_file, cache=False, fuse=False, skip_passes=["cleanup"]).save(
        path, source=model_file
    )
    changed(path, onnxloom="0.0.1")
    with pytest.warns(RecompiledWarning):
        model = onnxloom.load(path)
    assert not model.options.fuse
    assert model.options.skip_passes == ("cleanup",)
    assert not model.artifact.fused


def test_options_of_another_version_are_left_out_and_impossible_ones_refused(
    model_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "m.loom"
    onnxloom.compile(model_file, cache=False).save(path, source=model_file)
    changed(path, onnxloom="0.0.1", options={"speed": 11, "fuse": False})
    with pytest.warns(RecompiledWarning):
        assert not onnxloom.load(path).options.fuse
    changed(path, options=["fuse"])
    with (
        pytest.warns(RecompiledWarning),
        pytest.raises(ArtifactError, match="options that are not understood"),
    ):
        onnxloom.load(path)


def test_weights_of_a_kept_model_are_stored_once(tmp_path: Path) -> None:
    path, model_path = tmp_path / "m.loom", tmp_path / "m.onnx"
    proto = model_of("agraph (float[100000] x) => (float[100000] y) { y = Mul(x, w) }")
    weight = RNG.standard_normal(100_000).astype(np.float32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    onnx.save(proto, model_path)
    onnxloom.compile(model_path, cache=False).save(path, source=model_path)
    assert weight.nbytes < path.stat().st_size < 1.5 * weight.nbytes
    np.testing.assert_array_equal(onnxloom.load(path)(np.ones(100_000, np.float32))[0], weight)


def test_what_cannot_be_kept(model_file: Path, stored: Path, tmp_path: Path) -> None:
    model = onnxloom.compile(model_file, cache=False)
    out = tmp_path / "out.loom"
    for source, reason in (
        (stored, "a compiled model cannot be kept"),
        (product_model(), "a ModelProto cannot be kept"),
    ):
        with pytest.raises(InputError, match=reason):
            model.save(out, source=source)
    proto = product_model()
    onnx.save(proto, tmp_path / "e.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    external = onnxloom.compile(tmp_path / "e.onnx", cache=False)
    with pytest.raises(InputError, match="weights lie in files of their own"):
        external.save(out, source=tmp_path / "e.onnx")
    external.save(out)
    np.testing.assert_array_equal(onnxloom.load(out)(X)[0], external(X)[0])
    assert sorted(p.name for p in tmp_path.glob("out*")) == ["out.loom"]


def test_a_model_compiled_with_plug_ins_is_not_kept(model_file: Path, tmp_path: Path) -> None:
    model = onnxloom.compile(model_file, cache=False, plugins=EXAMPLES / "mean_square.py")
    with pytest.raises(InputError, match="plug-ins"):
        model.save(tmp_path / "out.loom", source=model_file)
    model.save(tmp_path / "out.loom")
    np.testing.assert_array_equal(onnxloom.load(tmp_path / "out.loom")(X)[0], model(X)[0])


@pytest.mark.parametrize(
    "program",
    [
        b"", b"\0" * 8, b"\xff" * 64, (2).to_bytes(8, "little") + b"{}", (4).to_bytes(8, "little") + b"null",
        store.dumps((1, 2)), store.dumps("text"),
        (50_000).to_bytes(8, "little") + b"[" * 50_000,
        store.dumps(3).replace(b"3", b'{"c":"Artifact","v":[1]}'),
    ],
)  # fmt: skip
def test_a_program_that_makes_no_sense(program: bytes, tmp_path: Path) -> None:
    path = tmp_path / "h.loom"
    container.write_container(path, fit.made_with(), {"program": [program]})
    with pytest.raises(ArtifactError, match=r"h\.loom holds .*program"):
        load_file(path)


def test_a_file_without_a_program(tmp_path: Path) -> None:
    container.write_container(tmp_path / "n.loom", fit.made_with(), {})
    with pytest.raises(ArtifactError, match="holds no program"):
        load_file(tmp_path / "n.loom")


def test_places_outside_the_kept_model_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.loom"
    reference = json.dumps({"x": 1 << 40, "k": ["float32", [4]]}).encode()
    program = len(reference).to_bytes(8, "little") + reference
    container.write_container(path, fit.made_with(), {"program": [program], "model": [b"1234"]})
    with pytest.warns(RecompiledWarning, match="not understood"), pytest.raises(onnxloom.ModelError):
        load_file(path)


def test_damaged_code_is_refused(model_file: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    artifact = onnxloom.compile(model_file, cache=False).artifact
    damaged = replace(artifact, objects=[artifact.objects[0][:100]])
    save.save_artifact(tmp_path / "m.loom", damaged, {})
    with pytest.raises(ArtifactError, match="code that cannot be linked"):
        onnxloom.load(tmp_path / "m.loom")


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        onnxloom.load(tmp_path / "missing.loom")
    with pytest.raises(ArtifactError, match="does not start like one"):
        (tmp_path / "x.loom").write_text("hello")
        onnxloom.InferenceSession(tmp_path / "x.loom")
