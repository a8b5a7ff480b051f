"""Kernel-level ops: one loop kernel over flat buffers.

A kernel takes flat buffers (`memref<?xT>`, row-major storage, one element per slot) and `index`
sizes and strides, and holds `scf`, `memref`, `arith`, `math` and `vector` ops. Addressing is explicit
index arithmetic, the form MLIR has after `expand-strided-metadata`: an inner loop whose offset is
`base + i` is one both emitters vectorise.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType, MemRefType, StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from onnxloom.dialects.loom.tasks import task_fault

ACCESSES = ("read", "write", "readwrite")
_READS = frozenset({"memref.load", "memref.dim", "vector.load"})


@irdl_op_definition
class EndOp(IRDLOperation):
    """Ends the body of a kernel or of a microkernel's reference loop."""

    name = "loom.end"
    traits = traits_def(IsTerminator())


@irdl_op_definition
class KernelOp(IRDLOperation):
    """One compiled loop kernel: block arguments are buffers first, then `index` sizes and strides.

    `access` says for each buffer argument whether the kernel reads it, writes it, or both. Buffers
    that are written never overlap another buffer, except that an output may be the very same buffer
    as an input where the launch allows it (`loom.launch` property `inplace`): a kernel for which that
    is allowed reads each element before it writes the element of the same offset.
    """

    name = "loom.kernel"
    sym_name = prop_def(StringAttr)
    access = prop_def(ArrayAttr[StringAttr])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

    def __init__(self, sym_name: str, arg_types: Sequence[Attribute], access: Sequence[str]):
        """An empty kernel; `access` has one entry per leading `memref` of `arg_types`."""
        super().__init__(
            properties={
                "sym_name": StringAttr(sym_name),
                "access": ArrayAttr([StringAttr(a) for a in access]),
            },
            regions=[Region(Block(arg_types=arg_types))],
        )

    @property
    def buffers(self) -> Sequence[SSAValue]:
        """The buffer arguments, in order."""
        return self.body.block.args[: len(self.access.data)]

    @property
    def sizes(self) -> Sequence[SSAValue]:
        """The `index` arguments, in order."""
        return self.body.block.args[len(self.access.data) :]

    def unwritten_output(self) -> int | None:
        """The first buffer with access `write` that nothing is stored to."""
        for i, (buffer, access) in enumerate(zip(self.buffers, self.access.data, strict=False)):
            if access.data == "write" and all(use.operation.name in _READS for use in buffer.uses):
                return i
        return None

    def verify_(self) -> None:
        name = self.sym_name.data
        for i, (value, access) in enumerate(zip(self.buffers, self.access.data, strict=False)):
            if not isa(value.type, MemRefType) or value.type.get_num_dims() != 1:
                raise VerifyException(f"loom.kernel @{name}: argument {i} must be a memref of rank 1")
            if access.data not in ACCESSES:
                raise VerifyException(f"loom.kernel @{name}: unknown access {access.data!r} of argument {i}")
        if len(self.buffers) != len(self.access.data):
            raise VerifyException(f"loom.kernel @{name}: access lists more buffers than there are arguments")
        for value in self.sizes:
            if not isinstance(value.type, IndexType):
                raise VerifyException(f"loom.kernel @{name}: arguments after the buffers must be index")
        if not isinstance(self.body.block.last_op, EndOp):
            raise VerifyException(f"loom.kernel @{name}: the body must end with loom.end")
        unwritten = self.unwritten_output()
        if unwritten is not None:
            raise VerifyException(
                f"loom.kernel @{name}: argument {unwritten} has access 'write', but nothing is stored to it"
            )
        fault = task_fault(self)
        if fault is not None:
            raise VerifyException(f"loom.kernel @{name}: {fault}")


def _unsized(type_: Attribute) -> Attribute:
    """The type of a flat buffer without its size, any other type unchanged."""
    return type_.element_type if isa(type_, MemRefType) else type_


@irdl_op_definition
class MicrokernelOp(IRDLOperation):
    """A tuned register tile with a scalar reference loop.

    `kind` names the tuned form (`gemm_tile`, ...), `params` its compile-time parameters (tile rows,
    vector count, ...). The region's block arguments stand for the operands one to one and its body
    computes the same thing with scalar loops; an emitter that has no tuned form of `kind` for the
    target emits that loop.

    `finish`, if there is one, is what the reference does to each element before it is stored: from
    the element and one of each operand, all scalars, to what `loom.yield` gives. Tuned forms compute it on
    whole vectors.
    """

    name = "loom.microkernel"
    kind = prop_def(StringAttr)
    params = opt_prop_def(DictionaryAttr)
    args = var_operand_def(AnyAttr())
    reference = region_def("single_block")
    finish = opt_region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator())

    def verify_(self) -> None:
        where = f"loom.microkernel {self.kind.data}"
        block = self.reference.block
        if [_unsized(a.type) for a in block.args] != [_unsized(a.type) for a in self.args]:
            raise VerifyException(f"{where}: block arguments must match the operands")
        if not isinstance(block.last_op, EndOp):
            raise VerifyException(f"{where}: the reference must end with loom.end")
        last = None if self.finish is None else self.finish.block.last_op
        if self.finish is not None and (last is None or last.name != "loom.yield" or len(last.operands) != 1):
            raise VerifyException(f"{where}: the finish must end with loom.yield of one value")
