"""Kernels as a Python module: imports, the helpers they use, one `@njit` function each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.lowering.emit_python import arith_ops, control_flow, math_ops
from onnxloom.lowering.emit_python.helpers import HELPERS
from onnxloom.lowering.emit_python.writer import Writer

_HANDLERS = {**arith_ops.HANDLERS, **math_ops.HANDLERS, **control_flow.HANDLERS}


def emit_python(kernels: Sequence[KernelOp]) -> str:
    """The source of a module with one function per kernel, named like it.

    The functions take the kernel's arguments in order: 1-d arrays (f16, bf16 and fp8 as unsigned integers of
    the same width) and ints.

    Raises:
        PassError: a kernel holds an op or type kernels may not hold.
    """
    helpers: dict[str, None] = {}
    names = {kernel.sym_name.data for kernel in kernels}
    functions = [_function(kernel, names, helpers) for kernel in kernels]
    texts = [HELPERS[name] for name in helpers] + functions
    imports = ["import numpy as np", "from numba import njit"]
    if any("math." in text for text in texts):
        imports.insert(0, "import math\n")
    if "fma" in helpers:
        imports.append("from numba.extending import intrinsic")
    return "\n".join(imports) + "\n\n\n" + "\n\n".join(texts)


def _function(kernel: KernelOp, names: set[str], helpers: dict[str, None]) -> str:
    w = Writer(_HANDLERS, names | set(HELPERS))
    buffers = [
        w.name(value, "x" if access.data == "read" else "y")
        for value, access in zip(kernel.buffers, kernel.access.data, strict=True)
    ]
    sizes = [w.name(value, "n") for value in kernel.sizes]
    w.line('"""')
    for name, value, access in zip(buffers, kernel.buffers, kernel.access.data, strict=True):
        element = cast("MemRefType[Attribute]", value.type).element_type
        w.line(f"{name}: {element} buffer, {access.data}")
    w.line('"""')
    w.block(kernel.body.block)
    helpers.update(w.helpers)
    head = f"def {kernel.sym_name.data}({', '.join([*buffers, *sizes])}):"
    # Division by zero gives infinity or NaN, as the hardware does it.
    return "\n".join(['@njit(error_model="numpy")', head, *w.lines]) + "\n"


def compile_python(kernel: KernelOp) -> Callable[..., None]:
    """The kernel as a Python callable over numpy arrays and ints, jitted on its first call."""
    scope: dict[str, Any] = {}
    exec(compile(emit_python([kernel]), f"<{kernel.sym_name.data}>", "exec"), scope)
    function = scope[kernel.sym_name.data]

    def run(*args: np.ndarray[Any, Any] | int) -> None:
        function(*(arg if isinstance(arg, int) else _plain(arg) for arg in args))

    return run


def _plain(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array as the emitted function takes it: 1-d, narrow floats and unsigned integers by their bits."""
    flat = array.reshape(-1)
    if flat.dtype.kind == "u":
        return flat.view(f"i{flat.itemsize}")
    if flat.dtype.kind not in "bi" and flat.dtype not in (np.float32, np.float64):
        return flat.view(f"u{flat.itemsize}")
    return flat
