"""How do the drivers print kernels as code? As the targets `numba` and `llvm`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.errors import PassError


@dataclass(frozen=True)
class NumbaTarget(Target):
    """The kernels as Python functions for Numba to compile, to be read or stepped through."""

    name = "numba"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from onnxloom.lowering.emit_python import emit_python

        output.write(emit_python(kernels_of(module, self.name)))


@dataclass(frozen=True)
class LLVMTarget(Target):
    """The kernels as LLVM IR, as they are handed to the code generator."""

    name = "llvm"

    cpu: str = "host"
    """LLVM's name of the processor (`x86-64-v3`), or `host`: it decides which instructions may be used."""

    triple: str = ""
    """LLVM's name of the platform (`aarch64-unknown-linux-gnu`); this one if empty."""

    expand_math: bool = True
    """Replace math functions by vectorizable arithmetic first, as compiling does."""

    checked: bool = False
    """Check every access to memory."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from onnxloom.lowering.checked.instrument import Entry, add_checks
        from onnxloom.lowering.cpu_target import CpuTarget
        from onnxloom.lowering.emit_llvm import kernel_module
        from onnxloom.lowering.expand_math import expand_math

        host = CpuTarget.host()
        local = self.cpu == "host" and not self.triple
        cpu = "" if self.cpu == "host" else self.cpu
        target = host if local else CpuTarget(self.triple or host.triple, cpu, "")
        kernels = [kernel.clone() for kernel in kernels_of(module, self.name)]
        for kernel in kernels:
            if self.expand_math:
                expand_math(kernel)
        emitted = kernel_module(kernels, target)
        if self.checked:
            add_checks(emitted, [Entry.of(emitted, kernel) for kernel in kernels])
        output.write(f"{emitted}\n")


def kernels_of(module: ModuleOp, target: str) -> list[KernelOp]:
    """The kernels of a module. Raises PassError when there are none."""
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    if not kernels:
        raise PassError(f"target {target}: the module has no kernels (convert-onnx-to-loom makes them)")
    return kernels
