"""What is a pattern made of? Expressions: values that stand for tensors, and the ops between them.

The same few classes describe what is looked for and what goes to its place. An expression object used
twice is one value read twice; two equal expressions may be one op or two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeAlias, cast

import numpy as np
from xdsl.ir import Attribute, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.op import OnnxOp
from onnxloom.transforms.rewriting.declarative.location import callers_location

Number: TypeAlias = bool | int | float
Given: TypeAlias = (
    "Tensor | Tensors | Number | Sequence[int] | Sequence[float] | np.ndarray[Any, Any] | SSAValue"
)
"""What an op of an expression may be given as an operand."""

PatternFunction: TypeAlias = "Callable[..., Tensor | tuple[Tensor, ...]]"

MadeCalls: TypeAlias = "list[OpCall]"
recorded_calls: Final[ContextVar[MadeCalls | None]] = ContextVar("onnxloom_pattern_calls", default=None)
"""Collects the ops an expression is made of while a pattern function runs."""


class Tensor:
    """Stands for one value. As the annotation of a parameter: any tensor."""

    __slots__ = ("capture_name", "is_shared", "location")

    def __init__(self) -> None:
        self.location = callers_location()
        self.capture_name: str | None = None
        self.is_shared = False

    def results(self, count: int) -> tuple[Tensor, ...]:
        """The first `count` results of the op this is the first result of."""
        raise TypeError(f"results({count}): this is not the result of an op")

    def __add__(self, other: Given | None) -> Tensor:
        return _combined(onnx.AddOp, self, other)

    def __radd__(self, other: Given | None) -> Tensor:
        return _combined(onnx.AddOp, other, self)

    def __sub__(self, other: Given | None) -> Tensor:
        return _combined(onnx.SubOp, self, other)

    def __rsub__(self, other: Given | None) -> Tensor:
        return _combined(onnx.SubOp, other, self)

    def __mul__(self, other: Given | None) -> Tensor:
        return _combined(onnx.MulOp, self, other)

    def __rmul__(self, other: Given | None) -> Tensor:
        return _combined(onnx.MulOp, other, self)

    def __truediv__(self, other: Given | None) -> Tensor:
        return _combined(onnx.DivOp, self, other)

    def __rtruediv__(self, other: Given | None) -> Tensor:
        return _combined(onnx.DivOp, other, self)

    def __neg__(self) -> Tensor:
        return _combined(onnx.NegOp, self)

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value: it stands for tensors that are not known yet")


class Constant(Tensor):
    """Annotation of a parameter: a tensor whose value is known."""

    __slots__ = ()


class Scalar(Constant):
    """Annotation of a parameter: one known number, of a rank that does not raise that of the result."""

    __slots__ = ()


class Ints(Constant):
    """Annotation of a parameter: known integers, in a list or alone."""

    __slots__ = ()


class Tensors:
    """Annotation of a parameter: all remaining operands of an op that takes any number of them."""

    __slots__ = ()


class Parameter(Tensor):
    """A boundary input of a pattern."""

    __slots__ = ("accepts", "may_be_absent", "name")

    def __init__(self, name: str, accepts: type[Tensor | Tensors], may_be_absent: bool) -> None:
        super().__init__()
        self.name = name
        self.accepts = accepts
        self.may_be_absent = may_be_absent

    @property
    def is_rest(self) -> bool:
        return self.accepts is Tensors

    def __str__(self) -> str:
        return self.name


class Literal(Tensor):
    """A number or an array written in an expression."""

    __slots__ = ("array", "is_array")

    def __init__(self, array: np.ndarray[Any, Any], is_array: bool) -> None:
        super().__init__()
        self.array = array
        self.is_array = is_array
        """Whether it was given as an array: its element type is meant, not just its value."""

    def __str__(self) -> str:
        return str(self.array.tolist())


class Choice(Tensor):
    """Any of several expressions."""

    __slots__ = ("options",)

    def __init__(self, options: tuple[Tensor, ...]) -> None:
        super().__init__()
        self.options = options

    def __str__(self) -> str:
        return " or ".join(str(option) for option in self.options)


class Bound(Tensor):
    """A value of the IR in an expression that is to be built."""

    __slots__ = ("value",)

    def __init__(self, value: SSAValue) -> None:
        super().__init__()
        self.value = value


class OpCall:
    """One op of an expression."""

    __slots__ = ("attributes", "foreign", "location", "op_class", "operands", "result_count", "result_types")

    def __init__(
        self,
        op_class: type[OnnxOp],
        operands: tuple[Tensor | None, ...],
        attributes: Mapping[str, Any],
        foreign: tuple[str, str] | None = None,
        result_types: Sequence[Attribute] | None = None,
    ) -> None:
        self.op_class = op_class
        self.operands = operands
        self.attributes = attributes
        self.foreign = foreign
        """Domain and name of an op that is not of the standard."""

        self.result_count = 1 if result_types is None else len(result_types)
        self.result_types = result_types
        self.location = callers_location()
        made = recorded_calls.get()
        if made is not None:
            made.append(self)

    def __str__(self) -> str:
        return self.op_class.name if self.foreign is None else ":".join(self.foreign)


class Result(Tensor):
    """A result of an op."""

    __slots__ = ("index", "op")

    def __init__(self, op: OpCall, index: int) -> None:
        super().__init__()
        self.op = op
        self.index = index

    def results(self, count: int) -> tuple[Tensor, ...]:
        if self.index:
            raise TypeError(
                f"results({count}): ask the first result of op.{self.op.op_class.onnx_name} for it"
            )
        self.op.result_count = count
        return (self, *(Result(self.op, index) for index in range(1, count)))

    def __str__(self) -> str:
        return str(self.op)


def _combined(op_class: type[OnnxOp], *operands: Given | None) -> Result:
    """What an operator of Python makes. A parameter that may be left out is fine, nothing at all is not."""
    if any(operand is None for operand in operands):
        raise TypeError(f"op.{op_class.onnx_name} is given None as an operand")
    return Result(OpCall(op_class, as_operands(operands), {}), 0)


def as_operands(given: Sequence[Given | None]) -> tuple[Tensor | None, ...]:
    """Operands as expressions; a tuple of expressions is spread, as for an op of any number of operands."""
    found: list[Tensor | None] = []
    for operand in given:
        if isinstance(operand, tuple) and operand and all(isinstance(o, Tensor) for o in operand):
            found.extend(cast(tuple[Tensor, ...], operand))
        else:
            found.append(None if operand is None else as_tensor(operand))
    return tuple(found)


def as_tensor(given: object) -> Tensor:
    """An expression for an operand; raises TypeError for what cannot be one."""
    if isinstance(given, Tensor):
        return given
    if isinstance(given, SSAValue):
        return Bound(cast(SSAValue, given))
    if isinstance(given, np.ndarray | np.generic):
        return Literal(np.asarray(cast(Any, given)), is_array=True)
    if isinstance(given, bool | int | float):
        return Literal(np.asarray(given), is_array=False)
    if isinstance(given, list | tuple):
        items = cast(Sequence[object], given)
        if items and all(isinstance(item, bool | int | float) for item in items):
            return Literal(np.asarray(items), is_array=False)
    raise TypeError(
        f"{given!r} is no operand; expected an expression, a number, a list of numbers, an array, or None"
    )
