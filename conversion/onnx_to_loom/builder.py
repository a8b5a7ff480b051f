"""What does the author of a lowering build with? `KernelBuilder`: kernels, and the program that runs them.

A lowering gets program-level tensors and gives back program-level tensors. Two levels of help:

`map` is a whole elementwise kernel from one function over scalars, with broadcasting, strides, dynamic
dims and vectorised inner loops taken care of. A kind that computes `x * sigmoid(x) + bias`:

    from collections.abc import Sequence
    from xdsl.dialects import math
    from onnxloom.conversion.onnx_to_loom.registry import FusedOpKindLowering
    from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

    class SwishBiasLowering(FusedOpKindLowering[SwishBias]):
        helper = SwishBias

        def lower_verified(self, fused_op, helper, inputs, builder):
            def body(s: Scalars, x: Sequence[Scalar]) -> Sequence[Scalar]:
                wide = s.widen(x[0])
                gate = s.divf(wide, s.add_const(s.unary(math.ExpOp, s.neg(wide)), 1.0))
                return [s.float_to(s.add(gate, s.widen(x[1])), x[0].type)]

            return builder.map("swish_bias", inputs, [fused_op.results[0].type], body)

`builder.apply(scalars, ops, values)` computes ops of the fused body on scalars from the table of scalar
semantics, so that a kind need not spell them out.

`kernel` opens a loop nest written by hand. Row sums of a matrix, `tensor<?x?xf32> -> tensor<?xf32>`:

    from xdsl.dialects.builtin import f32

    rows, cols = builder.dims(x)
    k = builder.kernel("row_sum", [x], [result_type], sizes=2)
    with k.loop(k.sizes[0]) as i:
        zero = k.scalars.const(0.0, f32)
        total = k.reduce(k.sizes[1], [zero], lambda j, acc: [
            k.scalars.add(acc[0], k.load(k.ins[0], k.at(i, k.sizes[1], j)))])
        k.store(total[0], k.outs[0], i)
    (y,) = builder.launch(k, [x], [builder.empty(result_type, [rows])], [rows, cols])

Kernels with equal content are kept once, whatever made them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, StringAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import REASSOCIATE, KernelBody
from onnxloom.conversion.onnx_to_loom.kernel_faults import kernel_fault
from onnxloom.conversion.onnx_to_loom.kernel_set import KernelSet
from onnxloom.conversion.onnx_to_loom.structure import DimKey, result_dims
from onnxloom.dialects import loom
from onnxloom.dialects.loom.launch_fit import launch_fault
from onnxloom.dialects.onnx.constant import constant_attr, constant_value
from onnxloom.dialects.onnx.dtypes import tensor_type_of
from onnxloom.dialects.onnx.narrow import is_complex
from onnxloom.dialects.onnx.semantics import scalar_semantics
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, has_kernel, storage_type
from onnxloom.dialects.onnx.types import StringType

Body = Callable[[Scalars, Sequence[Scalar]], Sequence[Scalar]]


_FALLIBLE = (loom.CheckOp, loom.PlanTimeOp, tensor.EmptyOp, loom.IfOp, loom.LoopOp, loom.ScanOp)


@dataclass(frozen=True)
class _Saved:
    last_op: Operation | None
    indices: dict[int, SSAValue]
    dims: dict[tuple[SSAValue, int], SSAValue]


class KernelBuilder:
    """Writes one block of a program and the kernels it launches."""

    def __init__(self, block: Block, kernels: KernelSet):
        self.block = block
        self.kernels = kernels
        self.origin = ""
        """What messages call the op being lowered: `Pad "p1"`."""
        self._builder = Builder(InsertPoint.at_end(block))
        self._indices: dict[int, SSAValue] = {}
        self._dims: dict[tuple[SSAValue, int], SSAValue] = {}

    def nested(self, block: Block) -> KernelBuilder:
        """A builder for a nested block of the program."""
        builder = KernelBuilder(block, self.kernels)
        builder.origin = self.origin
        return builder

    def save(self) -> _Saved:
        """Where the program stands."""
        return _Saved(self.block.last_op, dict(self._indices), dict(self._dims))

    def restore(self, saved: _Saved) -> None:
        """Erases what was added to the program after `saved`."""
        while (last := self.block.last_op) is not saved.last_op:
            assert last is not None
            last.detach()
            last.erase()
        self._indices, self._dims = dict(saved.indices), dict(saved.dims)

    # Program level: sizes

    def insert(self, op: Operation) -> Operation:
        """Adds a program-level op. One whose evaluation may fail is marked with what it is for."""
        if self.origin and isinstance(op, _FALLIBLE) and not isinstance(op, loom.DimOp):
            op.attributes["origin"] = StringAttr(self.origin)
        return self._builder.insert(op)

    def index(self, value: int) -> SSAValue:
        """A size known at compile time."""
        if value not in self._indices:
            op = arith.ConstantOp(IntegerAttr(value, IndexType()))
            self._indices[value] = self.insert(op).results[0]
        return self._indices[value]

    def dim(self, value: SSAValue, axis: int) -> SSAValue:
        """One dim of a program-level tensor."""
        shape = shape_of(value)
        axis = axis + len(shape) if axis < 0 else axis
        if shape[axis] != DYNAMIC_INDEX:
            return self.index(shape[axis])
        made = _made_dim(value, axis)
        if made is not None:
            return made
        key = (value, axis)
        if key not in self._dims:
            self._dims[key] = self.insert(loom.DimOp(value, axis)).results[0]
        return self._dims[key]

    def dim_keys(self, value: SSAValue) -> Sequence[DimKey]:
        """Dims that compare equal where they are provably the same size; ints where static."""
        return [d if d != DYNAMIC_INDEX else self.dim(value, axis) for axis, d in enumerate(shape_of(value))]

    def dims(self, value: SSAValue) -> list[SSAValue]:
        """All dims of a ranked program-level tensor."""
        return [self.dim(value, axis) for axis in range(len(shape_of(value)))]

    def multiply(self, sizes: Sequence[SSAValue]) -> SSAValue:
        """The product of sizes, 1 for none."""
        known, product = 1, None
        for size in sizes:
            value = index_value(size)
            if value is not None:
                known *= value
            elif product is None:
                product = size
            else:
                product = self.insert(arith.MuliOp(product, size)).results[0]
        if product is None or known == 0:
            return self.index(known)
        if known == 1:
            return product
        return self.insert(arith.MuliOp(product, self.index(known))).results[0]

    def divide(self, size: SSAValue, by: int) -> SSAValue:
        """A size divided by a number, rounded down."""
        value = index_value(size)
        if value is not None:
            return self.index(value // by)
        return self.insert(arith.DivUIOp(size, self.index(by))).results[0]

    def read(self, tensor: SSAValue, position: int) -> SSAValue:
        """An element of an integer tensor as a size.

        Where a kernel makes the tensor, the plan ends at its first use, and goes on once the element is
        known: so a result gets dims that only data tell. Plans are kept by what was read; another number
        fills the rest of the plan again, which compiles nothing.
        """
        constant = program_constant(tensor)
        if constant is not None and position < constant.size:
            return self.index(int(constant.reshape(-1)[position]))
        return self.insert(loom.ExtractOp(tensor, position)).results[0]

    def static_size(self, size: SSAValue, what: str) -> int:
        """A size known at compile time. Raises Declined otherwise."""
        value = index_value(size)
        if value is None:
            raise Declined(f"{what} is not known at compile time")
        return value

    def broadcast_dims(self, values: Sequence[SSAValue], result_type: Attribute) -> list[SSAValue]:
        """The dims of the broadcast of `values`; only those that cannot be told are computed."""
        shape = ranked(result_type, "result").get_shape()
        keys = result_dims([self.dim_keys(v) for v in values], len(shape))
        told = [self.index(key) if isinstance(key, int) else key for key in keys]
        known = [cast(SSAValue, size) for size in told if isinstance(size, SSAValue)]
        if len(known) < len(told):
            computed = self.insert(loom.BroadcastDimsOp(values, len(shape))).results
            pairs = zip(told, computed, strict=True)
            known = [cast(SSAValue, s) if isinstance(s, SSAValue) else c for s, c in pairs]
        return [self.agreed(s, d, axis) for axis, (s, d) in enumerate(zip(known, shape, strict=True))]

    # Program level: tensors

    def agreed(self, size: SSAValue, declared: int, axis: int) -> SSAValue:
        """A dim as the type declares it, else as computed.

        What a text declares may be wrong, and a kernel that goes by the computed size would leave part of
        the result as it is, or write past it: the two are compared when the plan is made.
        """
        if declared == DYNAMIC_INDEX:
            return size
        if index_value(size) != declared:
            wrong = self.insert(arith.SubiOp(size, self.index(declared))).results[0]
            message = f"dim {axis} of the result is declared as {declared}, which is wrong by {{0}}"
            self.insert(loom.CheckOp(wrong, message))
        return self.index(declared)

    def empty(self, type_: Attribute, dims: Sequence[SSAValue]) -> SSAValue:
        """A destination of this type; `dims` are all of its dims."""
        shape = ranked(type_, "result").get_shape()
        if len(dims) != len(shape):
            raise ValueError(f"a result of type {type_} has {len(shape)} dims, got {len(dims)}")
        for axis, (size, declared) in enumerate(zip(dims, shape, strict=True)):
            self.agreed(size, declared, axis)
        dynamic = [size for size, d in zip(dims, shape, strict=True) if d == DYNAMIC_INDEX]
        return self.insert(tensor.EmptyOp(dynamic, type_)).results[0]

    def private(self, element: Attribute, size: SSAValue) -> SSAValue:
        """A destination of `size` elements for each worker: temporary memory of a kernel with tasks.

        The kernel finds its part with `KernelBody.private`.
        """
        workers = self.insert(loom.WorkersOp()).results[0]
        count = self.insert(arith.MuliOp(size, workers)).results[0]
        return self.empty(TensorType(element, [DYNAMIC_INDEX]), [count])

    def view(
        self,
        source: SSAValue,
        dims: Sequence[SSAValue],
        type_: Attribute | None = None,
        offset: SSAValue | None = None,
    ) -> SSAValue:
        """The same memory under other dims."""
        if type_ is None:
            shape = [DYNAMIC_INDEX if (v := index_value(d)) is None else v for d in dims]
            type_ = TensorType(ranked(source.type, "operand").element_type, shape)
        return self.insert(loom.ViewOp(source, offset or self.index(0), dims, type_)).results[0]

    def constant(self, array: np.ndarray[Any, Any]) -> SSAValue:
        """A constant tensor."""
        return self.insert(loom.ConstantOp(constant_attr(array), tensor_type_of(array))).results[0]

    # Kernels

    def kernel(
        self,
        name: str,
        ins: Sequence[SSAValue],
        outs: Sequence[Attribute],
        sizes: int,
        *,
        out_access: str = "write",
    ) -> KernelBody:
        """An empty kernel for these operands and result types, with `sizes` index arguments."""
        in_types = [buffer_element(v.type) for v in ins]
        return KernelBody(name, in_types, [buffer_element(t) for t in outs], sizes, out_access)

    def launch(
        self,
        kernel: KernelBody,
        ins: Sequence[SSAValue],
        outs: Sequence[SSAValue],
        sizes: Sequence[SSAValue],
        inplace: Sequence[Sequence[int]] | None = None,
    ) -> Sequence[SSAValue]:
        """Ends the kernel and runs it; gives the filled destinations.

        Raises:
            ValueError: the kernel takes other operands, stores to no element of an output, or uses a value
                from outside it.
        """
        op = kernel.end()
        fault = launch_fault(op.sym_name.data, op, (ins, outs, sizes)) or kernel_fault(op)
        if fault is not None:
            raise ValueError(fault)
        name = self.kernels.add(op)
        if inplace is not None and not any(inplace):
            inplace = None
        return self.insert(loom.LaunchOp(name, ins, outs, sizes, inplace)).results

    def map(
        self,
        name: str,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body: Body,
    ) -> Sequence[SSAValue]:
        """An elementwise kernel over the broadcast of `inputs`.

        `body(scalars, values)` computes one element of each result from one element of each input, all
        of storage type; it may be called more than once. All results have the broadcast's dims.

        Raises:
            Declined: an operand has no known rank or an element type kernels do not hold.
        """
        from onnxloom.conversion.onnx_to_loom.elementwise.elementwise import build_map

        return build_map(self, name, inputs, result_types, body)

    def apply(self, scalars: Scalars, ops: Sequence[Operation], values: dict[SSAValue, Scalar]) -> None:
        """Computes elementwise onnx ops on scalars; `values` maps tensors to scalars and is extended.

        Raises:
            Declined: an op has no scalar semantics, or reads a tensor that is not in `values`.
        """
        for op in ops:
            row = scalar_semantics(op)
            if row is None:
                raise Declined(f"{op.name} has no scalar semantics")
            reads = set(row.reads(op))
            missing = [i for i in reads if op.operands[i] not in values]
            if missing:
                raise Declined(f"operand {missing[0]} of {op.name} is not computed in the body")
            operands = [values.get(v) if i in reads else None for i, v in enumerate(op.operands)]
            values[op.results[0]] = row.emit(scalars, op, operands)


def reassociated(value: Scalar) -> Scalar:
    """Lets the float op that made `value` be reordered (sums of many terms)."""
    if isinstance(value.owner, (arith.AddfOp, arith.MulfOp)):
        value.owner.attributes[REASSOCIATE] = UnitAttr()
    return value


def _made_dim(value: SSAValue, axis: int) -> SSAValue | None:
    """The size a dynamic dim was made with, where the program made the tensor itself."""
    owner = value.owner
    if isinstance(owner, loom.LaunchOp):
        return _made_dim(owner.outs[owner.filled.index(value)], axis)
    if isinstance(owner, loom.ViewOp):
        return owner.sizes[axis]
    if isinstance(owner, tensor.EmptyOp):
        shape = shape_of(value)
        return owner.dynamic_sizes[sum(d == DYNAMIC_INDEX for d in shape[:axis])]
    return None


def ranked(type_: Attribute, what: str) -> TensorType[Attribute]:
    """The type as a ranked tensor. Raises Declined otherwise."""
    if not isinstance(type_, TensorType):
        raise Declined(f"the rank of {what} is not known")
    return cast("TensorType[Attribute]", type_)


def shape_of(value: SSAValue) -> Sequence[int]:
    """Dims of a ranked tensor, DYNAMIC_INDEX where not known. Raises Declined if unranked."""
    return ranked(value.type, "an operand").get_shape()


def rank_of(value: SSAValue) -> int:
    """Rank of a tensor. Raises Declined if unranked."""
    return len(shape_of(value))


def buffer_element(type_: Attribute) -> Attribute:
    """What a kernel stores per element of this tensor type. Raises Declined for types it cannot hold."""
    element = ranked(type_, "an operand").element_type
    if isinstance(element, StringType) or not has_kernel(element):
        raise Declined(f"kernels hold no elements of type {element}")
    return storage_type(element)


def number_element(type_: Attribute) -> Attribute:
    """`buffer_element` of numbers that kernels compute with. Raises Declined for complex ones, too."""
    element = ranked(type_, "an operand").element_type
    if is_complex(element):
        raise Declined(f"kernels do not compute with elements of type {element}")
    return buffer_element(type_)


def index_value(size: SSAValue) -> int | None:
    """A size known at compile time."""
    if isinstance(size.owner, arith.ConstantOp) and isinstance(size.owner.value, IntegerAttr):
        return size.owner.value.value.data
    return None


def program_constant(value: SSAValue) -> np.ndarray[Any, Any] | None:
    """The array of a program-level constant."""
    return constant_value(value.owner.value) if isinstance(value.owner, loom.ConstantOp) else None
