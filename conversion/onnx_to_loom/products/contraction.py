"""How are tensors with labelled dims multiplied and summed? Where dims are summed, by one matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    index_value,
    program_constant,
    ranked,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.moving.copying import gather_copy
from onnxloom.conversion.onnx_to_loom.moving.transposing import transposed
from onnxloom.conversion.onnx_to_loom.products.einsum_equation import Labels
from onnxloom.conversion.onnx_to_loom.products.gemm import Product, build_gemm
from onnxloom.conversion.onnx_to_loom.reductions.reducing import reduce_axes
from onnxloom.conversion.onnx_to_loom.reductions.reductions import reduction
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, compute_type, is_float

_UNKNOWN_DIM = 64
"""What a dim that is not known counts where two orders of work are compared."""


@dataclass(frozen=True)
class Term:
    """A program-level tensor with a label for each of its dims, all different."""

    value: SSAValue
    labels: Labels

    def element(self) -> Attribute:
        """The element type."""
        return ranked(self.value.type, "an operand").element_type

    def dims(self, builder: KernelBuilder, labels: Sequence[str]) -> list[SSAValue]:
        """The sizes of some of its dims."""
        return [builder.dim(self.value, self.labels.index(label)) for label in labels]


def tensor_type(element: Attribute, dims: Sequence[SSAValue]) -> TensorType[Attribute]:
    """The type of a tensor with these sizes."""
    return TensorType(element, [DYNAMIC_INDEX if (v := index_value(d)) is None else v for d in dims])


def without_repeats(builder: KernelBuilder, value: SSAValue, labels: Labels) -> Term:
    """A term of a tensor whose labels may stand several times: the diagonal is taken."""
    once = tuple(dict.fromkeys(labels))
    if len(once) == len(labels):
        return Term(value, labels)
    dims = builder.dims(value)
    sizes = [dims[labels.index(label)] for label in once]
    strides: list[SSAValue] = []
    for label in once:
        steps = [builder.multiply(dims[axis + 1 :]) for axis, x in enumerate(labels) if x == label]
        total = steps[0]
        for step in steps[1:]:
            total = builder.insert(arith.AddiOp(total, step)).results[0]
        strides.append(total)
    for axis, label in enumerate(labels):
        message = f"dims {labels.index(label)} and {axis}, both labelled {label!r}, differ"
        refuse_where(builder, dims[axis], "ne", sizes[once.index(label)], message)
    type_ = tensor_type(ranked(value.type, "an operand").element_type, sizes)
    return Term(gather_copy(builder, value, type_, sizes, sizes, strides), once)


def ordered(builder: KernelBuilder, term: Term, labels: Labels) -> Term:
    """The term with its dims in another order; constants are moved at compile time."""
    if labels == term.labels:
        return term
    perm = [term.labels.index(label) for label in labels]
    array = program_constant(term.value)
    if array is not None:
        return Term(builder.constant(np.ascontiguousarray(array.transpose(perm))), labels)
    return Term(transposed(builder, term.value, perm), labels)


def summed(builder: KernelBuilder, term: Term, keep: set[str]) -> Term:
    """The term without the labels that are not in `keep`: they are summed over."""
    axes = {axis for axis, label in enumerate(term.labels) if label not in keep}
    if not axes:
        return term
    labels = tuple(label for label in term.labels if label in keep)
    dims = term.dims(builder, labels)
    rule = reduction("ReduceSum", term.element())
    type_ = tensor_type(term.element(), dims)
    return Term(reduce_axes(builder, rule, term.value, axes, type_, dims), labels)


def aligned(builder: KernelBuilder, term: Term, labels: Labels) -> SSAValue:
    """The tensor with a dim for each label, 1 where it has none."""
    own = tuple(label for label in labels if label in term.labels)
    term = ordered(builder, term, own)
    if own == labels:
        return term.value
    one = builder.index(1)
    dims = [term.dims(builder, [label])[0] if label in own else one for label in labels]
    return builder.view(term.value, dims)


def multiplied(builder: KernelBuilder, terms: Sequence[Term], labels: Labels, element: Attribute) -> Term:
    """The product of elements at equal labels, broadcast; `element` is the type it is rounded to."""
    values = [aligned(builder, term, labels) for term in terms]
    shape: list[int] = []
    for dims in zip(*(shape_of(v) for v in values), strict=True):
        known = [d for d in dims if d not in (1, DYNAMIC_INDEX)]
        shape.append(known[0] if known else DYNAMIC_INDEX if DYNAMIC_INDEX in dims else 1)

    def product(s: Scalars, x: Sequence[Scalar]) -> Sequence[Scalar]:
        total = s.widen(x[0])
        for factor in x[1:]:
            total = s.mul(total, s.widen(factor))
        return [s.float_to(total, element) if is_float(total.type) else total]

    return Term(builder.map("einsum_product", values, [TensorType(element, shape)], product)[0], labels)


def summed_products(builder: KernelBuilder, terms: Sequence[Term], kept: Labels, summed_over: Labels) -> Term:
    """All products of elements, whatever dims are 1, then their sums; rounded once."""
    element = terms[0].element()
    wide = compute_type(element)
    term = summed(builder, multiplied(builder, terms, (*kept, *summed_over), wide), {*kept})
    if wide == element:
        return term
    type_ = TensorType(element, shape_of(term.value))
    rounded = builder.map("einsum_round", [term.value], [type_], lambda s, x: [s.float_to(x[0], element)])
    return Term(rounded[0], term.labels)


def work(terms: Sequence[Term]) -> int:
    """How many products of elements a contraction of these terms takes."""
    sizes: dict[str, int] = {}
    for term in terms:
        for label, dim in zip(term.labels, shape_of(term.value), strict=True):
            sizes[label] = max(sizes.get(label, 1), _UNKNOWN_DIM if dim == DYNAMIC_INDEX else dim)
    return math.prod(sizes.values())


def contracted(builder: KernelBuilder, a: Term, b: Term, wanted: Labels, keep: set[str]) -> Term:
    """The product of two terms, summed over the labels of both that are not in `keep`.

    Labels of one term only are kept. If possible, the dims of the result are in the order `wanted`.
    """
    both = [label for label in a.labels if label in b.labels]
    depth = tuple(label for label in both if label not in keep)
    left, right = (tuple(x for x in t.labels if x not in both) for t in (a, b))
    rank = {label: place for place, label in enumerate(wanted)}

    def arranged(labels: Sequence[str]) -> Labels:
        return tuple(sorted(labels, key=lambda label: rank.get(label, len(rank))))

    if not depth:
        return multiplied(builder, [a, b], arranged([*both, *left, *right]), a.element())
    batch, left, right = arranged([x for x in both if x in keep]), arranged(left), arranged(right)
    if not left and not right:
        # One sum per batch is no matrix: rows are multiplied, then reduced in whole vectors.
        return summed_products(builder, [a, b], batch, depth)
    if wanted and wanted[-1] in left:
        a, b, left, right = b, a, right, left
    lhs, trans_lhs = _factor(builder, a, batch, left, depth)
    rhs, trans_rhs = _factor(builder, b, batch, right, depth)
    trans_rhs = not trans_rhs
    dims = [*a.dims(builder, batch), *a.dims(builder, left), *b.dims(builder, right)]
    merged = [builder.multiply(a.dims(builder, batch))] if batch else []
    merged += [builder.multiply(t.dims(builder, x)) for t, x in ((a, left), (b, right))]
    type_ = tensor_type(a.element(), merged)
    product = Product(lhs, rhs, type_, trans_lhs=trans_lhs, trans_rhs=trans_rhs)
    made = builder.view(build_gemm(builder, "einsum", product), dims, tensor_type(a.element(), dims))
    return Term(made, (*batch, *left, *right))


def _factor(
    builder: KernelBuilder, term: Term, batch: Labels, rows: Labels, depth: Labels
) -> tuple[SSAValue, bool]:
    """A term as a matrix for each batch, and whether the summed labels come before its rows.

    A product reads either order at about the same speed: the one is taken that takes no copy, or else one
    that keeps elements which are next to each other so.
    """
    before, after = (*batch, *depth, *rows), (*batch, *rows, *depth)
    first = term.labels == before or (term.labels != after and bool(rows) and term.labels[-1] == rows[-1])
    moved = ordered(builder, term, before if first else after)
    groups = [depth, rows] if first else [rows, depth]
    sizes = [builder.multiply(moved.dims(builder, group)) for group in groups]
    if batch:
        sizes.insert(0, builder.multiply(moved.dims(builder, batch)))
    return _merged(builder, moved.value, sizes), first


def _merged(builder: KernelBuilder, value: SSAValue, sizes: Sequence[SSAValue]) -> SSAValue:
    """A view; of a constant, a constant, which a product can pack when the plan is made."""
    array = program_constant(value)
    known = [index_value(size) for size in sizes]
    if array is None or None in known:
        return builder.view(value, sizes)
    return builder.constant(array.reshape([size for size in known if size is not None]))
