"""Graphs that once failed: every pass alone, the round trip, and the compiled pipeline."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from random_checks.cases import case_paths, load_case
from random_checks.compiled import compiled_failures
from random_checks.passes import pass_checks, pass_failures


@pytest.mark.parametrize("path", case_paths(), ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    graph = load_case(path)
    with np.errstate(all="ignore"):
        failures = pass_failures(graph, pass_checks())[0] + compiled_failures([graph])[0]
    assert not failures, "\n".join(map(str, failures))


def test_there_are_cases() -> None:
    assert case_paths()
