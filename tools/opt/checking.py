"""Is the IR valid? The verifier of every op, then dominance; the first fault names its op."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from onnxloom.dialects.verify_dominance import verify_dominance
from onnxloom.tools.failures import one_line


class InvalidIR(Exception):
    """A rule of the IR is broken at `op`."""

    def __init__(self, message: str, op: Operation | None) -> None:
        super().__init__(message)
        self.op = op


def verify(module: ModuleOp) -> None:
    """Raises InvalidIR for the first op that breaks a rule."""
    _verify_nested_first(module)
    try:
        verify_dominance(module)
    except DiagnosticException as error:
        raise InvalidIR(one_line(error), getattr(error, "op", None)) from None


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
    except (DiagnosticException, ValueError) as error:
        message = one_line(error)
        # Where the rule is one of xDSL's own, its sentence does not say which op it is about.
        raise InvalidIR(message if op.name in message else f"{op.name}: {message}", op) from None
