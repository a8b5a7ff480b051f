"""Which loops compute elementwise ops, the reduction of rows and elementwise ops in one go? `FusedRows`.

Row by row: the ops before the reduction are computed once, in its first walk, and stored where later walks
find them in the cache; those after it run on each element that is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, rank_of
from onnxloom.conversion.onnx_to_loom.elementwise.body_operands import BodyOperands, body_operands
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.reductions.normalizing import Normalization, Stage
from onnxloom.conversion.onnx_to_loom.reductions.reducing import Pass, Reduction
from onnxloom.conversion.onnx_to_loom.reductions.softmax_rows import SoftmaxRow, softmax_row_op
from onnxloom.dialects.onnx.semantics.scalars import Scalar
from onnxloom.transforms.fusion.reduced_rows import Role, Rows

Element = Callable[[Scalar], Scalar]
"""Index in the row -> element of storage type."""


@dataclass(frozen=True)
class _Side:
    """Elementwise ops on one side of the reduction, and what they read from outside."""

    ops: Sequence[Operation]
    reads: BodyOperands
    roles: Sequence[Role]
    first: int
    """Number of their first operand among the kernel's inputs."""

    def values(self, k: KernelBody, row: Scalar, base: Scalar, j: Scalar | None) -> dict[SSAValue, Scalar]:
        """The operands beside element `j` of a row, or, without one, beside the row's result."""
        loaded: list[Scalar] = []
        for i, role in enumerate(self.roles):
            place = row if j is None else k.add(base, j) if role is Role.FULL else j
            loaded.append(k.load(k.ins[self.first + i], place))
        return self.reads.scalars(k.scalars, loaded)


