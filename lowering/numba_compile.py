"""LLVM functions -> object code, through one Numba-jitted entry.

Numba compiles one small function whose `@intrinsic` adds all given functions to the module and writes
their addresses to a table. Its pipeline (optimiser, target machine, object cache) then produces one
object for all of them, at a fraction of what inferring each function's types would cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic

from onnxloom.lowering.emit_llvm.types import I64

_OPTIONS = {
    "nopython": True,
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,
}


def compile_object(symbols: Sequence[str], add_functions: Callable[[ir.Module], None]) -> bytes:
    """Object code for this processor of the functions `add_functions` puts into a module.

    `symbols` names those the object must export.
    """

    @intrinsic
    def install(_typing: Any, _table: Any) -> Any:
        def codegen(_context: Any, builder: ir.IRBuilder, _signature: Any, args: Sequence[ir.Value]) -> Any:
            add_functions(builder.module)
            table = builder.inttoptr(args[0], I64.as_pointer())
            for i, symbol in enumerate(symbols):
                address = builder.ptrtoint(builder.module.globals[symbol], I64)
                builder.store(address, builder.gep(table, [ir.Constant(I64, i)]))
            return ir.Constant(ir.LiteralStructType([]), [])

        return types.void(types.int64), codegen

    def entry(table: Any) -> None:
        install(table)  # pyright: ignore[reportCallIssue]

    # Not `njit(entry)`: that hands back the Python function where NUMBA_DISABLE_JIT is set.
    dispatcher: Any = CPUDispatcher(entry, targetoptions=dict(_OPTIONS))
    dispatcher.compile((types.int64,))
    (compiled,) = dispatcher.overloads.values()
    _name, _kind, (data, _bitcode) = compiled.library.serialize_using_object_code()
    return bytes(data)
