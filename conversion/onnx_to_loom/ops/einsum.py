"""Einsum: matrix products of transposed operands, sums, and elementwise products where nothing is summed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Block, Region, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    rank_of,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.products.contraction import (
    Term,
    contracted,
    ordered,
    summed,
    summed_products,
    without_repeats,
    work,
)
from onnxloom.conversion.onnx_to_loom.products.einsum_equation import Labels, parse_equation
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.structure import DimKey
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import str_attr
from onnxloom.dialects.onnx.semantics.scalars import (
    KERNEL_FLOATS,
    KERNEL_INT_WIDTHS,
    as_integer,
)

_WIDTHS = KERNEL_INT_WIDTHS[1:]

Condition = tuple[int, int, int, int]
"""Operand, dim, operand, dim: equal where products are computed as matrix products."""


@lowering(onnx.EinsumOp)
def lower_einsum(op: onnx.EinsumOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Matrix products where equally labelled dims are equal; where one of them is 1, it is broadcast."""
    operands = [v for v in inputs if v is not None]
    element = buffer_element(operands[0].type)
    integer = as_integer(element)
    if not isinstance(element, KERNEL_FLOATS) and (integer is None or integer.width.data not in _WIDTHS):
        raise Declined(f"Einsum of elements of type {element} has no kernel")
    equation = parse_equation(str_attr(op, "equation"), [rank_of(v) for v in operands])
    shapes = [shape_of(v) for v in operands]
    kept = [_spread(shapes, equation.inputs, i) for i in range(len(operands))]
    conditions = _conditions([builder.dim_keys(v) for v in operands], equation.inputs, kept)
    terms = [without_repeats(builder, v, row) for v, row in zip(operands, equation.inputs, strict=True)]
    terms = [_only(builder, term, labels) for term, labels in zip(terms, kept, strict=True)]
    if not conditions:
        return [_by_products(builder, terms, equation.output)]
    condition = builder.insert(loom.DimsEqualOp(operands, conditions)).results[0]
    equal, broadcast = Block(), Block()
    type_ = TensorType(terms[0].element(), [_known(terms, label) for label in equation.output])
    for block, compute in ((equal, _by_products), (broadcast, _by_broadcast)):
        inner = builder.nested(block)
        result = compute(inner, terms, equation.output)
        block.add_op(loom.YieldOp.create(operands=[inner.view(result, inner.dims(result), type_)]))
    regions = [Region(equal), Region(broadcast)]
    branches = loom.IfOp.create(operands=[condition], result_types=[type_], regions=regions)
    return [builder.insert(branches).results[0]]


def _spread(shapes: Sequence[Sequence[int]], inputs: Sequence[Labels], place: int) -> set[str]:
    """The labels along which an operand is not repeated: its dim is not 1, or all of that label are."""
    rows = zip(inputs, shapes, strict=True)
    spread = {label for row, shape in rows for label, dim in zip(row, shape, strict=True) if dim != 1}
    own = zip(inputs[place], shapes[place], strict=True)
    return {label for label, dim in own if dim != 1 or label not in spread}


def _only(builder: KernelBuilder, term: Term, labels: set[str]) -> Term:
    """A term without dims of 1."""
    rest = tuple(label for label in term.labels if label in labels)
    return term if rest == term.labels else Term(builder.view(term.value, term.dims(builder, rest)), rest)


def _conditions(
    dims: Sequence[Sequence[DimKey]], inputs: Sequence[Labels], kept: Sequence[set[str]]
) -> list[Condition]:
    """What must hold so that equally labelled dims are equal.

    Raises:
        Declined: they are known to differ.
    """
    conditions: list[Condition] = []
    first: dict[str, tuple[int, int]] = {}
    for i, row in enumerate(inputs):
        for axis, label in enumerate(row):
            if label not in kept[i] or row.index(label) != axis:
                continue
            j, other = first.setdefault(label, (i, axis))
            if dims[i][axis] == dims[j][other]:
                continue
            if isinstance(dims[i][axis], int) and isinstance(dims[j][other], int):
                raise Declined(f"dims labelled {label!r} differ")
            conditions.append((j, other, i, axis))
    return conditions


def _known(terms: Sequence[Term], label: str) -> int:
    """The size of a dim of the result as far as it is known."""
    dims = [shape_of(t.value)[t.labels.index(label)] for t in terms if label in t.labels]
    return next((d for d in dims if d not in (1, DYNAMIC_INDEX)), max(dims, key=lambda d: d == DYNAMIC_INDEX))


def _by_products(builder: KernelBuilder, terms: Sequence[Term], output: Labels) -> SSAValue:
    """The result where equally labelled dims are equal: one product of two terms after the other."""
    left = list(terms)
    while True:
        left = [summed(builder, t, {*output}.union(*(o.labels for o in left if o is not t))) for t in left]
        if len(left) == 1:
            return ordered(builder, left[0], output).value
        a, b = min(combinations(left, 2), key=work)
        rest = [t for t in left if t is not a and t is not b]
        keep = {*output}.union(*(t.labels for t in rest))
        left = [contracted(builder, a, b, () if rest else output, keep), *rest]


def _by_broadcast(builder: KernelBuilder, terms: Sequence[Term], output: Labels) -> SSAValue:
    """The result whatever dims are 1."""
    rest = tuple(dict.fromkeys(x for t in terms for x in t.labels if x not in output))
    return summed_products(builder, terms, output, rest).value
