"""How is an op written that first looks at a whole row and then changes each of its elements?

Softmax and the normalizations: passes over the row as in a reduction, then one loop that writes. A row
is contiguous; when the axis is not the last one, blocks of columns are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.reductions.reducing import COLUMN_BLOCK, Pass
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

ROWS = 16
"""Rows of a block that are walked and written in overlap."""

Write = Callable[[Scalars, Scalar, Scalar, Sequence[Scalar], Sequence[Scalar]], Scalar]
"""(scalars, element of storage type, its index, results of the passes, parameters) -> result."""


Stage = Callable[[Scalars, Scalar, Sequence[Scalar]], Scalar]
"""(scalars, element, results of earlier passes) -> value of the result's storage type."""


@dataclass(frozen=True)
class Parameter:
    """A tensor that the written element also depends on."""

    value: SSAValue
    per_channel: bool
    """One element per channel; else one per element of a row."""


@dataclass(frozen=True)
class Normalization:
    """What is computed of a row and written to each element."""

    name: str
    passes: Sequence[Pass]
    write: Write
    staged: Stage | None = None
    """What the last pass sees instead of the element and stores in the result on its way, where `write`
    finds it; for values too dear to compute twice."""
    row_results: Sequence[int] = field(default=())
    """Passes whose result is an output of its own, one element per row."""


def normalize_rows(
    builder: KernelBuilder,
    rule: Normalization,
    source: SSAValue,
    result_type: Attribute,
    *,
    rows: SSAValue,
    channels: SSAValue,
    chunks: SSAValue,
    chunk: SSAValue,
    parameters: Sequence[Parameter] = (),
    row_outputs: Sequence[tuple[Attribute, Sequence[SSAValue]]] = (),
) -> Sequence[SSAValue]:
    """Rows of `chunks * chunk` contiguous elements.

    Row `r` and chunk `c` of it belong to channel `(r % channels) * chunks + c`. `row_outputs` are type
    and dims of the outputs that `rule.row_results` fills.
    """
    ins = [source, *(p.value for p in parameters)]
    types = [result_type, *(t for t, _ in row_outputs)]
    k = builder.kernel(rule.name, ins, types, 4)

    def _launched() -> Sequence[SSAValue]:
        outs = [builder.empty(result_type, builder.dims(source))]
        outs += [builder.empty(t, dims) for t, dims in row_outputs]
        inplace = [[0], *[[] for _ in row_outputs]] if result_type == source.type else None
        return builder.launch(k, ins, outs, [rows, channels, chunks, chunk], inplace)

    n_rows, n_channels, n_chunks, length = k.sizes
    width = k.mul(n_chunks, length)
    if rule.staged is None and len(rule.passes) > 1 and not any(p.per_channel for p in parameters):
        _write_overlapped(k, rule, len(parameters))
        return _launched()
    with k.tasks(n_rows) as row:
        base = k.mul(row, width)
        results = _passes(k, rule, width, lambda j: k.add(base, j))
        group = k.mul(k.remainder(row, n_channels), n_chunks)
        with k.loop(n_chunks) as c:
            begin = k.mul(c, length)
            hoisted = {
                i: k.load(k.ins[1 + i], k.add(group, c)) for i, p in enumerate(parameters) if p.per_channel
            }
            with k.loop(length, parallel=True) as j:
                place = k.add(begin, j)
                params = [
                    hoisted[i] if i in hoisted else k.load(k.ins[1 + i], place)
                    for i in range(len(parameters))
                ]
                _write(k, rule, k.add(base, place), place, results, params)
        for output, number in zip(k.outs[1:], rule.row_results, strict=True):
            k.store(results[number], output, row)
    return _launched()


