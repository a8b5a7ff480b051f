"""What a target says about its instructions."""

from __future__ import annotations

from onnxloom.lowering.cpu_target import CpuTarget

LINUX = "x86_64-unknown-linux-gnu"


def test_features_come_from_the_list_and_from_the_level():
    assert CpuTarget(LINUX, "any", "+avx2,-fma").has("avx2")
    assert not CpuTarget(LINUX, "x86-64-v3", "+avx2,-fma").has_fma
    assert CpuTarget(LINUX, "x86-64-v3", "").has_fma
    assert not CpuTarget(LINUX, "x86-64-v3", "").has("avx512f")
    assert CpuTarget(LINUX, "x86-64-v4", "").has("avx512f")
    assert not CpuTarget(LINUX, "x86-64-v2", "").has_f16_conversion


def test_arm_always_has_both():
    arm = CpuTarget("aarch64-unknown-linux-gnu", "", "")
    assert arm.has_fma
    assert arm.has_f16_conversion


def test_the_host_is_a_complete_target():
    host = CpuTarget.host()
    assert host.triple
    assert host.cpu
    assert host.machine(jit=True).triple == host.triple
