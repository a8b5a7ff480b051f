"""Buffers that live at the same time never share memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onnxloom.lowering.plan.arena import ALIGNMENT, place
from onnxloom.lowering.plan.values import Buffer

RANGES = st.tuples(st.integers(0, 20), st.integers(0, 8), st.integers(0, 5000))


@given(st.lists(RANGES, max_size=40))
def test_buffers_alive_together_do_not_overlap(ranges: list[tuple[int, int, int]]) -> None:
    buffers = [Buffer(size, first=first, last=first + length) for first, length, size in ranges]
    total = place(buffers)
    for i, a in enumerate(buffers):
        assert a.offset % ALIGNMENT == 0
        assert a.offset + a.nbytes <= total
        for b in buffers[:i]:
            alive_together = a.first <= b.last and b.first <= a.last
            apart = a.offset + a.nbytes <= b.offset or b.offset + b.nbytes <= a.offset
            assert apart or not alive_together


def test_memory_of_the_dead_is_used_again() -> None:
    buffers = [Buffer(1024, first=i, last=i + 1) for i in range(10)]
    assert place(buffers) == 2048


def test_a_small_buffer_takes_the_tightest_gap() -> None:
    # Two gaps open at time 5: one of 1024 bytes, one of 128; the small one must not spoil the large one.
    early = [Buffer(1024, first=0, last=1), Buffer(512, first=0, last=9), Buffer(128, first=0, last=1)]
    late = [Buffer(1024, first=5, last=6), Buffer(128, first=5, last=6), Buffer(64, first=0, last=9)]
    assert place([*early, *late]) == 1024 + 512 + 128 + 64


def test_memory_handed_on_many_times_is_that_of_the_last() -> None:
    chain = [Buffer(4) for _ in range(20_000)]
    for source, out in zip(chain, chain[1:], strict=False):
        source.host = out
    assert all(buffer.storage() is chain[-1] for buffer in chain)
    last = chain[-1].host = Buffer(4)
    assert all(buffer.storage() is last for buffer in chain)
