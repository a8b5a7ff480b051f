"""Are these outputs those of the graph? To the bit, or as far as rounding explains."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from random_graphs import RandomGraph

from onnxloom.testing.difference import differences
from random_checks.arbiter import verdict
from random_checks.failure import Failure
from random_checks.stability import Stability


class Agreement(Enum):
    """What a check promises."""

    EXACT = "the same bits"
    ROUNDING = "the same but for rounding"


def value_failure(
    check: str, graph: RandomGraph, got: Mapping[str, Any], agreement: Agreement
) -> Failure | None:
    """The failure of outputs that are not those of the graph."""
    found = differences(graph.wanted, got)
    if not found:
        return None
    stability = Stability(graph.model, graph.feeds, graph.wanted)
    if agreement is Agreement.ROUNDING and list(got) == list(graph.wanted):
        if stability.explains(got):
            return None
        names = stability.unexplained(got)
        found = [d for d in found if d.name in names] or found
    failure = Failure(check, "values", str(found[0]))
    return failure.blaming(verdict(stability, graph.model, graph.feeds, got))
