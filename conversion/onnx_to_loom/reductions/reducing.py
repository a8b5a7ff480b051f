"""How is a reduction written as a kernel? Three loop nests, one description of what is reduced.

- rows: kept dims outside, reduced dims inside; the innermost reduced loop is contiguous
- columns: the last dim is kept; blocks of it accumulate in scratch memory, so that the inner loop runs
  along memory
- strided: any axes, also ones known only at plan time
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

COLUMN_BLOCK = 256
"""Columns that accumulate at once in scratch memory: 1 KiB of f32, well inside the first cache."""


@dataclass(frozen=True)
class Pass:
    """One walk over the reduced elements; a later pass may read the results of earlier ones."""

    types: Sequence[Attribute]
    """Types of the accumulators."""
    init: Callable[[Scalars], Sequence[Scalar]]
    step: Callable[[Scalars, Sequence[Scalar], Scalar, Scalar, Sequence[Scalar]], Sequence[Scalar]]
    """(scalars, accumulators, element of storage type, its index among the reduced, earlier results)."""
    finish: Callable[[Scalars, Sequence[Scalar], Scalar, Sequence[Scalar]], Scalar]
    """(scalars, accumulators, number of reduced elements as index, earlier results) -> result."""


@dataclass(frozen=True)
class Reduction:
    """What is computed of the reduced elements; the result is the last pass's."""

    name: str
    passes: Sequence[Pass]


@dataclass
class _Axes:
    """A group of loops: sizes and strides of the source; `unit` if the innermost stride is 1."""

    sizes: Sequence[Scalar]
    strides: Sequence[Scalar]


def row_reduction(
    builder: KernelBuilder,
    reduction: Reduction,
    source: SSAValue,
    result_type: Attribute,
    dims: Sequence[SSAValue],
    kept: tuple[Sequence[SSAValue], Sequence[SSAValue]],
    reduced: tuple[Sequence[SSAValue], Sequence[SSAValue]],
    unit: bool,
) -> SSAValue:
    """Kept loops outside, reduced loops inside; `unit` says that the innermost stride is 1."""
    a, b = len(kept[0]), len(reduced[0])
    k = builder.kernel(reduction.name, [source], [result_type], 2 * (a + b))
    groups = [k.sizes[:a], k.sizes[a : 2 * a], k.sizes[2 * a : 2 * a + b], k.sizes[2 * a + b :]]
    outer, inner = _Axes(groups[0], groups[1]), _Axes(groups[2], groups[3])
    if unit:
        inner.strides = [*inner.strides[:-1], k.index(1)]
    count = _product(k, inner.sizes)

    def cell(base: Scalar, out: Scalar) -> None:
        results: list[Scalar] = []
        for step in reduction.passes:
            acc = _reduce(k, inner, 0, base, k.index(0), step.init(k.scalars), step, results)
            results.append(step.finish(k.scalars, acc, count, results))
        k.store(results[-1], k.outs[0], out)

    first = min(a, 2)
    with k.task_nest(*(outer.sizes[:first] or [k.index(1)])) as position:
        base, out = k.index(0), k.index(0)
        for size, stride, i in zip(outer.sizes, outer.strides, position, strict=False):
            base, out = k.add(base, k.mul(i, stride)), k.at(out, size, i)
        _kept_loops(k, outer, first, base, out, cell)
    (result,) = builder.launch(
        k, [source], [builder.empty(result_type, dims)], [*kept[0], *kept[1], *reduced[0], *reduced[1]]
    )
    return result


def _product(k: KernelBody, sizes: Sequence[Scalar]) -> Scalar:
    result = k.index(1)
    for size in sizes:
        result = k.mul(result, size)
    return result


def _kept_loops(
    k: KernelBody,
    axes: _Axes,
    depth: int,
    base: Scalar,
    out: Scalar,
    cell: Callable[[Scalar, Scalar], None],
) -> None:
    if depth == len(axes.sizes):
        cell(base, out)
        return
    with k.loop(axes.sizes[depth]) as i:
        inner_base = k.add(base, k.mul(i, axes.strides[depth]))
        _kept_loops(k, axes, depth + 1, inner_base, k.at(out, axes.sizes[depth], i), cell)


def _reduce(
    k: KernelBody,
    axes: _Axes,
    depth: int,
    base: Scalar,
    index: Scalar,
    acc: Sequence[Scalar],
    step: Pass,
    earlier: Sequence[Scalar],
) -> Sequence[Scalar]:
    size, stride = axes.sizes[depth], axes.strides[depth]

    def body(j: Scalar, carried: Sequence[Scalar]) -> Sequence[Scalar]:
        offset, place = k.add(base, k.mul(j, stride)), k.at(index, size, j)
        if depth == len(axes.sizes) - 1:
            return step.step(k.scalars, carried, k.load(k.ins[0], offset), place, earlier)
        return _reduce(k, axes, depth + 1, offset, place, carried, step, earlier)

    return k.reduce(size, acc, body)


