"""Which function of a module does a session run?"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from onnxloom.dialects.onnx.structure import EntryPointOp
from onnxloom.errors import PassError


def entry_function(module: ModuleOp) -> FuncOp:
    """The function that the entry point names, else the only one; those without a body do not count.

    Raises:
        PassError: the entry point names none, or there is no entry point and not exactly one function.
    """
    functions = {
        op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration
    }
    for op in module.ops:
        if isinstance(op, EntryPointOp):
            name = op.func.root_reference.data
            if name not in functions:
                raise PassError(f"the entry point names no function of the module: '{name}'")
            return functions[name]
    if len(functions) != 1:
        raise PassError(
            f"the module has {len(functions)} functions and no entry point; expected one function"
        )
    return next(iter(functions.values()))
