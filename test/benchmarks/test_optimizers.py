"""What counts as the same outputs when optimizers are compared."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def optimizers(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT)  # pyright: ignore[reportUnknownMemberType]
    return import_module("benchmarks.optimizers")


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("have", "want", "off"),
    [
        (f32(1, np.nan, np.inf), f32(1, np.nan, np.inf), 0.0),
        (f32(3, np.nan, np.inf), f32(4, np.nan, np.inf), 0.25),
        (f32(1, np.nan), f32(1, 2), np.nan),
        (f32(1, 2), f32(1, np.nan), np.nan),
        (f32(1, np.inf), f32(1, 2), np.nan),
        (f32(1, np.inf), f32(1, -np.inf), np.nan),
        (f32(), f32(), 0.0),
        (f32(1), f32(1, 2), np.inf),
        (np.array([1]), np.array([2]), np.inf),
        (["a"], ["a"], 0.0),
        (["a"], ["b"], np.inf),
    ],
)
def test_the_difference_of_two_outputs(optimizers: Any, have: Any, want: Any, off: float):
    np.testing.assert_equal(optimizers.difference(have, want), off)