def _write_overlapped(k: KernelBody, rule: Normalization, parameters: int) -> None:
    """Rows in blocks: while a row is written, the first walk over the next one reads it.

    Memory is read and written at the same time, and the later walks find the row in the cache. With a single
    walk there is nothing to gain by it.
    """
    s, one = k.scalars, k.index(1)
    rows, _, chunks, length = k.sizes
    width = k.mul(chunks, length)
    first_pass, *others = rule.passes
    block = k.index(ROWS)

    with k.tasks(s.emit(arith.CeilDivSIOp(rows, block))) as number:
        first = k.mul(number, block)
        last = k.sub(s.minimum(k.add(first, block), rows), one)

        def one_row(row: Scalar, found: Sequence[Scalar]) -> Sequence[Scalar]:
            base = k.mul(row, width)
            results = [first_pass.finish(s, found, width, [])]
            for step in others:
                acc = k.reduce(width, step.init(s), _step(k, step, base, results))
                results.append(step.finish(s, acc, width, results))
            for output, which in zip(k.outs[1:], rule.row_results, strict=True):
                k.store(results[which], output, row)
            # The last row of a block is walked again instead, to no purpose.
            following = _step(k, first_pass, k.mul(s.minimum(k.add(row, one), last), width), [])

            def both(j: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
                sums = following(j, acc)
                params = [k.load(k.ins[1 + i], j) for i in range(parameters)]
                _write(k, rule, k.add(base, j), j, results, params)
                return sums

            return k.reduce(width, first_pass.init(s), both, parallel=True)

        start = k.reduce(width, first_pass.init(s), _step(k, first_pass, k.mul(first, width), []))
        k.reduce(k.add(last, one), start, one_row, start=first)


def _step(
    k: KernelBody, step: Pass, base: Scalar, results: Sequence[Scalar]
) -> Callable[[Scalar, Sequence[Scalar]], Sequence[Scalar]]:
    """What a pass does with one element of the row that begins at `base`."""
    earlier = list(results)
    return lambda j, acc: step.step(k.scalars, acc, k.load(k.ins[0], k.add(base, j)), j, earlier)


def normalize_axis(
    builder: KernelBuilder,
    rule: Normalization,
    source: SSAValue,
    result_type: Attribute,
    axis: int,
) -> SSAValue:
    """Rows along any axis, without parameters."""
    dims = builder.dims(source)
    outer = builder.multiply(dims[:axis])
    inner = builder.multiply(dims[axis + 1 :])
    one = builder.index(1)
    if inner is one:
        return normalize_rows(
            builder, rule, source, result_type, rows=outer, channels=one, chunks=one, chunk=dims[axis]
        )[0]
    return _normalize_columns(builder, rule, source, result_type, (outer, dims[axis], inner))


def _normalize_columns(
    builder: KernelBuilder,
    rule: Normalization,
    source: SSAValue,
    result_type: Attribute,
    sizes: tuple[SSAValue, SSAValue, SSAValue],
) -> SSAValue:
    """The middle dim of a row-major (outer, length, columns) tensor: a block of columns at once.

    What is known of each column waits in scratch memory, so that the inner loops run along memory.
    """
    k = builder.kernel(f"{rule.name}_columns", [source], [result_type], 3)
    outer, length, columns = k.sizes
    block = k.index(COLUMN_BLOCK)
    sums = [[k.scratch(t, COLUMN_BLOCK) for t in p.types] for p in rule.passes]
    results: list[SSAValue] = []
    blocks = k.scalars.emit(arith.DivUIOp(k.add(columns, k.index(COLUMN_BLOCK - 1)), block))
    with k.task_nest(outer, blocks) as (o, b):
        begin = k.mul(b, block)
        width = k.scalars.minimum(k.sub(columns, begin), block)

        def row(r: Scalar) -> Scalar:
            return k.add(k.mul(k.at(o, length, r), columns), begin)

        for p, step in enumerate(rule.passes):
            staged = rule.staged if p == len(rule.passes) - 1 else None
            with k.loop(width, parallel=True) as j:
                for value, buffer in zip(step.init(k.scalars), sums[p], strict=True):
                    k.store(value, buffer, j)
            with k.loop(length) as r:
                place = row(r)
                with k.loop(width, parallel=True) as j:
                    earlier = [k.load(buffer, j) for buffer in results]
                    element = k.load(k.ins[0], k.add(place, j))
                    if staged is not None:
                        element = staged(k.scalars, element, earlier)
                        k.store(element, k.outs[0], k.add(place, j))
                    acc = [k.load(buffer, j) for buffer in sums[p]]
                    for value, buffer in zip(
                        step.step(k.scalars, acc, element, r, earlier), sums[p], strict=True
                    ):
                        k.store(value, buffer, j)
            with k.loop(width, parallel=True) as j:
                earlier = [k.load(buffer, j) for buffer in results]
                acc = [k.load(buffer, j) for buffer in sums[p]]
                value = step.finish(k.scalars, acc, length, earlier)
                found = k.scratch(value.type, COLUMN_BLOCK)
                k.store(value, found, j)
            results.append(found)
        with k.loop(length) as r:
            place = row(r)
            with k.loop(width, parallel=True) as j:
                earlier = [k.load(buffer, j) for buffer in results]
                _write(k, rule, k.add(place, j), r, earlier, [])
    return builder.launch(k, [source], [builder.empty(result_type, builder.dims(source))], sizes)[0]


def _passes(
    k: KernelBody, rule: Normalization, length: Scalar, at: Callable[[Scalar], Scalar]
) -> Sequence[Scalar]:
    results: list[Scalar] = []
    for p, step in enumerate(rule.passes):
        staged = rule.staged if p == len(rule.passes) - 1 else None

        def body(
            j: Scalar, acc: Sequence[Scalar], step: Pass = step, staged: Stage | None = staged
        ) -> Sequence[Scalar]:
            place = at(j)
            element = k.load(k.ins[0], place)
            if staged is not None:
                element = staged(k.scalars, element, results)
                k.store(element, k.outs[0], place)
            return step.step(k.scalars, acc, element, j, results)

        acc = k.reduce(length, step.init(k.scalars), body, parallel=staged is not None)
        results.append(step.finish(k.scalars, acc, length, results))
    return results


def _write(
    k: KernelBody,
    rule: Normalization,
    offset: Scalar,
    index: Scalar,
    results: Sequence[Scalar],
    params: Sequence[Scalar],
) -> None:
    source = k.ins[0] if rule.staged is None else k.outs[0]
    value = rule.write(k.scalars, k.load(source, offset), index, results, params)
    k.store(value, k.outs[0], offset)
