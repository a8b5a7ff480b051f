"""Does the key of cached machine code cover every file that has a say in it?"""

from __future__ import annotations

import re
from pathlib import Path

import onnxloom.lowering
from onnxloom.lowering.cache import kernels

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
