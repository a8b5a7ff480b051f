"""How does a lowering refuse values its kernels cannot accept? Checks in the program, each with a message."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    index_value,
    program_constant,
)
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects import loom
from onnxloom.dialects.onnx.semantics.scalars import Scalar

_MESSAGE = "index {1} is out of range for a dim of {2}"


class IndexGuard:
    """Index operands of a kernel: each must lie in [-dim, dim - 1] of its dim, or not below 0 (`from_end`).

    `dims` belong to the columns of the last dim of `indices`; one dim is that of all indices. The kernel
    carries a flag through its loops, which costs next to nothing; only when it is set at the end are the
    indices searched for the first one out of range.
    """

    def __init__(
        self, builder: KernelBuilder, indices: SSAValue, dims: Sequence[SSAValue], from_end: bool = True
    ):
        self._builder = builder
        self._dims = dims
        self._depth = len(dims)
        self._from_end = from_end
        self._needed = not _constants_fit(indices, dims, from_end)
        sizes = builder.dims(indices)
        reads = builder.multiply(sizes)
        for dim in dims:
            refuse_empty(builder, dim, "an index is out of range for a dim of 0", unless=reads)

    def kernel(self, name: str, ins: Sequence[Attribute], out: Attribute, sizes: int) -> KernelBody:
        """An empty kernel with one result, and a status where one is needed."""
        return KernelBody(name, ins, [out, i64] if self._needed else [out], sizes)

    def place(self, k: KernelBody, index: Scalar, size: Scalar) -> tuple[Scalar, Scalar]:
        """An element of the indices as a place inside of a dim, and a flag (not 0: it was outside)."""
        s, zero = k.scalars, k.index(0)
        at = k.to_index(index)
        if self._from_end:
            at = s.select(s.cmp("lt", at, zero), k.add(at, size), at)
        inside = s.maximum(s.minimum(at, k.sub(size, k.index(1))), zero)
        return inside, s.emit(arith.XOrIOp(at, inside)) if self._needed else zero

    def join(self, k: KernelBody, *flags: Scalar) -> Scalar:
        """One flag for several."""
        flag = flags[0]
        for other in flags[1:] if self._needed else ():
            flag = k.scalars.or_(flag, other)
        return flag

    def report(
        self, k: KernelBody, flag: Scalar, indices: SSAValue, rows: Scalar, dims: Sequence[Scalar]
    ) -> None:
        """Ends the kernel: writes the status of `rows` rows of indices."""
        if not self._needed:
            return
        status = k.outs[-1]
        with k.branch(k.scalars.cmp("eq", flag, k.index(0))) as (fine, bad):
            with k.inside(fine):
                k.store(k.scalars.const(0, i64), status, k.index(0))
            with k.inside(bad):
                for place, word in enumerate((k.index(1), *self._first_outside(k, indices, rows, dims))):
                    k.store(k.from_index(word, i64), status, k.index(place))

    def _first_outside(
        self, k: KernelBody, indices: SSAValue, rows: Scalar, dims: Sequence[Scalar]
    ) -> tuple[Scalar, Scalar]:
        """The first index out of range and the dim it does not fit."""
        s, depth = k.scalars, k.index(self._depth)
        count = k.mul(rows, depth)

        def step(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            first = acc[0]
            for d, dim in enumerate(dims):
                at = k.at(i, depth, k.index(d))
                index = k.to_index(k.load(indices, at))
                low = s.cmp("lt", index, k.sub(k.index(0), dim) if self._from_end else k.index(0))
                first = s.minimum(first, s.select(s.or_(low, s.cmp("ge", index, dim)), at, count))
            return [first]

        (first,) = k.reduce(rows, [count], step)
        column, dim = k.remainder(first, depth), dims[0]
        for d in range(1, self._depth):
            dim = s.select(s.cmp("eq", column, k.index(d)), dims[d], dim)
        return k.to_index(k.load(indices, first)), dim

    def launch(
        self, k: KernelBody, ins: Sequence[SSAValue], out: SSAValue, sizes: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Runs the kernel and checks its status; gives the result."""
        builder = self._builder
        if not self._needed:
            return builder.launch(k, ins, [out], sizes)
        status = builder.empty(TensorType(i64, [3]), [builder.index(3)])
        result, status = builder.launch(k, ins, [out, status], sizes)
        builder.insert(loom.CheckOp(status, _MESSAGE))
        return [result]

    def check_apart(self, indices: SSAValue) -> None:
        """Checks the indices of one dim by a kernel of its own, so that the one that reads has tasks."""
        if not self._needed:
            return
        builder = self._builder
        k = KernelBody("check_indices", [buffer_element(indices.type)], [i64], 2)
        count, size = k.sizes

        def step(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            return [self.join(k, acc[0], self.place(k, k.load(k.ins[0], i), size)[1])]

        (flag,) = k.reduce(count, [k.index(0)], step)
        self.report(k, flag, k.ins[0], count, [size])
        status = builder.empty(TensorType(i64, [3]), [builder.index(3)])
        sizes = [builder.multiply(builder.dims(indices)), *self._dims]
        (status,) = builder.launch(k, [indices], [status], sizes)
        builder.insert(loom.CheckOp(status, _MESSAGE))


def _constants_fit(indices: SSAValue, dims: Sequence[SSAValue], from_end: bool) -> bool:
    constant, sizes = program_constant(indices), [index_value(d) for d in dims]
    if constant is None:
        return False
    columns = constant.reshape(-1, len(dims))
    return all(
        size is not None and (not len(column) or (-size * from_end <= column.min() and column.max() < size))
        for column, size in zip(columns.T, sizes, strict=True)
    )


def check_range(builder: KernelBuilder, values: SSAValue, high: SSAValue, what: str) -> None:
    """Refuses values, which are few, outside of [0, high]; `what` is what messages call one of them."""
    k = KernelBody("check_range", [buffer_element(values.type)], [i64], 2)
    s, (count, limit) = k.scalars, k.sizes

    def step(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
        value = k.to_index(k.load(k.ins[0], i))
        outside = s.or_(s.cmp("lt", value, k.index(0)), s.cmp("gt", value, limit))
        return [s.select(outside, k.index(1), acc[0]), s.select(outside, value, acc[1])]

    found = k.reduce(count, [k.index(0), k.index(0)], step)
    for place, word in enumerate((*found, limit)):
        k.store(k.from_index(word, i64), k.outs[0], k.index(place))
    sizes = [builder.multiply(builder.dims(values)), high]
    status = builder.empty(TensorType(i64, [3]), [builder.index(3)])
    (status,) = builder.launch(k, [values], [status], sizes)
    builder.insert(loom.CheckOp(status, f"{what} {{1}} is out of range: expected 0 to {{2}}"))


def refuse_empty(builder: KernelBuilder, dim: SSAValue, message: str, unless: SSAValue | None = None) -> None:
    """Refuses a dim of 0 when the plan is made; not where `unless`, the number of reads, is 0 too."""
    if index_value(dim):
        return
    status = _compared(builder, dim, "eq", builder.index(0))
    if unless is not None:
        status = builder.insert(arith.MuliOp(status, unless)).results[0]
    builder.insert(loom.CheckOp(status, message))


def refuse_where(builder: KernelBuilder, a: SSAValue, predicate: str, b: SSAValue, message: str) -> None:
    """Refuses sizes that compare so (`ne`, `sgt`, ...) when the plan is made."""
    known = index_value(a), index_value(b)
    if a is b or (known[0] is not None and known[0] == known[1]):
        return
    builder.insert(loom.CheckOp(_compared(builder, a, predicate, b), message))


def refuse_other_count(builder: KernelBuilder, value: SSAValue, count: int, what: str) -> None:
    """Refuses a tensor that does not have `count` elements, all of which a kernel reads without asking."""
    given, wanted = builder.multiply(builder.dims(value)), builder.index(count)
    refuse_where(builder, given, "ne", wanted, f"{what} does not have {count} element{'s'[: count != 1]}")


def read_sizes(builder: KernelBuilder, value: SSAValue, count: int, what: str) -> list[SSAValue]:
    """The elements of an integer tensor as sizes; refuses a tensor that has not `count` of them."""
    refuse_other_count(builder, value, count, what)
    return [builder.read(value, i) for i in range(count)]


def refuse_neither(builder: KernelBuilder, size: SSAValue, other: SSAValue, message: str) -> None:
    """Refuses a size that is neither 1 nor `other` when the plan is made."""
    known = index_value(size), index_value(other)
    if known[0] == 1 or size is other or (known[0] is not None and known[0] == known[1]):
        return
    several, differs = (_compared(builder, size, "ne", each) for each in (builder.index(1), other))
    builder.insert(loom.CheckOp(builder.insert(arith.MuliOp(several, differs)).results[0], message))


def _compared(builder: KernelBuilder, a: SSAValue, predicate: str, b: SSAValue) -> SSAValue:
    """1 where the sizes compare so, else 0."""
    found = builder.insert(arith.CmpiOp(a, b, predicate)).results[0]
    return builder.insert(arith.SelectOp(found, builder.index(1), builder.index(0))).results[0]
