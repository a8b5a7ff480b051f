"""What do all ops of the ONNX standard have in common? Their origin, and errors in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TYPE_CHECKING, ClassVar, NoReturn, TypeVar

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.onnx.control_flow import verify_regions
from onnxloom.dialects.onnx.op_errors import OnnxVerifyException, sentence


class OnnxOp(IRDLOperation):
    """Base of the generated op classes."""

    if TYPE_CHECKING:
        domain: ClassVar[str]
        """Domain of the standard: "" (ai.onnx), "ai.onnx.ml", ..."""
        onnx_name: ClassVar[str]
        """Name in the standard: "Conv"."""
        since_version: ClassVar[int]
        """Opset that introduced the version of the op this class describes."""

    def verify(self, verify_nested_ops: bool = True) -> None:
        if verify_nested_ops:
            for region in self.regions:
                region.verify()
        try:
            super().verify(verify_nested_ops=False)
            if self.regions:
                verify_regions(self)
        except OnnxVerifyException:
            raise
        except VerifyException as error:
            self.emit_error("", error)

    def emit_error(self, message: str, underlying_error: Exception) -> NoReturn:
        # The stock diagnostic prints the whole module into the exception.
        raise OnnxVerifyException(sentence(self, str(underlying_error))) from None


_OpT = TypeVar("_OpT", bound=OnnxOp)


def onnx_op(*, domain: str = "", since_version: int) -> Callable[[type[_OpT]], type[_OpT]]:
    """Class decorator of the generated op classes: xDSL's, plus where the op comes from."""

    def define(cls: type[_OpT]) -> type[_OpT]:
        defined = irdl_op_definition(cls)
        defined.domain = domain
        defined.since_version = since_version
        defined.onnx_name = cls.name.removeprefix("onnx.")
        return defined

    return define


class NonDeterministic(MemoryEffect):
    """Random ops: removed when unused, never merged, never folded.

    Modelled as an allocation of the results: dead-code elimination sees no effect on others, and
    common-subexpression elimination leaves such ops alone.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results}
