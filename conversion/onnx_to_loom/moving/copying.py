"""How are elements moved without being computed with? Strided copies, shared by element width.

A copy kernel knows only how many bytes an element has: `f32`, `i32` and `ui32` tensors use the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_other_count
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_DTYPE
from onnxloom.dialects.onnx.semantics.scalars import Scalar

BLOCK = 4096
"""Elements of one dim that are a task."""

ROW_BLOCK = 1 << 15
"""Elements of one of several rows that are a task."""


def word_type(tensor_type: Attribute) -> IntegerType:
    """The integer type as wide as an element. Raises Declined for strings."""
    element = ranked(tensor_type, "an operand").element_type
    dtype = ELEMENT_TO_DTYPE.get(element)
    if dtype is None or dtype.hasobject or dtype.itemsize not in (1, 2, 4, 8, 16):
        raise Declined(f"kernels do not copy elements of type {element}")
    return IntegerType(8 * dtype.itemsize)


def gather_copy(
    builder: KernelBuilder,
    source: SSAValue,
    result_type: Attribute,
    dims: Sequence[SSAValue],
    sizes: Sequence[SSAValue],
    strides: Sequence[SSAValue],
    offset: SSAValue | None = None,
) -> SSAValue:
    """A row-major tensor read from `source` at `offset + sum(i * stride)`."""
    rank, word = len(sizes), word_type(result_type)
    k = KernelBody("copy", [word], [word], 2 * rank + (offset is not None))
    begin = k.sizes[-1] if offset is not None else k.index(0)
    _nest(k, rank, begin)
    out = builder.empty(result_type, dims)
    extra = [] if offset is None else [offset]
    return builder.launch(k, [source], [out], [*sizes, *strides, *extra])[0]


def _nest(k: KernelBody, rank: int, begin: Scalar) -> None:
    """Loops with a contiguous and a strided inner loop; the destination is contiguous.

    The loops over the first two dims are the tasks, blocks of a single one.
    """
    sizes, strides = k.sizes[:rank], k.sizes[rank : 2 * rank]
    unit = k.scalars.cmp("eq", strides[-1], k.index(1))
    outer = sizes[: min(rank - 1, 2)]
    counts = outer or [k.scalars.emit(arith.CeilDivSIOp(sizes[0], k.index(BLOCK)))]
    with k.task_nest(*counts) as position, k.branch(unit) as (contiguous, strided):
        for block, inner in ((contiguous, k.index(1)), (strided, strides[-1])):
            with k.inside(block):
                moves = [*strides[:-1], inner]
                if not outer:
                    first = k.mul(position[0], k.index(BLOCK))
                    count = k.scalars.minimum(k.sub(sizes[0], first), k.index(BLOCK))
                    _copy_row(k, count, inner, k.add(begin, k.mul(first, inner)), first)
                    continue
                base, out = begin, k.index(0)
                for size, stride, i in zip(outer, moves, position, strict=False):
                    base, out = k.add(base, k.mul(i, stride)), k.at(out, size, i)
                _copy(k, sizes, moves, len(outer), base, out)


def _copy(
    k: KernelBody, sizes: Sequence[Scalar], strides: Sequence[Scalar], depth: int, base: Scalar, out: Scalar
) -> None:
    if depth == len(sizes) - 1:
        _copy_row(k, sizes[depth], strides[depth], base, k.mul(out, sizes[depth]))
        return
    with k.loop(sizes[depth]) as i:
        _copy(k, sizes, strides, depth + 1, k.add(base, k.mul(i, strides[depth])), k.at(out, sizes[depth], i))


def _copy_row(k: KernelBody, count: Scalar, stride: Scalar, source: Scalar, target: Scalar) -> None:
    with k.loop(count, parallel=True) as j:
        k.store(k.load(k.ins[0], k.add(source, k.mul(j, stride))), k.outs[0], k.add(target, j))


def duplicate(builder: KernelBuilder, source: SSAValue) -> SSAValue:
    """A copy that a kernel may write to: the same memory where nothing else reads the source."""
    word = word_type(source.type)
    k = KernelBody("duplicate", [word], [word], 1)
    block = k.index(ROW_BLOCK)
    with k.tasks(k.scalars.emit(arith.CeilDivSIOp(k.sizes[0], block))) as part:
        first = k.mul(part, block)
        with k.loop(k.scalars.minimum(block, k.sub(k.sizes[0], first)), parallel=True) as i:
            k.store(k.load(k.ins[0], k.add(first, i)), k.outs[0], k.add(first, i))
    dims = builder.dims(source)
    out = builder.empty(source.type, dims)
    return builder.launch(k, [source], [out], [builder.multiply(dims)], inplace=[[0]])[0]


def copy_rows(
    builder: KernelBuilder,
    source: SSAValue,
    target: SSAValue,
    outer: SSAValue,
    length: SSAValue,
    source_row: tuple[SSAValue, SSAValue],
    target_row: tuple[SSAValue, SSAValue],
) -> SSAValue:
    """Copies `length` elements of each of `outer` rows; rows are (distance, begin) pairs."""
    word = word_type(source.type)
    k = KernelBody("copy_rows", [word], [word], 6)
    rows, count, in_row, in_begin, out_row, out_begin = k.sizes
    block = k.index(ROW_BLOCK)
    with k.task_nest(rows, k.scalars.emit(arith.CeilDivSIOp(count, block))) as (i, part):
        first = k.mul(part, block)
        read = k.add(k.add(k.mul(i, in_row), in_begin), first)
        write = k.add(k.add(k.mul(i, out_row), out_begin), first)
        with k.loop(k.scalars.minimum(block, k.sub(count, first)), parallel=True) as j:
            k.store(k.load(k.ins[0], k.add(read, j)), k.outs[0], k.add(write, j))
    sizes = [outer, length, *source_row, *target_row]
    return builder.launch(k, [source], [target], sizes)[0]


def scatter_copy(
    builder: KernelBuilder,
    source: SSAValue,
    target: SSAValue,
    sizes: Sequence[SSAValue],
    source_strides: Sequence[SSAValue],
    target_strides: Sequence[SSAValue],
    source_offset: SSAValue,
    target_offset: SSAValue,
) -> SSAValue:
    """Copies a strided box of `source` into one of `target`; elements outside of it stay."""
    rank, word = len(sizes), word_type(source.type)
    k = KernelBody("copy_box", [word], [word], 3 * rank + 2)
    box, reads, writes = k.sizes[:rank], k.sizes[rank : 2 * rank], k.sizes[2 * rank : 3 * rank]

    def nest(depth: int, read: Scalar, write: Scalar, inner: tuple[Scalar, Scalar]) -> None:
        last = depth == rank - 1
        steps = inner if last else (reads[depth], writes[depth])
        with k.loop(box[depth], parallel=last) as i:
            source_at, target_at = k.add(read, k.mul(i, steps[0])), k.add(write, k.mul(i, steps[1]))
            if last:
                k.store(k.load(k.ins[0], source_at), k.outs[0], target_at)
            else:
                nest(depth + 1, source_at, target_at, inner)

    one = k.index(1)
    units = [k.scalars.cmp("eq", row[-1], one) for row in (reads, writes)]
    both = k.scalars.and_(*units)
    outer = min(rank - 1, 1)
    with k.task_nest(*(box[:1] if outer else [one])) as (i,), k.branch(both) as (contiguous, strided):
        read, write = k.sizes[-2], k.sizes[-1]
        for block, inner in ((contiguous, (one, one)), (strided, (reads[-1], writes[-1]))):
            with k.inside(block):
                if outer:
                    nest(1, k.add(read, k.mul(i, reads[0])), k.add(write, k.mul(i, writes[0])), inner)
                else:
                    nest(0, read, write, inner)
    all_sizes = [*sizes, *source_strides, *target_strides, source_offset, target_offset]
    return builder.launch(k, [source], [target], all_sizes)[0]


def fill(
    builder: KernelBuilder, target: SSAValue, dims: Sequence[SSAValue], value: SSAValue | None
) -> SSAValue:
    """Sets all elements to the one element of `value`, zero bits for None."""
    if value is not None:
        refuse_other_count(builder, value, 1, "the value to fill with")
    word = word_type(target.type)
    ins = [] if value is None else [value]
    k = KernelBody("fill", [word] * len(ins), [word], 1)
    number = k.scalars.const(0, word) if value is None else k.load(k.ins[0], k.index(0))
    block = k.index(BLOCK)
    with k.tasks(k.scalars.emit(arith.CeilDivSIOp(k.sizes[0], block))) as part:
        first = k.mul(part, block)
        with k.loop(k.scalars.minimum(block, k.sub(k.sizes[0], first)), parallel=True) as i:
            k.store(number, k.outs[0], k.add(first, i))
    return builder.launch(k, ins, [target], [builder.multiply(dims)])[0]
