"""Kernel IR -> LLVM IR: one exported function per kernel, see `kernel.ENTRY_TYPE`."""

from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm.kernel import assembly, emit_kernel, kernel_module

__all__ = ["CpuTarget", "assembly", "emit_kernel", "kernel_module"]
