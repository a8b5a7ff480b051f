"""What do the ONNX reductions compute of the elements they reduce? One `Reduction` per op and type."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_to_loom.builder import reassociated
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.reductions.reducing import Pass, Reduction
from onnxloom.dialects.onnx.semantics.conversion import convert
from onnxloom.dialects.onnx.semantics.scalars import (
    Scalar,
    Scalars,
    bit_width,
    compute_type,
    is_float,
    is_unsigned,
    storage_type,
)

Unary = Callable[[Scalars, Scalar], Scalar]
Binary = Callable[[Scalars, Scalar, Scalar], Scalar]


def _same(s: Scalars, x: Scalar) -> Scalar:
    return x


def _accumulate(
    element: Attribute,
    initial: float,
    combine: Binary,
    prepare: Unary = _same,
    finish: Callable[[Scalars, Scalar, Scalar], Scalar] = lambda s, acc, count: acc,
) -> Pass:
    """`finish(fold(combine, prepare(x)))` in the type arithmetic is done in, rounded once."""
    storage = storage_type(element)
    wide = compute_type(storage)

    def done(s: Scalars, acc: Sequence[Scalar], count: Scalar, earlier: Sequence[Scalar]) -> Scalar:
        value = finish(s, acc[0], count)
        return s.float_to(value, storage) if is_float(storage) else value

    return Pass(
        [wide],
        lambda s: [s.const(initial, wide)],
        lambda s, acc, x, j, earlier: [combine(s, acc[0], prepare(s, s.widen(x)))],
        done,
    )


def _sum(s: Scalars, a: Scalar, b: Scalar) -> Scalar:
    return reassociated(s.add(a, b))


def _product(s: Scalars, a: Scalar, b: Scalar) -> Scalar:
    return reassociated(s.mul(a, b))


def count_as(s: Scalars, count: Scalar, type_: Attribute) -> Scalar:
    """A count of type index as a number of another type."""
    wide = s.emit(arith.IndexCastOp(count, i64))
    return convert(s, wide, type_, from_unsigned=False)


def _mean(unsigned: bool) -> Callable[[Scalars, Scalar, Scalar], Scalar]:
    def finish(s: Scalars, acc: Scalar, count: Scalar) -> Scalar:
        number = count_as(s, count, acc.type)
        if is_float(acc.type):
            return s.divf(acc, number)
        empty = s.cmp("eq", number, s.const(0, number.type))
        safe = s.select(empty, s.const(1, number.type), number)
        return s.emit(arith.DivUIOp(acc, safe) if unsigned else arith.DivSIOp(acc, safe))

    return finish


def _through_float(function: Unary, unsigned: bool) -> Callable[[Scalars, Scalar, Scalar], Scalar]:
    def finish(s: Scalars, acc: Scalar, count: Scalar) -> Scalar:
        if is_float(acc.type):
            return function(s, acc)
        wide = function(s, s.int_to_float(acc, f64, unsigned))
        return convert(s, wide, acc.type, from_unsigned=False, to_unsigned=unsigned)

    return finish


def _log_sum_exp(element: Attribute) -> Reduction:
    """log(sum(exp(x - max))) + max; a maximum that is infinite is subtracted as 0."""
    storage = storage_type(element)
    if not is_float(storage):
        raise Declined("ReduceLogSumExp of integers has no kernel")
    wide = compute_type(storage)
    largest = Pass(
        [wide],
        lambda s: [s.const(-math.inf, wide)],
        lambda s, acc, x, j, earlier: [s.maximum(acc[0], s.widen(x))],
        lambda s, acc, count, earlier: acc[0],
    )

    def shift(s: Scalars, top: Scalar) -> Scalar:
        finite = s.cmp("lt", s.abs(top), s.const(math.inf, wide))
        return s.select(finite, top, s.const(0.0, wide))

    def step(
        s: Scalars, acc: Sequence[Scalar], x: Scalar, j: Scalar, earlier: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        term = s.unary(xmath.ExpOp, s.sub(s.widen(x), shift(s, earlier[0])))
        return [reassociated(s.add(acc[0], term))]

    def finish(s: Scalars, acc: Sequence[Scalar], count: Scalar, earlier: Sequence[Scalar]) -> Scalar:
        total = s.add(s.unary(xmath.LogOp, acc[0]), shift(s, earlier[0]))
        return s.float_to(total, storage)

    total = Pass([wide], lambda s: [s.const(0.0, wide)], step, finish)
    return Reduction("reduce_log_sum_exp", [largest, total])


def _extreme(element: Attribute, largest: bool) -> Reduction:
    storage, unsigned = storage_type(element), is_unsigned(element)
    name = "reduce_max" if largest else "reduce_min"
    if storage == i1:
        combine: Binary = Scalars.or_ if largest else Scalars.and_
        return Reduction(name, [_accumulate(element, int(not largest), combine)])
    if is_float(storage):
        initial = -math.inf if largest else math.inf
    else:
        bits = bit_width(storage)
        low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        initial = low if largest else high
    method = Scalars.maximum if largest else Scalars.minimum
    return Reduction(name, [_accumulate(element, initial, lambda s, a, b: method(s, a, b, unsigned))])


def reduction(name: str, element: Attribute) -> Reduction:
    """The reduction of an ONNX op such as "ReduceSum" on a tensor element type."""
    unsigned = is_unsigned(element)
    log: Unary = lambda s, x: s.unary(xmath.LogOp, x)  # noqa: E731
    root: Unary = lambda s, x: s.unary(xmath.SqrtOp, x)  # noqa: E731
    square: Unary = lambda s, x: s.mul(x, x)  # noqa: E731
    absolute: Unary = lambda s, x: s.abs(x, unsigned)  # noqa: E731
    if name in ("ReduceMax", "ReduceMin"):
        return _extreme(element, name == "ReduceMax")
    if name == "ReduceLogSumExp":
        return _log_sum_exp(element)
    table: dict[str, Callable[[], Pass]] = {
        "ReduceSum": lambda: _accumulate(element, 0, _sum),
        "ReduceMean": lambda: _accumulate(element, 0, _sum, finish=_mean(unsigned)),
        "ReduceProd": lambda: _accumulate(element, 1, _product),
        "ReduceL1": lambda: _accumulate(element, 0, _sum, absolute),
        "ReduceL2": lambda: _accumulate(element, 0, _sum, square, _through_float(root, unsigned)),
        "ReduceSumSquare": lambda: _accumulate(element, 0, _sum, square),
        "ReduceLogSum": lambda: _accumulate(element, 0, _sum, finish=_through_float(log, unsigned)),
    }
    words = name.removeprefix("Reduce").lower()
    return Reduction(f"reduce_{words}", [table[name]()])


def _only(s: Scalars, acc: Sequence[Scalar], count: Scalar, earlier: Sequence[Scalar]) -> Scalar:
    """The one accumulator as it is."""
    return acc[0]


def arg_extreme(element: Attribute, largest: bool, last: bool) -> Reduction:
    """ArgMax or ArgMin: the index of the first (or last) extreme element; NaN is the most extreme.

    Two walks that compute in whole vectors: the extreme itself, then where it is.
    """
    name = "arg_max" if largest else "arg_min"
    (extreme,) = _extreme(element, largest).passes
    missing = -1 if last else 2**63 - 1
    wide = compute_type(storage_type(element))
    extreme = replace(extreme, finish=_only)

    def step(
        s: Scalars, acc: Sequence[Scalar], x: Scalar, j: Scalar, earlier: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        value = s.widen(x)
        hit = s.cmp("eq", value, earlier[0])
        if is_float(wide):
            hit = s.or_(hit, s.isnan(value))  # if there is one, it is the extreme
        place = s.select(hit, s.emit(arith.IndexCastOp(j, i64)), s.const(missing, i64))
        return [s.maximum(acc[0], place) if last else s.minimum(acc[0], place)]

    where = Pass([i64], lambda s: [s.const(missing, i64)], step, _only)
    return Reduction(name, [extreme, where])
