"""Does the key of cached machine code cover every file that has a say in it?"""

from __future__ import annotations

import re
from pathlib import Path

import onnxloom.lowering
from onnxloom.lowering.cache import DiskCache, KernelCache, kernels
from onnxloom.lowering.cpu_target import CpuTarget

LOWERING = Path(onnxloom.lowering.__file__).parent
WITHOUT_A_SAY = {"cache", "kernel_digest", "kernel_library", "runtime.team"}
"""They find, name, load and call machine code."""


def test_modules_that_code_generation_imports_are_part_of_the_environment():
    listed = {name.removesuffix(".py").replace("/", ".") for name in kernels._CODE_SOURCES}  # pyright: ignore[reportPrivateUsage]
    imported: set[str] = set()
    for name in listed:
        place = LOWERING / name.replace(".", "/")
        for source in place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]:
            imported |= set(re.findall(r"(?:from|import) onnxloom\.lowering\.([\w.]+)", source.read_text()))
    imported = {
        name.split(".")[0] if name.split(".")[0] in listed | WITHOUT_A_SAY else name for name in imported
    }
    assert {"emit_llvm", "small_floats"} <= imported
    assert imported - listed <= WITHOUT_A_SAY


def test_code_for_one_processor_is_not_found_for_another(tmp_path: Path):
    disk, triple = DiskCache(tmp_path), CpuTarget.host().triple
    levels = [CpuTarget(triple, name, features) for name, features in (("a", ""), ("b", ""), ("a", "+c"))]
    for level in levels:
        KernelCache(disk, level).store(["k"], f"{level.cpu}{level.features}".encode())
    assert [KernelCache(disk, level).find(["k"])["k"] for level in levels] == [b"a", b"b", b"a+c"]
    assert KernelCache(disk).find(["k"]) == {}
