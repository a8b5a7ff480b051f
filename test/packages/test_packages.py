"""Unmodified packages give the same results with `sys.modules["onnxruntime"] = onnxloom`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

_SPEC = importlib.util.spec_from_file_location("package_comparison", Path(__file__).parent / "compare.py")
assert _SPEC is not None and _SPEC.loader is not None
compare: Any = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = compare
_SPEC.loader.exec_module(compare)

FOLDER = compare.ROOT / "build" / "packages"


@pytest.mark.full
@pytest.mark.parametrize("package", compare.packages(), ids=lambda package: package.title.replace(" ", "-"))
def test_results_are_the_same(package: Any) -> None:
    try:
        found = compare.compare(package, FOLDER)
    except compare.NotInstalledError as error:
        pytest.skip(f"{package.title} cannot be installed: {error}")
    assert found == []


def test_what_differs_is_told() -> None:
    expected = {"a": [1.0, 0.5], "b": "text", "c": [1, 2]}
    assert list(compare.differences(expected, {"a": [1.001, 0.501], "b": "text", "c": [1, 2]})) == []
    got = {"a": [1.0, 0.6], "b": "other", "c": [1]}
    assert list(compare.differences(expected, got)) == [
        "result.a[1]: 0.5 and 0.6",
        "result.b: 'text' and 'other'",
        "result.c: [1, 2] and [1]",
    ]
    assert list(compare.differences({"a": 1}, {"b": 1})) == ["result: {'a': 1} and {'b': 1}"]
