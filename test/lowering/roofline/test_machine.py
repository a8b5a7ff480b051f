"""Limits: the larger of computing and moving; measuring gives figures a processor can have."""

from __future__ import annotations

import pytest

from onnxloom.lowering.roofline.machine import (
    Bandwidth,
    Machine,
    Stream,
    assumed_machine,
    measure_machine,
)

MACHINE = Machine(1e9, (Bandwidth(100, 10e9, 20e9), Bandwidth(10000, 1e9, 2e9)), is_measured=False)


@pytest.mark.parametrize(
    ("footprint", "copied"), [(1, 10e9), (100, 10e9), (1000, 5.5e9), (10000, 1e9), (99999, 1e9)]
)
def test_bandwidth_lies_between_those_of_the_footprints_around(footprint: int, copied: float):
    assert MACHINE.bandwidth(footprint).copied == pytest.approx(copied)


def test_what_is_read_beyond_what_is_written_goes_as_fast_as_reading():
    assert MACHINE.moving(Stream(50, 50, 100)) == pytest.approx(100 / 10e9)
    assert MACHINE.moving(Stream(80, 20, 100)) == pytest.approx(40 / 10e9 + 60 / 20e9)
    assert MACHINE.moving(Stream(20, 80, 100)) == pytest.approx(100 / 10e9)


def test_limit_is_the_larger_of_computing_and_moving():
    assert MACHINE.seconds(1000, [Stream(10, 0, 10)]) == 1e-6
    both = [Stream(5000, 0, 10000), Stream(5, 5, 10)]
    assert MACHINE.seconds(1, both) == pytest.approx(5000 / 2e9 + 10 / 10e9)


def test_doubles_take_twice_the_time_and_narrow_elements_no_less_than_floats():
    assert MACHINE.seconds(1000, (), 8) == 2e-6
    assert MACHINE.seconds(1000, (), 1) == 1e-6


def test_measured_limits_are_plausible():
    machine = measure_machine(rounds=1)
    assert machine.is_measured
    assert 1e9 < machine.flops < 1e12
    assert all(1e8 < row.copied < 1e13 and 1e8 < row.read < 1e13 for row in machine.bandwidths)
    assert not assumed_machine().is_measured
