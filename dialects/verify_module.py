"""Is a module one that passes may work on? Dominance, then the verifier of every op, then module attributes.

Dominance comes first: the rules of ops that hold bodies walk from uses to definitions, which ends only
where no value depends on itself.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from onnxloom.dialects.onnx.module_attributes import verify_module_attributes
from onnxloom.dialects.onnx.op_errors import name_of
from onnxloom.dialects.verify_dominance import DominanceError, verify_dominance
from onnxloom.errors import ModelError


class InvalidIR(ModelError):
    """A rule of the IR is broken at `op`; one sentence that names it."""

    def __init__(self, message: str, op: Operation | None) -> None:
        super().__init__(message)
        self.op = op


def verify_module(module: ModuleOp) -> None:
    """Raises InvalidIR for the first op that breaks a rule. Linear in the size of the module."""
    try:
        verify_dominance(module)
        _verify_nested_first(module)
        verify_module_attributes(module)
    except DominanceError as error:
        raise InvalidIR(str(error), error.op) from None
    except RecursionError:
        raise InvalidIR("regions or types nest too deeply", module) from None


def _verify_nested_first(op: Operation) -> None:
    """Inner ops first: the rule of an op with regions may rely on what is inside."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                _verify_nested_first(inner)
    _verify_op(op)


def _verify_op(op: Operation) -> None:
    try:
        op.verify(verify_nested_ops=False)
        for region in op.regions:
            for block in region.blocks:
                if block.first_op is None:
                    block.verify()
    except (DiagnosticException, ValueError, OverflowError) as error:
        message = " ".join(str(error).split())
        # Where the rule is one of xDSL's own, its sentence does not say which op it is about.
        raise InvalidIR(message if op.name in message else f"{name_of(op)}: {message}", op) from None
