"""The plug-in of the how-to runs compiled, and gives what the ops it replaces give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import onnxloom
from onnxloom.transforms.fusion.plugins import use_plugins

PLUGIN = Path(__file__).parents[3] / "docs" / "examples" / "mean_square.py"


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("shape", [(3, 8), (2, 3, 5), (7,), (0, 4)])
def test_runs_compiled_and_agrees(keepdims: int, shape: tuple[int, ...]) -> None:
    names = [f"d{i}" for i in range(len(shape))]
    out = names[:-1] + ["1"] * keepdims
    text = f"""<ir_version: 10, opset_import: ["" : 21]>
    g (float[{", ".join(names)}] x) => (float[{", ".join(out)}] y)
    <int64[1] axes = {{-1}}> {{ s = Mul(x, x)  y = ReduceMean <keepdims = {keepdims}> (s, axes) }}"""
    with use_plugins([PLUGIN]):
        model = onnxloom.compile(onnx.parser.parse_model(text), cache=False)
    assert model.artifact.fused == (("example.mean_square", "Mul ReduceMean"),)
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    (y,) = model(x)
    np.testing.assert_allclose(y, np.mean(x * x, axis=-1, keepdims=bool(keepdims)), rtol=1e-6)
    assert model.host_steps == 0


def test_is_as_short_as_promised() -> None:
    assert len(PLUGIN.read_text().splitlines()) < 80
