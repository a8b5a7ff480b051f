"""A stored model is written again only when it has learned something worth it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from text_models import model_of

import onnxloom
from onnxloom.lowering.cache import DiskCache
from onnxloom.lowering.cpu_target import CPU, CpuTarget

GRAPH = """agraph (float[N] x) => (float[K] y) {
    size = Size(x)
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    places = Range(zero, size, one)
    y = Gather(x, places)
}"""


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of plans written to an empty cache."""
    monkeypatch.setenv("ONNXLOOM_CACHE_DIR", str(tmp_path))
    keys: list[str] = []
    put = DiskCache.put

    def recorded(self: DiskCache, key: str, payload: bytes) -> bool:
        keys.extend([key] if key.startswith("plan-") else [])
        return put(self, key, payload)

    monkeypatch.setattr(DiskCache, "put", recorded)
    return keys


def run(model: onnxloom.CompiledModel, size: int) -> None:
    x = np.arange(size, dtype=np.float32)
    np.testing.assert_array_equal(model(x)[0], x)


def test_a_model_from_the_cache_that_learns_nothing_is_not_written(written: list[str]) -> None:
    data = model_of(GRAPH).SerializeToString()
    run(onnxloom.compile(data), 3)
    assert len(written) == 1
    run(onnxloom.compile(data), 3)
    assert len(written) == 1
    run(onnxloom.compile(data), 4)
    assert len(written) == 2


def test_ever_new_shapes_are_written_ever_more_rarely(written: list[str]) -> None:
    model = onnxloom.compile(model_of(GRAPH).SerializeToString())
    for size in range(1, 33):
        run(model, size)
    assert 2 <= len(written) <= 7


def test_plans_are_kept_per_processor_that_code_is_made_for(
    written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not CpuTarget.host().is_x86:
        pytest.skip("levels of x86-64 only")
    data = model_of("agraph (float[3] x) => (float[3] y) { y = Tanh(x) }").SerializeToString()
    x = np.linspace(-1, 1, 3, dtype=np.float32)
    for cpu in ("x86-64", "x86-64-v2", "x86-64"):
        monkeypatch.setenv(CPU, cpu)
        model = onnxloom.compile(data)
        assert model.artifact.features == CpuTarget.named(cpu).required
        np.testing.assert_allclose(model(x)[0], np.tanh(x), rtol=1e-6)
        assert (
            onnxloom.compile(data, cpu="x86-64-v2").artifact.features == CpuTarget.named("x86-64-v2").required
        )
    assert len(set(written)) == 2


_COMPILE = """
import sys, numpy as np, onnxloom
x = np.linspace(-2, 2, 500, dtype=np.float32)
for _ in range(3):
    np.testing.assert_allclose(onnxloom.compile(sys.argv[1])(x)[0], np.tanh(x) + x, rtol=1e-5, atol=1e-6)
"""


def test_processes_that_compile_one_model_at_the_same_time(tmp_path: Path) -> None:
    path, cache = tmp_path / "m.onnx", tmp_path / "cache"
    onnx.save(model_of("agraph (float[N] x) => (float[N] y) { t = Tanh(x)  y = Add(t, x) }"), path)
    environment = {**os.environ, "ONNXLOOM_CACHE_DIR": str(cache), "ONNXLOOM_CACHE_BYTES": "40000"}
    command = [sys.executable, "-c", _COMPILE, str(path)]
    running = [subprocess.Popen(command, env=environment) for _ in range(3)]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    assert not [p for p in cache.iterdir() if p.name.startswith(".")]
    assert sum(p.stat().st_size for p in cache.iterdir()) <= 40_000
