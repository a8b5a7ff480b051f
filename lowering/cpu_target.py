"""Which processor a kernel is compiled for, and what that decides about the IR."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import llvmlite.binding as llvm

from onnxloom.errors import InputError

if TYPE_CHECKING:
    from onnxloom.dialects.loom.target import Target

_V1 = frozenset({"cmov", "cx8", "fxsr", "mmx", "sse", "sse2"})
_V2 = _V1 | {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}
_V4 = _V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
LEVELS = {"x86-64": _V1, "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
"""The microarchitecture levels of the x86-64 psABI: what each lets code use."""

CPU = "ONNXLOOM_CPU"
"""Names the processor that code is made for, where the caller does not."""


@dataclass(frozen=True)
class CpuTarget:
    """A target triple, a CPU name and a feature list as LLVM spells them (`+avx2,-avx512f`)."""

    triple: str
    cpu: str
    features: str

    @staticmethod
    @cache
    def host() -> CpuTarget:
        """The processor this process runs on."""
        return CpuTarget(
            llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        )

    @staticmethod
    def named(name: str) -> CpuTarget:
        """The processor called `name`: `host`, or a level such as `x86-64-v3`. Raises InputError."""
        host = CpuTarget.host()
        if name == "host":
            return host
        if name not in LEVELS or not host.is_x86:
            known = ["host", *(LEVELS if host.is_x86 else ())]
            raise InputError(f"there is no processor {name!r} to compile for; expected {', '.join(known)}")
        # Left to itself LLVM uses half of a 64-byte register on "any" processor that has them.
        return CpuTarget(host.triple, name, "-prefer-256-bit" if name == "x86-64-v4" else "")

    @staticmethod
    def chosen(name: str = "") -> CpuTarget:
        """The processor called `name`; if that is empty, the one that `ONNXLOOM_CPU` names, else this one."""
        return CpuTarget.named(name or os.environ.get(CPU, "") or "host")

    @property
    def is_x86(self) -> bool:
        """An x86 processor of 32 or 64 bits."""
        return self.triple.startswith(("x86_64", "i386", "i686"))

    def has(self, feature: str) -> bool:
        """Whether `feature` is on: named in `features`, or part of an x86-64 level given as the CPU."""
        names = self.features.split(",")
        if f"+{feature}" in names:
            return True
        return f"-{feature}" not in names and feature in LEVELS.get(self.cpu, ())

    @property
    def required(self) -> tuple[str, ...]:
        """The features that code for this target may use, sorted."""
        names = {name[1:] for name in self.features.split(",") if name.startswith("+")}
        return tuple(sorted(names | LEVELS.get(self.cpu, frozenset())))

    @property
    def runs_here(self) -> bool:
        """Whether this process can run code for this target."""
        host = CpuTarget.host()
        return self.triple == host.triple and set(self.required) <= set(host.required)

    @property
    def has_fma(self) -> bool:
        """Fused multiply-add is one instruction (else it is a slow library call)."""
        return self.has("fma") if self.is_x86 else True

    @property
    def has_f16_conversion(self) -> bool:
        """f16 <-> f32 is one instruction (else it is a library call that may not be there)."""
        return self.has("f16c") if self.is_x86 else self.triple.startswith(("aarch64", "arm64"))

    @property
    def tiles(self) -> Target:
        """The vector unit that kernel tiles are shaped for."""
        from onnxloom.dialects.loom.target import Target  # a warm session does without xDSL

        if not self.is_x86:
            return Target(vector_bytes=16, vector_registers=32)
        if self.has("avx512f"):
            return Target(vector_bytes=64, vector_registers=32, dot_bytes=self.has("avx512vnni"))
        vector_bytes = 32 if self.has("avx2") else 16
        return Target(vector_bytes, vector_registers=16, dot_bytes=self.has("avxvnni"))

    def machine(self, *, jit: bool = False, quick: bool = False) -> llvm.TargetMachine:
        """An LLVM target machine; `jit` selects the code model of code loaded into this process.

        One that is `quick` takes less time to generate code than the code then needs more.
        """
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu,
            features=self.features,
            opt=0 if quick else 3,
            reloc="static" if self.is_x86 else "default",
            codemodel="jitdefault" if jit else "default",
            jit=jit,
        )
