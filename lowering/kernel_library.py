"""Compiled kernels in memory: object code linked into this process, and the addresses of its kernels.

Needs llvmlite's binding layer alone, so that a warm session starts without Numba, xDSL or onnx.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import llvmlite.binding as llvm

from onnxloom.errors import OnnxloomError
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.object_symbols import undefined_symbols

_C_MATH_LIBRARIES = ("libm.so.6", "libm.so", "libSystem.B.dylib", "ucrtbase.dll")


class LinkError(OnnxloomError):
    """Object code that cannot be loaded into this process."""


class _LinkedObject:
    """One object file linked into this process; its code lives as long as this Python object."""

    def __init__(self, data: bytes):
        _check_symbols(data)
        backing = llvm.parse_assembly("")
        self._engine: Any = llvm.create_mcjit_compiler(backing, CpuTarget.host().machine(jit=True))
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()

    def address(self, symbol: str) -> int:
        address = self._engine.get_function_address(symbol)
        if not address:
            raise LinkError(f"object code does not define {symbol}")
        return address


_lock = threading.Lock()
_linked: WeakValueDictionary[bytes, _LinkedObject] = WeakValueDictionary()


def _link(data: bytes) -> _LinkedObject:
    """Links `data`, or returns the copy of the same object that is linked already."""
    key = hashlib.sha256(data).digest()
    with _lock:
        linked = _linked.get(key)
        if linked is None:
            linked = _LinkedObject(data)
            _linked[key] = linked
        return linked


def _check_symbols(data: bytes) -> None:
    try:
        needed = undefined_symbols(data)
    except ValueError as error:
        raise LinkError(str(error)) from error
    if needed is None:
        return
    missing = [name for name in needed if llvm.address_of_symbol(name) is None]
    for library in _C_MATH_LIBRARIES if missing else ():
        _try_load(library)
        missing = [name for name in missing if llvm.address_of_symbol(name) is None]
        if not missing:
            return
    if missing:
        raise LinkError(f"object code needs {', '.join(missing)}, which this process does not have")


def _try_load(library: str) -> None:
    try:
        llvm.load_library_permanently(library)
    except RuntimeError:
        return  # another platform's name


class KernelLibrary:
    """Kernels ready to be called. Their code stays loaded as long as this object is alive."""

    def __init__(self, objects: Sequence[bytes], symbols: Mapping[str, str]):
        """`objects` is object code, `symbols` maps each kernel's name to its symbol in one of them.

        Raises:
            LinkError: an object is damaged, or needs or lacks a symbol.
        """
        self.objects = list(objects)
        """The object code, to store beside a plan."""
        self.symbols = dict(symbols)
        """Kernel name to symbol."""
        self._linked = [_link(data) for data in self.objects]
        self._addresses = {name: self._find(symbol) for name, symbol in self.symbols.items()}

    def _find(self, symbol: str) -> int:
        for linked in self._linked:
            try:
                return linked.address(symbol)
            except LinkError:
                continue
        raise LinkError(f"no object defines {symbol}")

    def address(self, name: str) -> int:
        """The address of kernel `name`, a `void (*)(int64_t *)`."""
        return self._addresses[name]


def load_library(objects: Sequence[bytes], symbols: Mapping[str, str]) -> KernelLibrary:
    """Links stored object code: `KernelLibrary.objects` and `.symbols` of an earlier process."""
    return KernelLibrary(objects, symbols)
