"""Limits: the larger of computing and moving; measuring gives figures a processor can have."""

from __future__ import annotations

from onnxloom.lowering.roofline.machine import Machine, assumed_machine, measure_machine

MACHINE = Machine(1e9, ((100, 10e9), (1000, 1e9)), is_measured=False)


def test_bandwidth_is_that_of_the_smallest_footprint_that_holds_the_data():
    assert [MACHINE.bandwidth(size) for size in (1, 100, 101, 5000)] == [10e9, 10e9, 1e9, 1e9]


def test_limit_is_the_larger_of_computing_and_moving():
    assert MACHINE.seconds(1000, ((10, 10),)) == 1e-6
    assert MACHINE.seconds(1, ((5000, 5000), (10, 10))) == 5000 / 1e9 + 10 / 10e9


def test_doubles_take_twice_the_time_and_narrow_elements_no_less_than_floats():
    assert MACHINE.seconds(1000, (), 8) == 2e-6
    assert MACHINE.seconds(1000, (), 1) == 1e-6


def test_measured_limits_are_plausible():
    machine = measure_machine(rounds=1)
    assert machine.is_measured
    assert 1e9 < machine.flops < 1e12
    assert all(1e8 < found < 1e13 for _, found in machine.bandwidths)
    assert not assumed_machine().is_measured
