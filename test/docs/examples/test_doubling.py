"""A pattern and a pass in a user's file fire from both programs and from Python, and fail in one line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import onnxloom
from onnxloom.conversion.onnx_import import import_model
from onnxloom.errors import PassError
from onnxloom.tools.cli import main
from onnxloom.tools.optimizing import Optimizing, op_counts, optimize_module
from onnxloom.transforms.plugins import use_plugins
from onnxloom.transforms.rewriting.registry import current_patterns, use_patterns

PLUGIN = Path(__file__).parents[3] / "docs" / "examples" / "doubling.py"
MODEL = """
<ir_version: 8, opset_import: ["" : 13]>
graph (float[n, 3] x) => (float[n, 3] y)
<float two = {2}>
{
    a = Mul(x, two)
    y = Relu(a)
}
"""
X = np.array([[-1.5, 2, np.inf], [-0.0, 1e38, np.nan]], np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*args: object) -> tuple[int, str, str]:
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def op_types(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load(path).graph.node]


def test_the_pattern_fires_in_optimize(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    code, said, _ = run("optimize", model, "-o", out, "--level", 1)
    assert code == 0 and op_types(out) == ["Mul", "Relu"] and "ExampleDoubling" not in said
    code, said, _ = run("optimize", model, "-o", out, "--level", 1, "--load-plugin", PLUGIN)
    assert code == 0 and op_types(out) == ["Add", "Relu"]
    assert "ExampleDoubling: 1" in said
    assert onnx.load(out).opset_import[0].version == 13


def test_the_pass_runs_in_optimize(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    passes = 'fixed-point{pipeline="example-name-nodes{prefix=n}"}'
    code, _, _ = run("optimize", model, "-o", out, "--passes", passes, "--load-plugin", PLUGIN)
    assert code == 0
    assert all(node.name.startswith("n_") for node in onnx.load(out).graph.node)
    code, _, err = run("optimize", model, "-o", out, "--passes", passes)
    assert code == 2 and "unknown pass 'example-name-nodes'" in err


def test_the_environment_does_too(
    run: Callable[..., Any], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONNXLOOM_PLUGINS", str(PLUGIN))
    code, _, _ = run("optimize", model, "-o", tmp_path / "out.onnx")
    assert code == 0 and op_types(tmp_path / "out.onnx") == ["Add", "Relu"]


def test_a_replay_needs_no_plugin(run: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    first, second, rewrites = tmp_path / "1.onnx", tmp_path / "2.onnx", tmp_path / "r.json"
    run("optimize", model, "-o", first, "--load-plugin", PLUGIN, "--save-rewrites", rewrites)
    (record,) = [r for r in json.loads(rewrites.read_text())["records"] if r["pattern"] == "ExampleDoubling"]
    assert [at["name"] for at in record["matched"]] == ["onnx.Mul"]
    code, _, _ = run("optimize", model, "-o", second, "--replay", rewrites)
    assert code == 0 and first.read_bytes() == second.read_bytes() and "Add" in op_types(first)


def test_one_call_of_compile_uses_the_plugin(model: Path) -> None:
    for plugins in ([PLUGIN], PLUGIN):
        compiled = onnxloom.compile(model, cache=False, plugins=plugins)
        (got,) = compiled(X)
        np.testing.assert_array_equal(got, np.maximum(X * 2, 0))
        assert "Add" in " ".join(ops for _, ops in compiled.artifact.fused)
    plain = onnxloom.compile(model, cache=False)
    assert "Mul" in " ".join(ops for _, ops in plain.artifact.fused)


def test_one_call_of_compile_uses_a_pattern_class(model: Path) -> None:
    with use_plugins([PLUGIN]):
        (pattern,) = [p for p in current_patterns().patterns if p.name == "ExampleDoubling"]
    for given in ([pattern], pattern):
        compiled = onnxloom.compile(model, cache=False, patterns=given)
        assert "Add" in " ".join(ops for _, ops in compiled.artifact.fused)
    skipped = onnxloom.compile(model, cache=False, patterns=[pattern], skip_patterns="Example*")
    assert "Mul" in " ".join(ops for _, ops in skipped.artifact.fused)
    with pytest.raises(PassError, match="there is no rewrite pattern 'Exampel'"):
        onnxloom.compile(model, cache=False, skip_patterns=["Exampel"])
    with pytest.raises(PassError, match="is no rewrite pattern"):
        onnxloom.compile(model, cache=False, patterns=["ExampleDoubling"])


def test_the_plan_cache_knows_patterns_apart(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONNXLOOM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN.read_text())

    def fused(**options: Any) -> str:
        compiled = onnxloom.compile(model, **options)
        compiled(X)
        return " ".join(ops for _, ops in compiled.artifact.fused)

    assert "Mul" in fused() and "Mul" in fused()
    assert "Add" in fused(plugins=[plugin]) and "Add" in fused(plugins=[plugin])
    assert "Mul" in fused()
    written = plugin.stat().st_mtime
    plugin.write_text(PLUGIN.read_text().replace("factor, 2,", "factor, 3,"))
    os.utime(plugin, (written, written))
    assert "Mul" in fused(plugins=[plugin]), "an edit within a second, that leaves the size, counts too"


@pytest.mark.parametrize("method", ["match", "apply"])
def test_an_exception_names_the_pattern_and_leaves_the_model(
    run: Callable[..., Any], model: Path, tmp_path: Path, method: str
) -> None:
    plugin = tmp_path / "mine.py"
    marker = {"match": "        for doubled", "apply": "        (product,)"}[method]
    plugin.write_text(PLUGIN.read_text().replace(marker, f"        graph.nothing\n{marker}"))
    line = plugin.read_text().splitlines().index("        graph.nothing") + 1
    code, _, err = run("optimize", model, "--load-plugin", plugin, "--strict", "-o", tmp_path / "out.onnx")
    assert code == 1 and err.count("\n") == 1
    assert f"pattern ExampleDoubling failed in {method}" in err
    assert "AttributeError" in err and f"({plugin}, line {line})" in err
    module = import_model(model)
    with use_plugins([plugin]), pytest.warns(UserWarning, match="AttributeError"):
        optimize_module(module, Optimizing(level=1))
    assert op_counts(module) == {"onnx.Mul": 1, "onnx.Relu": 1}


def test_a_pattern_of_the_call_takes_the_place_of_the_plugins(tmp_path: Path) -> None:
    with use_plugins([PLUGIN]):
        (pattern,) = [p for p in current_patterns().patterns if p.name == "ExampleDoubling"]
        mine = type("Mine", (pattern,), {"name": "ExampleDoubling"})
        with use_patterns([mine]) as registry:
            assert registry.select(["ExampleDoubling"]) == (mine,)
        assert current_patterns().select(["ExampleDoubling"]) == (pattern,)
