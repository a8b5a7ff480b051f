"""A stored model is written again only when it has learned something worth it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from text_models import model_of

import onnxloom
from onnxloom.lowering.cache import DiskCache

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
