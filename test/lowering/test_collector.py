"""Are the thresholds of the garbage collector as they were, whatever happens meanwhile?"""

from __future__ import annotations

import gc
from collections.abc import Generator

import numpy as np
import pytest
from text_models import model_of

import onnxloom
from onnxloom.lowering import build_model
from onnxloom.lowering.collector import rare_collections

MINE = (701, 11, 12)


@pytest.fixture(autouse=True)
def _thresholds() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    before = gc.get_threshold()
    gc.set_threshold(*MINE)
    yield
    gc.set_threshold(*before)


def test_thresholds_are_high_inside_and_as_before_outside() -> None:
    with rare_collections():
        assert gc.get_threshold() > MINE
        with rare_collections():
            assert gc.get_threshold() > MINE
        assert gc.get_threshold() > MINE
    assert gc.get_threshold() == MINE


def test_an_error_inside_changes_nothing() -> None:
    with pytest.raises(ValueError, match="x"), rare_collections():
        raise ValueError("x")
    assert gc.get_threshold() == MINE


def test_what_others_set_meanwhile_stays() -> None:
    with rare_collections():
        gc.set_threshold(5, 6, 7)
    assert gc.get_threshold() == (5, 6, 7)


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    try:
        with rare_collections():
            assert gc.get_threshold() == MINE
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_models_are_compiled_so(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int, int]] = []
    read = build_model.read_module

    def spy(*args: object) -> object:
        seen.append(gc.get_threshold())
        return read(*args)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(build_model, "read_module", spy)
    model = onnxloom.compile(model_of("agraph (float[2] x) => (float[2] y) { y = Neg(x) }"), cache=False)
    np.testing.assert_array_equal(model(np.ones(2, np.float32))[0], [-1, -1])
    assert seen[0] > MINE
    assert gc.get_threshold() == MINE
