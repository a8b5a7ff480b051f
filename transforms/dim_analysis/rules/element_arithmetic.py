"""Elements of ops that compute: arithmetic, comparison and reduction of small integers (and a few floats)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.dtypes import dtype_of_element, element_of_proto
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.dim_ops import (
    ceil_div,
    floor_div,
    maximum,
    minimum,
    modulo,
    positive_part,
)
from onnxloom.transforms.dim_analysis.facts import Element, ElementRule, Elements, Ratio, object_array
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.reduction import reduced_axes

Binary = Callable[[Element, Element], Element]
Unary = Callable[[Element], Element]

_MAX_DENOMINATOR: Final = 1 << 16


def _add(left: Element, right: Element) -> Element:
    return _combined(left, right, lambda a, b: a + b, lambda a, b: a + b)


def _sub(left: Element, right: Element) -> Element:
    return _combined(left, right, lambda a, b: a - b, lambda a, b: a - b)


def _mul(left: Element, right: Element) -> Element:
    if isinstance(left, DimExpr) and isinstance(right, DimExpr):
        return left * right
    if isinstance(left, float) and isinstance(right, float):
        return left * right
    first, second = _ratio(left), _ratio(right)
    if first is None or second is None:
        return None
    return _small(Ratio(first.numerator * second.numerator, first.denominator * second.denominator))


def _combined(
    left: Element,
    right: Element,
    of_ints: Callable[[DimExpr, DimExpr], DimExpr],
    of_floats: Callable[[float, float], float],
) -> Element:
    """A sum or difference."""
    if isinstance(left, DimExpr) and isinstance(right, DimExpr):
        return of_ints(left, right)
    if isinstance(left, float) and isinstance(right, float):
        return of_floats(left, right)
    first, second = _ratio(left), _ratio(right)
    if first is None or second is None:
        return None
    denominator = max(first.denominator, second.denominator)
    scaled = [r.numerator * (denominator // r.denominator) for r in (first, second)]
    return _small(Ratio(of_ints(scaled[0], scaled[1]), denominator))


def _ratio(element: Element) -> Ratio | None:
    """A float element as a ratio with a power of two below; None when it is not known or not such."""
    if isinstance(element, float) and math.isfinite(element):
        numerator, denominator = element.as_integer_ratio()
        element = Ratio(DimExpr.of(numerator), denominator)
    if not isinstance(element, Ratio) or element.denominator & (element.denominator - 1):
        return None
    return element


def _small(ratio: Ratio) -> Ratio | None:
    return ratio if ratio.denominator <= _MAX_DENOMINATOR else None


def _div(left: Element, right: Element) -> Element:
    if isinstance(left, DimExpr) and isinstance(right, DimExpr):
        return _truncating_div(left, right)
    if isinstance(right, float) and right != 0.0:
        if isinstance(left, float):
            return left / right
        ratio = _ratio(left)
        if ratio is not None and right.is_integer() and 0 < right < 1024:
            return _small(Ratio(ratio.numerator, ratio.denominator * int(right)))
    return None


def _truncating_div(left: DimExpr, right: DimExpr) -> DimExpr | None:
    """Integer division rounds towards zero."""
    low, _ = right.bounds()
    if right.constant == 0 or low is None or low < 0:
        negated = right.constant
        return None if negated is None or negated == 0 else _truncating_div(-left, DimExpr.of(-negated))
    if left.is_nonnegative():
        return floor_div(left, right)
    positive = positive_part(left)
    return floor_div(positive, right) - floor_div(positive - left, right)


def _mod(left: Element, right: Element) -> Element:
    if not isinstance(left, DimExpr) or not isinstance(right, DimExpr):
        return None
    low, _ = right.bounds()
    return modulo(left, right) if low is not None and low > 0 else None


def _fmod(left: Element, right: Element) -> Element:
    return _mod(left, right) if isinstance(left, DimExpr) and left.is_nonnegative() else None


def _max(left: Element, right: Element) -> Element:
    if isinstance(left, float) and isinstance(right, float):
        return max(left, right) if left == left and right == right else math.nan
    return maximum(left, right) if isinstance(left, DimExpr) and isinstance(right, DimExpr) else None


def _min(left: Element, right: Element) -> Element:
    if isinstance(left, float) and isinstance(right, float):
        return min(left, right) if left == left and right == right else math.nan
    return minimum(left, right) if isinstance(left, DimExpr) and isinstance(right, DimExpr) else None


def _pow(left: Element, right: Element) -> Element:
    if not isinstance(left, DimExpr) or not isinstance(right, DimExpr) or right.constant is None:
        return None
    if not 0 <= right.constant <= 8:
        return None
    return reduce(lambda product, factor: product * factor, [left] * right.constant, DimExpr.of(1))


def _sign_of_difference(left: Element, right: Element) -> tuple[int | None, int | None]:
    """Bounds of `left - right`."""
    if isinstance(left, DimExpr) and isinstance(right, DimExpr):
        return (left - right).bounds()
    if isinstance(left, bool | float) and isinstance(right, bool | float) and left == left and right == right:
        sign = (left > right) - (left < right)
        return (sign, sign)
    return (None, None)


def _equal(left: Element, right: Element) -> Element:
    low, high = _sign_of_difference(left, right)
    if low == high == 0:
        return True
    return False if (low is not None and low > 0) or (high is not None and high < 0) else None


def _greater(left: Element, right: Element) -> Element:
    low, high = _sign_of_difference(left, right)
    if low is not None and low > 0:
        return True
    return False if high is not None and high <= 0 else None


def _less(left: Element, right: Element) -> Element:
    return _greater(right, left)


def _not(element: Element) -> Element:
    return None if element is None else not element


def _greater_or_equal(left: Element, right: Element) -> Element:
    return _ordered(left, right, _not(_greater(right, left)))


def _less_or_equal(left: Element, right: Element) -> Element:
    return _ordered(left, right, _not(_greater(left, right)))


def _ordered(left: Element, right: Element, answer: Element) -> Element:
    """NaN is in no order with anything."""
    return False if left != left or right != right else answer


def _and(left: Element, right: Element) -> Element:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: Element, right: Element) -> Element:
    return _not(_and(_not(left), _not(right)))


def _xor(left: Element, right: Element) -> Element:
    return None if left is None or right is None else left != right


def _neg(element: Element) -> Element:
    if isinstance(element, Ratio):
        return Ratio(-element.numerator, element.denominator)
    return -element if isinstance(element, DimExpr | float) else None


def _abs(element: Element) -> Element:
    return maximum(element, -element) if isinstance(element, DimExpr) else None


def _floor(element: Element) -> Element:
    if isinstance(element, Ratio):
        return Ratio(floor_div(element.numerator, DimExpr.of(element.denominator)))
    return float(math.floor(element)) if isinstance(element, float) and math.isfinite(element) else None


def _ceil(element: Element) -> Element:
    if isinstance(element, Ratio):
        return Ratio(ceil_div(element.numerator, DimExpr.of(element.denominator)))
    return float(math.ceil(element)) if isinstance(element, float) and math.isfinite(element) else None


def cast_element(element: Element, source: Attribute, target: Attribute) -> Element:
    """An element of one element type as an element of another."""
    if isinstance(element, DimExpr) and element.constant is None:
        return _cast_symbolic(element, target)
    if isinstance(element, Ratio):
        kind = np.dtype(dtype_of_element(target)).kind
        return element if kind == "f" else _truncated(element) if kind in "iu" else None
    if element is None:
        return None
    number = element.constant if isinstance(element, DimExpr) else element
    if isinstance(number, float) and not (math.isfinite(number) and abs(number) < 2**53):
        return None
    value = np.array(number, dtype=dtype_of_element(source)).astype(dtype_of_element(target)).item()
    if isinstance(value, bool | float):
        return value
    return DimExpr.of(value) if isinstance(value, int) else None


def _cast_symbolic(element: DimExpr, target: Attribute) -> Element:
    dtype = np.dtype(dtype_of_element(target))
    if dtype.kind == "f":
        # Half precision holds integers up to 2048 only.
        return Ratio(element) if dtype.itemsize > 2 else None
    if dtype.kind in "iu":
        return element
    low, high = element.bounds()
    return True if (low is not None and low > 0) or (high is not None and high < 0) else None


def _truncated(ratio: Ratio) -> DimExpr | None:
    return _truncating_div(ratio.numerator, DimExpr.of(ratio.denominator))


def _cast(query: OpQuery) -> Sequence[Elements | None]:
    elements, source = query.elements(0), query.element(0)
    if elements is None or source is None:
        return [None]
    if isinstance(query.op, onnx.CastOp):
        target = element_of_proto(int_attr(query.op, "to"))
    else:
        target = query.element(1) or source
    return [_mapped(elements, lambda e: cast_element(e, source, target))]


def _mapped(elements: Elements, function: Unary) -> Elements:
    return object_array([function(e) for e in elements.reshape(-1).tolist()], elements.shape)


def _unary(function: Unary) -> ElementRule:
    def rule(query: OpQuery) -> Sequence[Elements | None]:
        elements = query.elements(0)
        return [None if elements is None else _mapped(elements, function)]

    return rule


def _folded(function: Binary) -> ElementRule:
    """Two or more operands, broadcast."""

    def rule(query: OpQuery) -> Sequence[Elements | None]:
        known: list[Elements] = []
        for index in range(len(query)):
            elements = query.elements(index)
            if elements is None:
                return [None]
            known.append(elements)
        shape, element = query.result_shapes[0], query.element(0)
        columns = [np.broadcast_to(elements, shape).reshape(-1).tolist() for elements in known]
        results = [rounded(reduce(function, row), element) for row in zip(*columns, strict=True)]
        return [object_array(results, shape)]

    return rule


def rounded(element: Element, kind: Attribute | None) -> Element:
    """A float as its element type holds it."""
    if not isinstance(element, float) or kind is None or kind == i1:
        return element
    with np.errstate(over="ignore"):
        value: Any = np.array(element).astype(dtype_of_element(kind))
    return float(value) if np.dtype(value.dtype).kind == "f" else element


def _mod_rule(query: OpQuery) -> Sequence[Elements | None]:
    return _folded(_fmod if int_attr(query.op, "fmod") else _mod)(query)


def _reduction(function: Binary, start: int | None) -> ElementRule:
    def rule(query: OpQuery) -> Sequence[Elements | None]:
        elements = query.elements(0)
        axes = None if elements is None else reduced_axes(query, elements.ndim)
        if elements is None or axes is None:
            return [None]
        if not axes:
            return [elements]
        kept = [axis for axis in range(elements.ndim) if axis not in axes]
        rows = np.transpose(elements, [*kept, *axes])
        count = int(np.prod([elements.shape[axis] for axis in kept]))
        if not elements.size and start is None:
            return [None]
        sums: list[Element] = []
        for row in rows.reshape(count, -1).tolist() if elements.size else [[]] * count:
            if row:
                sums.append(reduce(function, row))
            else:
                sums.append(DimExpr.of(start or 0))
        return [object_array(sums, query.result_shapes[0])]

    return rule


ELEMENT_RULES: Final[dict[type[Operation], ElementRule]] = {
    onnx.AddOp: _folded(_add),
    onnx.SubOp: _folded(_sub),
    onnx.MulOp: _folded(_mul),
    onnx.DivOp: _folded(_div),
    onnx.ModOp: _mod_rule,
    onnx.PowOp: _folded(_pow),
    onnx.MaxOp: _folded(_max),
    onnx.MinOp: _folded(_min),
    onnx.SumOp: _folded(_add),
    onnx.EqualOp: _folded(_equal),
    onnx.GreaterOp: _folded(_greater),
    onnx.GreaterOrEqualOp: _folded(_greater_or_equal),
    onnx.LessOp: _folded(_less),
    onnx.LessOrEqualOp: _folded(_less_or_equal),
    onnx.AndOp: _folded(_and),
    onnx.OrOp: _folded(_or),
    onnx.XorOp: _folded(_xor),
    onnx.NotOp: _unary(_not),
    onnx.NegOp: _unary(_neg),
    onnx.AbsOp: _unary(_abs),
    onnx.FloorOp: _unary(_floor),
    onnx.CeilOp: _unary(_ceil),
    onnx.CastOp: _cast,
    onnx.CastLikeOp: _cast,
    onnx.ReduceProdOp: _reduction(_mul, 1),
    onnx.ReduceSumOp: _reduction(_add, 0),
    onnx.ReduceMaxOp: _reduction(_max, None),
    onnx.ReduceMinOp: _reduction(_min, None),
}
