"""How does Numba compile kernels? As the functions that `-t numba` prints, each behind an entry in C form.

A session compiles kernels from LLVM IR of its own, tuned tiles and vectorisable mathematics included; this is
the readable form of the same kernels, compiled as it stands: a second opinion on a result that looks wrong.
It is slower to compile and to run, and needs Numba in the process that runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import llvmlite.binding as llvm
import numba
from numba import types
from numba.extending import intrinsic
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_python import emit_python
from onnxloom.lowering.emit_python.types import numpy_name

_ENTRY = types.void(types.CPointer(types.int64), types.int64, types.int64, types.int64)
"""The words of a kernel, and the tasks and the worker it is called for: always all, by one thread."""

_LENGTH = 1 << 60
"""Elements of a buffer as far as Numba is concerned: kernels keep within their sizes themselves."""


def compile_with_numba(kernels: Sequence[KernelOp]) -> tuple[list[bytes], dict[str, str]]:
    """Object code and, by kernel name, the symbols in it; for one thread.

    Raises:
        PassError: a kernel holds an op or type kernels may not hold.
    """
    objects: list[bytes] = []
    symbols: dict[str, str] = {}
    for kernel in kernels:
        entry = _entry(kernel)
        symbols[kernel.sym_name.data] = entry.native_name
        objects.append(_object_code(entry.inspect_llvm()))
    return objects, symbols


def _entry(kernel: KernelOp) -> Any:
    """The kernel as a C function over its words."""
    name, scope = kernel.sym_name.data, {"_buffer": _buffer, "_length": _LENGTH}
    exec(compile(emit_python([kernel]), f"<{name}>", "exec"), scope)
    args: list[str] = []
    for number, buffer in enumerate(kernel.buffers):
        element = cast("MemRefType[Attribute]", buffer.type).element_type
        args.append(f"carray(_buffer(words[{number}], {numpy_name(element)}), _length)")
    args += [f"words[{len(args) + i}]" for i in range(len(kernel.sizes))]
    lines = [
        "from numba import carray",
        f"def entry(words, begin, end, worker):\n    {name}({', '.join(args)})",
    ]
    exec(compile("\n".join(lines), f"<entry of {name}>", "exec"), scope)
    return numba.cfunc(_ENTRY)(scope["entry"])


@intrinsic
def _buffer(context: Any, address: Any, dtype: Any) -> Any:
    """An address as a pointer to elements of a type."""
    signature = types.CPointer(dtype.dtype)(address, dtype)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return signature, generate


def _object_code(text: str) -> bytes:
    module = llvm.parse_assembly(text, llvm.create_context())
    return CpuTarget.host().machine(jit=True).emit_object(module)
