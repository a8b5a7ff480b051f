"""How is an elementwise kernel laid out? Outer loops over merged dims, one vectorisable inner loop.

LLVM vectorises an inner loop when the strides in it are literal. Where sizes alone decide them, the
kernel holds two inner loops: one with the strides that types suggest, taken when the actual ones
agree, and one with strides as arguments. Operands that do not move in the inner loop are loaded
before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.structure import (
    BroadcastStructure,
    DimKey,
    Role,
    broadcast_structure,
    result_dims,
    static_count,
)
from onnxloom.dialects import loom
from onnxloom.dialects.onnx.semantics.scalars import Scalar

if TYPE_CHECKING:
    from onnxloom.conversion.onnx_to_loom.builder import Body, KernelBuilder


BLOCK = 4096
"""Elements of one dim that are a task."""


def build_map(
    builder: KernelBuilder,
    name: str,
    inputs: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    body: Body,
) -> Sequence[SSAValue]:
    """See `KernelBuilder.map`."""
    from onnxloom.conversion.onnx_to_loom.builder import buffer_element

    if not inputs:
        raise Declined("an elementwise kernel needs an input")
    shapes = [builder.dim_keys(v) for v in inputs]
    types = [_broadcast_type(t, shapes) for t in result_types]
    rank = types[0].get_num_dims()
    if rank != max(len(s) for s in shapes):
        raise Declined("a result does not have the rank of its broadcast inputs")
    structure = broadcast_structure(shapes, rank)
    dims = builder.broadcast_dims(inputs, _most_static(types))
    kernel = KernelBody(
        name,
        [buffer_element(v.type) for v in inputs],
        [buffer_element(t) for t in types],
        _size_count(structure),
    )
    _Nest(kernel, structure, body).write()
    outs = [builder.empty(t, dims) for t in types]
    sizes = _launch_sizes(builder, inputs, structure)
    return builder.launch(kernel, inputs, outs, sizes, _inplace(inputs, types, structure))


def _broadcast_type(type_: Attribute, shapes: Sequence[Sequence[DimKey]]) -> TensorType[Attribute]:
    """A result type; where it has no rank, the operands give it one."""
    from onnxloom.conversion.onnx_to_loom.builder import ranked

    if not isinstance(type_, UnrankedTensorType):
        return ranked(type_, "result")
    element = cast("UnrankedTensorType[Attribute]", type_).element_type
    keys = result_dims(shapes, max(len(s) for s in shapes))
    return TensorType(element, [key if isinstance(key, int) else DYNAMIC_INDEX for key in keys])


def _most_static(types: Sequence[TensorType[Attribute]]) -> TensorType[Attribute]:
    """One type with every dim that any of the types (all of one shape) knows."""
    columns = zip(*(t.get_shape() for t in types), strict=True)
    shape = [max(column, key=lambda d: d != DYNAMIC_INDEX) for column in columns]
    return TensorType(types[0].element_type, shape)


def _strides_per_operand(structure: BroadcastStructure) -> int:
    return structure.rank - 1 if structure.certain else structure.rank


def _size_count(structure: BroadcastStructure) -> int:
    return structure.rank + len(structure.strided) * _strides_per_operand(structure)


def _launch_sizes(
    builder: KernelBuilder, inputs: Sequence[SSAValue], structure: BroadcastStructure
) -> list[SSAValue]:
    rank = structure.rank
    full = [i for i, role in enumerate(structure.roles) if role is Role.FULL][:1]
    members = [*structure.strided, *full]
    if not members:
        return [builder.index(1)]
    if not structure.strided and (count := static_count(inputs[full[0]].type)) is not None:
        return [builder.index(count)]
    space = builder.insert(loom.BroadcastSpaceOp([inputs[i] for i in members], rank)).results
    sizes: list[SSAValue] = list(space[:rank])
    for row in range(len(structure.strided)):
        begin = rank * (1 + row)
        sizes += space[begin : begin + _strides_per_operand(structure)]
    return sizes


def _inplace(
    inputs: Sequence[SSAValue], result_types: Sequence[Attribute], structure: BroadcastStructure
) -> list[list[int]]:
    """Per result the inputs of its type read at its offset; an input serves one result."""
    from onnxloom.conversion.onnx_to_loom.builder import ranked

    taken: set[int] = set()
    rows: list[list[int]] = []
    for type_ in result_types:
        row = [
            i
            for i, (value, role) in enumerate(zip(inputs, structure.roles, strict=True))
            if role is Role.FULL
            and i not in taken
            and ranked(value.type, "an operand").element_type == ranked(type_, "a result").element_type
        ]
        taken.update(row if len(result_types) > 1 else [])
        rows.append(row)
    return rows


@dataclass
class _Nest:
    """Writes the loop nest of one elementwise kernel."""

    kernel: KernelBody
    structure: BroadcastStructure
    body: Body

    def write(self) -> None:
        k, rank = self.kernel, self.structure.rank
        per_operand = _strides_per_operand(self.structure)
        self.strides: dict[int, Sequence[Scalar]] = {
            operand: k.sizes[rank + row * per_operand : rank + (row + 1) * per_operand]
            for row, operand in enumerate(self.structure.strided)
        }
        sizes = k.sizes[:rank]
        if rank == 1:
            self._blocks(sizes[0])
            return
        # The loops over two dims are the tasks; a third one and all that follow are inside of each.
        with k.task_nest(*sizes[: min(rank - 1, 2)]) as position:
            out, bases = k.index(0), {i: k.index(0) for i in self.strides}
            for depth, i in enumerate(position):
                out, bases = self._step(depth, i, out, bases)
            self._alternatives(lambda literal: self._outer(len(position), out, bases, literal))

    def _blocks(self, size: Scalar) -> None:
        """One dim alone is shared out in blocks."""
        k = self.kernel
        block = k.index(BLOCK)
        with k.tasks(k.scalars.emit(arith.CeilDivSIOp(size, block))) as number:
            begin = k.mul(number, block)
            count = k.scalars.minimum(block, k.sub(size, begin))
            self._alternatives(
                lambda literal: self._inner(
                    begin,
                    {i: k.mul(begin, self._inner_stride(i, literal)) for i in self.strides},
                    literal,
                    count,
                )
            )

    def _inner_stride(self, operand: int, literal: bool) -> Scalar:
        return self.kernel.index(self.structure.inner[operand]) if literal else self.strides[operand][-1]

    def _alternatives(self, write: Callable[[bool], None]) -> None:
        """`write` with literal inner strides, and once more with those of the arguments where they differ."""
        k = self.kernel
        if self.structure.certain:
            write(True)
            return
        with k.branch(self._agreement()) as (fast, general):
            for block, literal in ((fast, True), (general, False)):
                with k.inside(block):
                    write(literal)

    def _agreement(self) -> Scalar:
        """Whether every inner stride is the one types suggest."""
        k = self.kernel
        checks = [
            k.scalars.cmp("eq", strides[-1], k.index(self.structure.inner[i]))
            for i, strides in self.strides.items()
        ]
        result = checks[0]
        for check in checks[1:]:
            result = k.scalars.and_(result, check)
        return result

    def _outer(self, depth: int, out: Scalar, bases: dict[int, Scalar], literal: bool) -> None:
        k, rank = self.kernel, self.structure.rank
        if depth == rank - 1:
            self._inner(k.mul(out, k.sizes[depth]), bases, literal, k.sizes[depth])
            return
        with k.loop(k.sizes[depth]) as i:
            self._outer(depth + 1, *self._step(depth, i, out, bases), literal)

    def _step(
        self, depth: int, i: Scalar, out: Scalar, bases: dict[int, Scalar]
    ) -> tuple[Scalar, dict[int, Scalar]]:
        """Offsets of the result and the operands at index `i` of dim `depth`."""
        k = self.kernel
        inner = {
            operand: k.add(base, k.mul(i, self.strides[operand][depth])) for operand, base in bases.items()
        }
        return k.at(out, k.sizes[depth], i), inner

    def _inner(self, out: Scalar, bases: dict[int, Scalar], literal: bool, count: Scalar) -> None:
        k, roles = self.kernel, self.structure.roles
        hoisted: dict[int, Scalar] = {}
        for i, role in enumerate(roles):
            if role is Role.SCALAR:
                hoisted[i] = k.load(k.ins[i], k.index(0))
            elif role is Role.STRIDED and literal and self.structure.inner[i] == 0:
                hoisted[i] = k.load(k.ins[i], bases[i])
        with k.loop(count, parallel=True) as j:
            offset = k.add(out, j)
            values: list[Scalar] = []
            for i, role in enumerate(roles):
                if i in hoisted:
                    values.append(hoisted[i])
                elif role is Role.FULL:
                    values.append(k.load(k.ins[i], offset))
                elif literal:
                    values.append(k.load(k.ins[i], k.add(bases[i], j)))
                else:
                    values.append(k.load(k.ins[i], k.add(bases[i], k.mul(j, self.strides[i][-1]))))
            for result, buffer in zip(self.body(k.scalars, values), k.outs, strict=True):
                k.store(result, buffer, offset)
