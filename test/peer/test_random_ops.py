"""Do ops give what onnxruntime gives, whatever their attributes, shapes and element types?"""

from __future__ import annotations

import os

import pytest
from peer_cases.compare import tally
from peer_cases.registry import PeerOp, peer_ops

QUICK = 1
FULL = 60
"""A fifth of a second each, in three ways; `make peer` takes more."""

OPS = peer_ops()
SEED = int(os.environ.get("ONNXLOOM_PEER_SEED", "0"))


@pytest.mark.parametrize("op", OPS, ids=str)
def test_host_gives_what_onnxruntime_gives(op: PeerOp) -> None:
    found = tally(op, range(SEED, SEED + 12), ("host",))
    assert not found.mismatches, "\n".join(found.mismatches)
    assert found.refused_by_peer + found.refused_by_us < found.cases, "nothing was compared"


def test_a_sample_compiled() -> None:
    found = [tally(op, range(SEED, SEED + QUICK), ("O3",)) for op in OPS]
    problems = [problem for part in found for problem in part.mismatches]
    assert not problems, "\n".join(problems)
    refused = sum(part.refused_by_peer + part.refused_by_us for part in found)
    assert refused < sum(part.cases for part in found) // 2


@pytest.mark.full
@pytest.mark.parametrize("op", OPS, ids=str)
def test_all(op: PeerOp) -> None:
    found = tally(op, range(SEED, SEED + FULL))
    assert not found.mismatches, "\n".join(found.mismatches)
