"""How are plan-time ops evaluated without IR?

`arith` on indices and the plainest `loom` ops are functions here. Any other op is evaluated by its
IR class; results are remembered by content, so that a process that found them stored needs no xDSL.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from onnxloom.errors import ModelError
from onnxloom.lowering.plan.memo import Memo, signature
from onnxloom.lowering.plan.program import IndexStep
from onnxloom.lowering.plan.values import NeedValue, Value

Operand: TypeAlias = Value | int


def _ceildiv(a: int, b: int) -> int:
    return -(-a // b)


def _truncdiv(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a - b * _truncdiv(a, b)


def _same(a: int) -> int:
    return a


def _select(condition: int, a: int, b: int) -> int:
    return a if condition else b


ARITH: dict[str, Callable[..., int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divsi": _truncdiv,
    "arith.divui": int.__floordiv__,
    "arith.floordivsi": int.__floordiv__,
    "arith.ceildivsi": _ceildiv,
    "arith.ceildivui": _ceildiv,
    "arith.remsi": _remainder,
    "arith.remui": operator.mod,
    "arith.minsi": min,
    "arith.minui": min,
    "arith.maxsi": max,
    "arith.maxui": max,
    "arith.andi": int.__and__,
    "arith.ori": int.__or__,
    "arith.xori": int.__xor__,
    "arith.select": _select,
    "arith.index_cast": _same,
    "arith.extsi": _same,
    "arith.extui": _same,
}
"""What `arith` ops do to sizes, offsets and conditions."""

_ORDER = (operator.lt, operator.le, operator.gt, operator.ge)
COMPARE: tuple[Callable[..., bool], ...] = (operator.eq, operator.ne, *_ORDER, *_ORDER)
"""By predicate number: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge (sizes are never negative)."""


def _number(text: str) -> int:
    """The value of a printed integer attribute: `4 : i64`, `true`."""
    text = text.split(":")[0].strip()
    return {"true": 1, "false": 0}[text] if text in ("true", "false") else int(text)


def evaluate(step: IndexStep, operands: Sequence[Operand], memo: Memo) -> Sequence[int]:
    """The results of a plan-time step. Raises NeedValue, or ModelError with a readable reason."""
    try:
        if step.op.startswith("arith."):
            return [_arith(step, operands)]
        if step.op == "loom.dim":
            source = operands[0]
            assert isinstance(source, Value)
            return [source.shape[_number(step.props[0][1])]]
        key = (step.op, step.props, tuple(signature(o) for o in operands))
        found = memo.get(key)
        if found is None:
            found = [int(v) for v in _evaluate_op(step, operands)]
            memo.put(key, found)
        return found
    except (ValueError, ZeroDivisionError, IndexError, OverflowError) as error:
        raise ModelError(f"{step.origin or step.op}: {error}") from error


def _arith(step: IndexStep, operands: Sequence[Operand]) -> int:
    props = dict(step.props)
    if step.op == "arith.constant":
        return _number(props["value"])
    if step.op == "arith.cmpi":
        return int(COMPARE[_number(props["predicate"])](*operands))
    function = ARITH.get(step.op)
    if function is None:
        raise ModelError(f"{step.op} is not an op the plan filler can evaluate")
    return function(*operands)


@lru_cache(4096)
def _live_op(op: str, props: tuple[tuple[str, str], ...], results: int) -> Any:
    """An IR op with these attributes, for its `evaluate`."""
    from xdsl.dialects.builtin import IndexType
    from xdsl.parser import Parser

    from onnxloom.dialects.onnx.text import make_context

    context = make_context()
    properties = {name: Parser(context, text).parse_attribute() for name, text in props}
    op_class = context.get_op(op)
    return op_class.create(properties=properties, result_types=[IndexType()] * results)


def _evaluate_op(step: IndexStep, operands: Sequence[Operand]) -> Sequence[int]:
    from onnxloom.dialects import loom

    op = _live_op(step.op, step.props, len(step.results))
    plain = [o if isinstance(o, int) else loom.PlanTensor(o.shape, _contents(o)) for o in operands]
    try:
        return op.evaluate(plain)
    except loom.NeedValue as need:
        value = operands[need.index]
        assert isinstance(value, Value)
        raise NeedValue(value) from None


def _contents(value: Value) -> Any:
    return value.known if value.is_known and value.dtype is not None else None
