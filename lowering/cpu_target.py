"""Which processor a kernel is compiled for, and what that decides about the IR."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import llvmlite.binding as llvm

if TYPE_CHECKING:
    from onnxloom.dialects.loom.target import Target

_V3 = frozenset({"avx", "avx2", "fma", "f16c", "bmi", "bmi2", "sse4.1", "sse4.2"})
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_X86_LEVELS = {"x86-64-v3": _V3, "x86-64-v4": _V4}


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

    @property
    def is_x86(self) -> bool:
        """An x86 processor of 32 or 64 bits."""
        return self.triple.startswith(("x86_64", "i386", "i686"))

    def has(self, feature: str) -> bool:
        """Whether `feature` is on: named in `features`, or part of an x86-64 level given as the CPU."""
        names = self.features.split(",")
        if f"+{feature}" in names:
            return True
        return f"-{feature}" not in names and feature in _X86_LEVELS.get(self.cpu, ())

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
        names = self.features.split(",")
        if "+avx512f" in names or (self.cpu == "x86-64-v4" and "-avx512f" not in names):
            return Target(vector_bytes=64, vector_registers=32, dot_bytes=self.has("avx512vnni"))
        vector_bytes = 32 if self.has("avx2") else 16
        return Target(vector_bytes, vector_registers=16, dot_bytes=self.has("avxvnni"))

    def machine(self, *, jit: bool = False) -> llvm.TargetMachine:
        """An LLVM target machine; `jit` selects the code model of code loaded into this process."""
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu,
            features=self.features,
            opt=3,
            reloc="static" if self.is_x86 else "default",
            codemodel="jitdefault" if jit else "default",
            jit=jit,
        )