class FusedRows:
    """Writes one kernel.

    Its inputs are the data, if nothing before the reduction makes it, parameters, operands of the ops before
    and of those after; its outputs the result, and the data where others read it. Its sizes are the number of
    rows and their length.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        rows: Rows,
        lead: Sequence[Operation],
        trail: Sequence[Operation],
        program: Mapping[SSAValue, SSAValue],
        parameters: Sequence[SSAValue],
    ):
        """`program` gives what the chain reads as program-level tensors; `parameters` are rows."""
        self.builder, self.rows = builder, rows
        self.ins: list[SSAValue] = [] if lead else [program[rows.data]]
        self.first_parameter = len(self.ins)
        self.parameters = len(parameters)
        self.ins += [program[value] for value in parameters]
        self.lead = self._side(lead, rows.data, program, ())
        self.trail = self._side(trail, rows.result, program, (rows.result,))

    def _side(
        self,
        ops: Sequence[Operation],
        beside: SSAValue,
        program: Mapping[SSAValue, SSAValue],
        made: Sequence[SSAValue],
    ) -> _Side:
        reads = body_operands(ops, program, self.builder, made=made)
        roles = [self.rows.role(tensor, beside) or Role.FULL for tensor in reads.tensors]
        side = _Side(ops, reads, roles, len(self.ins))
        self.ins += reads.operands
        return side

    def normalize(self, rule: Normalization, result: SSAValue, *, keep: bool) -> Sequence[SSAValue]:
        """A normalization; `keep`: the data, which ops before it make, is an output, too."""
        k, outs = self._kernel(f"fused_{rule.name}", result, keep)
        source = k.ins[0] if not self.lead.ops else k.outs[-1]
        with k.tasks(k.sizes[0]) as row:
            base = k.mul(row, k.sizes[1])
            results = self._passes(k, rule.passes, rule, source, row, base)
            with k.loop(k.sizes[1], parallel=True) as j:
                place = k.add(base, j)
                x = k.load(source if rule.staged is None else k.outs[0], place)
                last = self.first_parameter + self.parameters
                parameters = [k.load(buffer, j) for buffer in k.ins[self.first_parameter : last]]
                value = rule.write(k.scalars, x, j, results, parameters)
                k.store(self._behind(k, value, result, row, base, j), k.outs[0], place)
        return self.builder.launch(k, self.ins, outs, self._sizes())

    def softmax(self, result: SSAValue, *, keep: bool) -> Sequence[SSAValue]:
        """The softmax of f32, by its tuned form; `keep` as in `normalize`."""
        k, outs = self._kernel("fused_softmax", result, keep)
        source = k.ins[0] if not self.lead.ops else k.outs[-1]
        length = k.sizes[1]
        tuned = SoftmaxRow(self.builder.kernels.target.lanes(4))
        with k.tasks(k.sizes[0]) as row:
            base = k.mul(row, length)
            if self.lead.ops:
                with k.loop(length, parallel=True) as j:
                    k.store(self._before(k, row, base, j), source, k.add(base, j))
            args = [source, k.outs[0], base, base, length, length, k.index(1), length]
            k.builder.insert(softmax_row_op(tuned, args))
            if self.trail.ops:
                with k.loop(length, parallel=True) as j:
                    place = k.add(base, j)
                    value = self._behind(k, k.load(k.outs[0], place), result, row, base, j)
                    k.store(value, k.outs[0], place)
        return self.builder.launch(k, self.ins, outs, self._sizes())

    def reduce(self, rule: Reduction, result: SSAValue, *, keep: bool) -> Sequence[SSAValue]:
        """One number per row; `keep` as in `normalize`."""
        k, outs = self._kernel(f"fused_{rule.name}", result, keep)
        source = None if self.lead.ops and not keep else k.outs[-1] if keep else k.ins[0]
        with k.tasks(k.sizes[0]) as row:
            base = k.mul(row, k.sizes[1])
            results = self._passes(k, rule.passes, None, source, row, base)
            k.store(self._behind(k, results[-1], result, row, base, None), k.outs[0], row)
        return self.builder.launch(k, self.ins, outs, self._sizes())

    def _kernel(self, name: str, result: SSAValue, keep: bool) -> tuple[KernelBody, list[SSAValue]]:
        types = [result.type, *([self.rows.data.type] if keep else [])]
        k = self.builder.kernel(name, self.ins, types, 2)
        full = self._dims()
        dims = full if self.rows.keeps_rows else full[: self.rows.axis]
        dims = [*dims, *[self.builder.index(1)] * (rank_of(self.rows.result) - len(dims))]
        outs = [self.builder.empty(result.type, dims)]
        return k, [*outs, *([self.builder.empty(self.rows.data.type, full)] if keep else [])]

    def _dims(self) -> list[SSAValue]:
        """Dims of the data."""
        if not self.lead.ops:
            return list(self.builder.dims(self.ins[0]))
        operands = zip(self.lead.reads.operands, self.lead.roles, strict=True)
        full = next(operand for operand, role in operands if role is Role.FULL)
        return list(self.builder.dims(full))

    def _sizes(self) -> list[SSAValue]:
        dims, axis = self._dims(), self.rows.axis
        return [self.builder.multiply(dims[:axis]), self.builder.multiply(dims[axis:])]

    def _passes(
        self,
        k: KernelBody,
        passes: Sequence[Pass],
        rule: Normalization | None,
        source: SSAValue | None,
        row: Scalar,
        base: Scalar,
    ) -> list[Scalar]:
        """The walks over one row; the first one stores the data where the chain makes it."""
        results: list[Scalar] = []
        for number, step in enumerate(passes):
            is_last = number == len(passes) - 1
            staged = rule.staged if rule is not None and is_last else None
            is_made = bool(self.lead.ops) and number == 0

            def body(
                j: Scalar,
                acc: Sequence[Scalar],
                step: Pass = step,
                staged: Stage | None = staged,
                is_made: bool = is_made,
            ) -> Sequence[Scalar]:
                place = k.add(base, j)
                kept = None if is_made else source
                x = self._before(k, row, base, j) if kept is None else k.load(kept, place)
                if is_made and source is not None:
                    k.store(x, source, place)
                if staged is not None:
                    x = staged(k.scalars, x, results)
                    k.store(x, k.outs[0], place)
                return step.step(k.scalars, acc, x, j, results)

            stores = staged is not None or (is_made and source is not None)
            acc = k.reduce(k.sizes[1], step.init(k.scalars), body, parallel=stores)
            results.append(step.finish(k.scalars, acc, k.sizes[1], results))
        return results

    def _before(self, k: KernelBody, row: Scalar, base: Scalar, j: Scalar) -> Scalar:
        values = self.lead.values(k, row, base, j)
        self.builder.apply(k.scalars, self.lead.ops, values)
        return values[self.rows.data]

    def _behind(
        self, k: KernelBody, value: Scalar, result: SSAValue, row: Scalar, base: Scalar, j: Scalar | None
    ) -> Scalar:
        values = self.trail.values(k, row, base, j)
        values[self.rows.result] = value
        self.builder.apply(k.scalars, self.trail.ops, values)
        return values[result]
