"""Kernel IR -> machine code: what the cache does not have is compiled in one go."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.lowering.cache import KernelCache
from onnxloom.lowering.checked.instrument import Entry, add_checks
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm import emit_kernel
from onnxloom.lowering.expand_math import expand_math
from onnxloom.lowering.kernel_digest import kernel_digest
from onnxloom.lowering.kernel_library import KernelLibrary, LinkError
from onnxloom.lowering.object_code import compile_object

__all__ = ["compile_kernels", "kernel_digest"]

CHECKED = "checked_"
"""How digests of checked kernels begin. They are never compiled together with others."""


def compile_kernels(
    kernels: Sequence[KernelOp],
    *,
    cache: KernelCache | None = None,
    target: CpuTarget | None = None,
    checked: bool = False,
) -> KernelLibrary:
    """Compiles `kernels` for `target` (this processor if None); those `cache` holds are taken from there.

    The kernels are not changed. `cache` must be one for `target`. `checked` kernels take more words, see
    `checked.instrument`.

    Raises:
        PassError: a kernel holds an op or type kernels may not hold.
    """
    form = CHECKED if checked else ""
    digests = {kernel.sym_name.data: form + kernel_digest(kernel) for kernel in kernels}
    by_digest = {digests[kernel.sym_name.data]: kernel for kernel in kernels}
    symbols = {name: symbol_of(digest) for name, digest in digests.items()}
    found = {} if cache is None else cache.find(list(by_digest))
    try:
        return _library(by_digest, found, symbols, cache, target)
    except LinkError:
        if not found:
            raise
    # Stored code of another process that this one cannot link: compile instead.
    if cache is not None:
        cache.forget(list(found))
    return _library(by_digest, {}, symbols, cache, target)


def symbol_of(digest: str) -> str:
    """The exported symbol of the kernel with this digest."""
    return f"loom_{digest}"


def _library(
    by_digest: dict[str, KernelOp],
    found: dict[str, bytes],
    symbols: dict[str, str],
    cache: KernelCache | None,
    target: CpuTarget | None,
) -> KernelLibrary:
    objects = list(dict.fromkeys(found.values()))
    missing = {digest: kernel for digest, kernel in by_digest.items() if digest not in found}
    if missing:
        data = compile_missing(missing, target)
        objects.append(data)
        if cache is not None:
            cache.store(list(missing), data)
    return KernelLibrary(objects, symbols)


def compile_missing(kernels: dict[str, KernelOp], target: CpuTarget | None = None) -> bytes:
    """One object with all `kernels`, keyed by digest."""
    processor = target or CpuTarget.host()

    def add(module: ir.Module) -> None:
        checked: list[Entry] = []
        for digest, kernel in kernels.items():
            expanded = kernel.clone()
            expand_math(expanded)
            emit_kernel(module, expanded, symbol_of(digest), processor)
            if digest.startswith(CHECKED):
                checked.append(Entry.of(module, kernel, symbol_of(digest)))
        if checked:
            add_checks(module, checked)

    # With all its checks code takes a tenth of the time to generate unoptimized, and runs half as fast.
    quick = any(digest.startswith(CHECKED) for digest in kernels)
    return compile_object([symbol_of(digest) for digest in kernels], add, processor, quick=quick)
