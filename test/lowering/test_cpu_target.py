"""What a target says about its instructions."""

from __future__ import annotations

import pytest

from onnxloom.dialects.loom.target import Target
from onnxloom.errors import InputError
from onnxloom.lowering.cpu_target import CPU, LEVELS, CpuTarget

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


def test_levels_contain_one_another():
    levels = list(LEVELS.values())
    assert [len(level) for level in levels] == [6, 13, 22, 27]
    assert all(low < high for low, high in zip(levels, levels[1:], strict=False))


def test_tiles_follow_the_level():
    tiles = {level: CpuTarget(LINUX, level, "").tiles for level in LEVELS}
    assert tiles["x86-64"] == tiles["x86-64-v2"] == Target(16, 16)
    assert tiles["x86-64-v3"] == Target(32, 16)
    assert tiles["x86-64-v4"] == Target(64, 32)
    assert CpuTarget("aarch64-unknown-linux-gnu", "neoverse-n1", "").tiles == Target(16, 32)
    assert CpuTarget(LINUX, "x86-64-v4", "-avx512f").tiles == Target(32, 16)


def test_required_features_are_those_that_code_may_use():
    assert CpuTarget(LINUX, "any", "+b,-c,+a").required == ("a", "b")
    assert set(CpuTarget(LINUX, "x86-64-v2", "+avx").required) == {*LEVELS["x86-64-v2"], "avx"}
    assert CpuTarget("aarch64-unknown-linux-gnu", "generic", "").required == ()


def test_what_runs_here():
    host = CpuTarget.host()
    assert host.runs_here
    assert not CpuTarget(host.triple, host.cpu, "+something-new").runs_here
    assert not CpuTarget("sparc", host.cpu, "").runs_here


def test_a_processor_is_chosen_by_name_then_by_the_environment(monkeypatch: pytest.MonkeyPatch):
    host = CpuTarget.host()
    if not host.is_x86:
        pytest.skip("levels of x86-64 only")
    monkeypatch.delenv(CPU, raising=False)
    assert CpuTarget.chosen() == CpuTarget.chosen("host") == host
    monkeypatch.setenv(CPU, "x86-64-v2")
    assert CpuTarget.chosen() == CpuTarget(host.triple, "x86-64-v2", "")
    assert CpuTarget.chosen("x86-64-v3").cpu == "x86-64-v3"
    assert CpuTarget.chosen("host") == host
    monkeypatch.setenv(CPU, "z80")
    with pytest.raises(InputError, match="no processor 'z80' to compile for; expected host, x86-64"):
        CpuTarget.chosen()


def test_other_processors_have_no_levels(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(CpuTarget, "host", lambda: CpuTarget("aarch64-unknown-linux-gnu", "generic", ""))
    assert CpuTarget.named("host").cpu == "generic"
    with pytest.raises(InputError, match="expected host$"):
        CpuTarget.named("x86-64-v3")
