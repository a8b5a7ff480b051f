"""How is an elementwise chain on rows of tables lowered? Row by row, each read in its table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, rank_of, ranked, shape_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import body_operands, program_values
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
from onnxloom.conversion.onnx_to_loom.value_checks import IndexGuard
from onnxloom.dialects import loom
from onnxloom.dialects.onnx import FusedOp
from onnxloom.dialects.onnx.semantics.scalars import Scalar
from onnxloom.transforms.fusion.kinds.gather_elementwise import GatherElementwiseFusion, Lookup, lookup_of
from onnxloom.transforms.fusion.match import Miss


class GatherElementwiseLowering(FusedOpKindLowering[GatherElementwiseFusion]):
    """Lowers `onnx.gather_elementwise`."""

    helper = GatherElementwiseFusion

    def lower_verified(
        self,
        fused_op: FusedOp,
        helper: GatherElementwiseFusion,
        inputs: Sequence[SSAValue],
        builder: KernelBuilder,
    ) -> Sequence[SSAValue]:
        body = helper.retrieve_ops_and_output_values(fused_op)
        lookup = lookup_of(body.ops)
        if isinstance(lookup, Miss):
            raise Declined(lookup.reason)
        return [_Rows(builder, lookup, program_values(fused_op, inputs, builder)).build()]


@dataclass(frozen=True)
class _Operand:
    value: SSAValue
    """A table, or what is read beside it."""
    rows: SSAValue
    """A tensor of one element per row: the indices of a table, a view of the dims before those of a row."""
    guard: IndexGuard | None
    """Of the indices of a table."""
    is_row: bool
    """Whether there is an element for each of a row, not one for all."""


class _Rows:
    """Writes the kernel: a loop over the rows of the result, shared out in tasks, and one over a row."""

    def __init__(self, builder: KernelBuilder, lookup: Lookup, program: dict[SSAValue, SSAValue]):
        self.builder, self.lookup = builder, lookup
        self.type = ranked(lookup.result.type, "the result")
        self.outer = self.type.get_num_dims() - len(lookup.row)
        indices: dict[SSAValue, SSAValue] = {op.results[0]: program[op.operands[1]] for op in lookup.gathers}
        tables = {op.results[0]: program[op.operands[0]] for op in lookup.gathers}
        self.reads = body_operands(lookup.ops, {**program, **tables}, builder, share=True)
        self.operands = [
            self._operand(value, indices.get(tensor))
            for tensor, value in zip(self.reads.tensors, self.reads.operands, strict=True)
        ]

    def _operand(self, value: SSAValue, indices: SSAValue | None) -> _Operand:
        row = self.lookup.row
        if indices is not None:
            guard = IndexGuard(self.builder, indices, [self.builder.dim(value, 0)])
            guard.check_apart(indices)
            return _Operand(value, indices, guard, True)
        dims, shape = self.builder.dims(value), shape_of(value)
        own = max(len(dims) - len(row), 0)
        return _Operand(value, self.builder.view(value, dims[:own]), None, math.prod(shape[own:]) > 1)

    def build(self) -> SSAValue:
        """The result."""
        builder, outer, length = self.builder, self.outer, math.prod(self.lookup.row)
        moving = [operand for operand in self.operands if rank_of(operand.rows)]
        space = builder.insert(loom.BroadcastSpaceOp([o.rows for o in moving], outer)).results
        ins = [o.value for o in self.operands]
        tables = [o for o in self.operands if o.guard is not None]
        count = outer * (1 + len(moving))
        operands = [*ins, *(o.rows for o in tables)]
        k = builder.kernel("gather_chain", operands, [self.type], count + len(tables))
        strides = {id(o): k.sizes[outer * (1 + i) : outer * (2 + i)] for i, o in enumerate(moving)}
        with k.task_nest(*k.sizes[:outer]) as position:
            target = k.index(0)
            for size, i in zip(k.sizes[:outer], position, strict=True):
                target = k.at(target, size, i)
            begins: list[Scalar] = []
            for operand in self.operands:
                begin = k.index(0)
                for stride, i in zip(strides.get(id(operand), ()), position, strict=False):
                    begin = k.add(begin, k.mul(i, stride))
                if operand.guard is not None:
                    number = tables.index(operand)
                    index = k.load(k.ins[len(ins) + number], begin)
                    begin, _ = operand.guard.place(k, index, k.sizes[count + number])
                begins.append(k.mul(begin, k.index(length)) if operand.is_row else begin)
            fixed = [None if o.is_row else 0 for o in self.operands]
            held = k.load_fixed(k.ins[: len(ins)], begins, fixed)
            with k.loop(k.index(length), parallel=True) as j:
                loaded = [
                    value if value is not None else k.load(buffer, k.add(begin, j))
                    for value, buffer, begin in zip(held, k.ins, begins, strict=False)
                ]
                known = self.reads.scalars(k.scalars, loaded)
                builder.apply(k.scalars, self.lookup.ops, known)
                place = k.add(k.mul(target, k.index(length)), j)
                k.store(known[self.lookup.result], k.outs[0], place)
        heights = [builder.dim(o.value, 0) for o in tables]
        return builder.launch(k, operands, [self._empty(moving)], [*space, *heights])[0]

    def _empty(self, moving: Sequence[_Operand]) -> SSAValue:
        builder, row = self.builder, self.lookup.row
        dims = builder.insert(loom.BroadcastDimsOp([o.rows for o in moving], self.outer)).results
        return builder.empty(
            self.type, exact_dims(builder, self.type, [*dims, *(builder.index(d) for d in row)])
        )
