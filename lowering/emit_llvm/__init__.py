"""Kernel IR -> LLVM IR: one exported `void k(int64_t *args)` per kernel."""

from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm.kernel import assembly, emit_kernel, kernel_module

__all__ = ["CpuTarget", "assembly", "emit_kernel", "kernel_module"]
