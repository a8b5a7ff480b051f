"""Passes, export and the compiled pipeline keep what random graphs compute.

`make fuzz-passes` and `make fuzz-compiled` run many more.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from random_checks.compiled import compiled_failures
from random_checks.passes import PassCheck, pass_checks, pass_failures, pipeline_check
from random_graphs import RandomGraph, graphs, seeded_graph

CHECKS = pass_checks()


def no_failure(failures: list[str]) -> None:
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("start", range(0, 160, 40))
def test_each_pass_alone_keeps_the_outputs(start: int) -> None:
    changed: set[str] = set()
    with np.errstate(all="ignore"):
        for seed in range(start, start + 40):
            failures, changes = pass_failures(seeded_graph(seed), [*CHECKS, pipeline_check(seed)])
            no_failure([f"seed {seed}: {failure}" for failure in failures])
            changed |= changes
    assert {"fuse-ops", "shape-inference"} <= changed


def test_the_compiled_pipeline_keeps_the_outputs() -> None:
    seeds = range(24)
    with np.errstate(all="ignore"):
        found = compiled_failures([seeded_graph(seed, steps=8) for seed in seeds])
    no_failure([f"seed {seed}: {f}" for seed, failures in zip(seeds, found, strict=True) for f in failures])


@settings(
    max_examples=15, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(graphs())
def test_passes_keep_the_outputs_of_drawn_graphs(graph: RandomGraph) -> None:
    failures, _ = pass_failures(graph, CHECKS)
    no_failure([str(failure) for failure in failures])


def test_there_is_a_check_for_each_pass() -> None:
    assert PassCheck("fuse-ops", CHECKS[0].agreement.EXACT) in CHECKS
    assert len({check.text for check in CHECKS}) == len(CHECKS)