def column_reduction(
    builder: KernelBuilder,
    reduction: Reduction,
    source: SSAValue,
    result_type: Attribute,
    dims: Sequence[SSAValue],
    sizes: tuple[SSAValue, SSAValue, SSAValue],
) -> SSAValue:
    """A row-major (outer, reduced, columns) tensor reduced over its middle dim."""
    k = builder.kernel(f"{reduction.name}_columns", [source], [result_type], 3)
    outer, reduced, columns = k.sizes
    block = k.index(COLUMN_BLOCK)
    scratch = [[k.scratch(t, COLUMN_BLOCK) for t in p.types] for p in reduction.passes]
    kept = [k.scratch(_result_of(p), COLUMN_BLOCK) for p in reduction.passes[:-1]]
    blocks = k.scalars.emit(arith.DivUIOp(k.add(columns, k.index(COLUMN_BLOCK - 1)), block))
    with k.task_nest(outer, blocks) as (o, b):
        begin = k.mul(b, block)
        width = k.scalars.minimum(k.sub(columns, begin), block)
        for p, step in enumerate(reduction.passes):
            with k.loop(width, parallel=True) as j:
                for value, buffer in zip(step.init(k.scalars), scratch[p], strict=True):
                    k.store(value, buffer, j)
            with k.loop(reduced) as r:
                row = k.add(k.mul(k.at(o, reduced, r), columns), begin)
                with k.loop(width, parallel=True) as j:
                    earlier = [k.load(buffer, j) for buffer in kept[:p]]
                    acc = [k.load(buffer, j) for buffer in scratch[p]]
                    element = k.load(k.ins[0], k.add(row, j))
                    for value, buffer in zip(
                        step.step(k.scalars, acc, element, r, earlier), scratch[p], strict=True
                    ):
                        k.store(value, buffer, j)
            last = p == len(reduction.passes) - 1
            target_row = k.add(k.mul(o, columns), begin)
            with k.loop(width, parallel=True) as j:
                earlier = [k.load(buffer, j) for buffer in kept[:p]]
                acc = [k.load(buffer, j) for buffer in scratch[p]]
                value = step.finish(k.scalars, acc, reduced, earlier)
                if last:
                    k.store(value, k.outs[0], k.add(target_row, j))
                else:
                    k.store(value, kept[p], j)
    (result,) = builder.launch(k, [source], [builder.empty(result_type, dims)], sizes)
    return result


def _result_of(step: Pass) -> Attribute:
    # Every pass but the last hands on a value of its first accumulator's type.
    return step.types[0]


def grouped(axes: set[int], static: Sequence[int | None]) -> list[tuple[bool, list[int]]]:
    """Runs of dims that are all reduced or all kept; dims known to be 1 are left out."""
    groups: list[tuple[bool, list[int]]] = []
    for d, size in enumerate(static):
        if size == 1:
            continue
        if groups and groups[-1][0] == (d in axes):
            groups[-1][1].append(d)
        else:
            groups.append((d in axes, [d]))
    return groups


def reduce_axes(
    builder: KernelBuilder,
    reduction: Reduction,
    source: SSAValue,
    axes: set[int],
    result_type: Attribute,
    dims: Sequence[SSAValue],
) -> SSAValue:
    """Reduces over axes known here; picks the loop nest."""
    from onnxloom.conversion.onnx_to_loom.builder import index_value

    sizes = builder.dims(source)
    groups = grouped(axes, [index_value(s) for s in sizes])
    products = [(reduced, builder.multiply([sizes[d] for d in members])) for reduced, members in groups]
    one = builder.index(1)
    pattern = "".join("R" if reduced else "K" for reduced, _ in products)
    if pattern in ("RK", "KRK"):
        outer = products[0][1] if pattern == "KRK" else one
        middle, columns = products[-2][1], products[-1][1]
        return column_reduction(builder, reduction, source, result_type, dims, (outer, middle, columns))
    strides: list[SSAValue] = [one] * len(products)
    for i in range(len(products) - 2, -1, -1):
        strides[i] = builder.multiply([strides[i + 1], products[i + 1][1]])
    parts: dict[bool, tuple[list[SSAValue], list[SSAValue]]] = {False: ([], []), True: ([], [])}
    for (reduced, size), stride in zip(products, strides, strict=True):
        parts[reduced][0].append(size)
        parts[reduced][1].append(stride)
    if not parts[True][0]:
        parts[True] = ([one], [one])
    unit = pattern.endswith("R")
    return row_reduction(builder, reduction, source, result_type, dims, parts[False], parts[True], unit)
