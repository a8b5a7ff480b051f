"""Compiled kernels on disk, found by what they compute.

Kernels of one model are compiled together into one object. Each kernel has a small entry that names
the object's entry, so that another model with the same kernel finds it. All keys contain an
*environment*: the processor and everything that has a say in the machine code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import llvmlite

from onnxloom import __version__
from onnxloom.lowering.cache.disk import DiskCache, cache_directory
from onnxloom.lowering.cpu_target import CpuTarget

_CODE_SOURCES = (
    "checked", "emit_llvm", "expand_math", "microkernels", "compile_kernels.py", "constants.py",
    "cpu_target.py", "executor.py", "loop_code.py", "object_code.py", "plan/record.py", "small_floats.py",
    "team_code.py",
)  # fmt: skip
"""Files and folders beside this package that have a say in the machine code."""


@cache
def compile_environment(target: CpuTarget) -> str:
    """A digest of the processor compiled for, versions and the sources that emit code."""
    parts = [target.triple, target.cpu, target.features, llvmlite.__version__]
    parts.append(__version__)
    digest = hashlib.sha256("\n".join(parts).encode())
    lowering = Path(__file__).resolve().parent.parent
    for place in (lowering / name for name in _CODE_SOURCES):
        for source in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class KernelCache:
    """Object code for one processor, by kernel digest."""

    disk: DiskCache
    target: CpuTarget = field(default_factory=CpuTarget.host)

    @staticmethod
    def default(target: CpuTarget | None = None) -> KernelCache:
        """The cache of this user; for this processor if none is named."""
        return KernelCache(DiskCache(cache_directory()), target or CpuTarget.host())

    def find(self, digests: Sequence[str]) -> dict[str, bytes]:
        """The object code that holds each of `digests`, for those that are there."""
        found: dict[str, bytes] = {}
        objects: dict[bytes, bytes | None] = {}
        for digest in digests:
            name = self.disk.get(self._kernel_key(digest))
            if name is None:
                continue
            if name not in objects:
                objects[name] = self.disk.get(_object_key(name))
            data = objects[name]
            if data is not None:
                found[digest] = data
        return found

    def store(self, digests: Sequence[str], data: bytes) -> None:
        """Stores one object that holds all of `digests`."""
        name = hashlib.sha256(data).hexdigest()[:32].encode()
        if not self.disk.put(_object_key(name), data):
            return
        for digest in digests:
            self.disk.put(self._kernel_key(digest), name)
        self.disk.trim()

    def forget(self, digests: Sequence[str]) -> None:
        """Drops entries that turned out not to load."""
        for digest in digests:
            self.disk.remove(self._kernel_key(digest))

    def _kernel_key(self, digest: str) -> str:
        return f"kernel-{compile_environment(self.target)}-{digest}"


def _object_key(name: bytes) -> str:
    return f"object-{name.decode()}"
