"""How does a program refuse values it was given? `loom.check` looks at a status that should be 0."""

from __future__ import annotations

from string import Formatter

from xdsl.dialects.builtin import IndexType, StringAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, irdl_op_definition, operand_def, prop_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from onnxloom.dialects.loom.program import LaunchOp


@irdl_op_definition
class CheckOp(IRDLOperation):
    """Ends the run with an error unless the status is 0.

    A status is a `tensor<Nxi64>` that a launch fills: its first word is 0 if all is well, the others are
    free for details. It is looked at once the stretch of launches around it has run, before anything
    else sees a result; the launches that follow run, so a kernel that reports a value must be safe on it.
    A status of type `index` is looked at when the plan is made.

    `message` says what is wrong; `{0}`, `{1}`, ... in it are the words of the status.
    """

    name = "loom.check"
    message = prop_def(StringAttr)
    status = operand_def(AnyAttr())

    def __init__(self, status: SSAValue, message: str):
        super().__init__(operands=[status], properties={"message": StringAttr(message)})

    def verify_(self) -> None:
        words = self._words()
        if isinstance(self.status.type, TensorType):
            self._verify_place()
        try:
            fields = [name for _, name, _, _ in Formatter().parse(self.message.data) if name is not None]
        except ValueError as error:
            raise VerifyException(f"loom.check: the message is malformed: {error}") from None
        for field in fields:
            if not field.isdecimal() or int(field) >= words:
                raise VerifyException(f"loom.check: the message reads {{{field}}} of {words} status words")

    def _words(self) -> int:
        type_ = self.status.type
        if isinstance(type_, IndexType):
            return 1
        if isa(type_, TensorType[Attribute]) and type_.element_type == i64:
            shape = type_.get_shape()
            if len(shape) == 1 and shape[0] > 0:
                return shape[0]
        raise VerifyException(f"loom.check: a status is an index or a tensor<Nxi64>, not {type_}")

    def _verify_place(self) -> None:
        # Nothing between the two can end the stretch, so the status never outlives it.
        before = self.prev_op
        while isinstance(before, CheckOp):
            before = before.prev_op
        if before is not self.status.owner or not isinstance(before, LaunchOp):
            raise VerifyException("loom.check: the op before it must be the launch that fills the status")
        if len(list(self.status.uses)) != 1:
            raise VerifyException("loom.check: nothing else may read the status")
