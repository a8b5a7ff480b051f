"""The state of one kernel while its IR becomes LLVM instructions: values, position, parallel loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from onnxloom.errors import PassError
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm.conversions import narrow, round_to_odd, widen
from onnxloom.lowering.emit_llvm.metadata import MetadataNode
from onnxloom.lowering.emit_llvm.types import F32, F64, I64, value_type
from onnxloom.lowering.small_floats import small_float

Handler = Callable[["FunctionEmitter", Operation], None]


class FunctionEmitter:
    """Emits blocks of kernel ops at the position of `builder`."""

    def __init__(self, builder: ir.IRBuilder, target: CpuTarget, handlers: dict[type[Operation], Handler]):
        self.builder = builder
        self.target = target
        self._handlers = handlers
        self._values: dict[SSAValue, ir.Value] = {}
        self.parallel_groups: list[MetadataNode] = []
        """Access groups of the parallel loops around the current position, outermost first."""
        self.scratch_depth: dict[SSAValue, int] = {}
        """For scratch buffers, how many of those loops enclose the allocation: one buffer is shared by
        all their iterations, so accesses to it are not parallel in them."""
        self.carried: set[SSAValue] = set()
        """Values a loop carries from one iteration to the next."""
        self.nan_seen: dict[Operation, ir.Value] = {}
        """For a maximum or minimum over a loop, whether a NaN was among the elements so far."""
        self.tasks: tuple[ir.Value, ir.Value] | None = None
        """First task to run and the one after the last; None for all."""
        self.worker: ir.Value = ir.Constant(I64, 0)
        """Number of the worker that runs them."""

    def elsewhere(self, builder: ir.IRBuilder) -> FunctionEmitter:
        """An emitter at the position of another builder, which knows no values yet."""
        return FunctionEmitter(builder, self.target, self._handlers)

    @property
    def module(self) -> ir.Module:
        """The module instructions and metadata go to."""
        return self.builder.module

    def __getitem__(self, value: SSAValue) -> ir.Value:
        return self._values[value]

    def __setitem__(self, value: SSAValue, emitted: ir.Value) -> None:
        self._values[value] = emitted

    def find(self, value: SSAValue) -> ir.Value | None:
        """The LLVM value of `value`, None if there is none yet."""
        return self._values.get(value)

    def get(self, values: Sequence[SSAValue]) -> list[ir.Value]:
        """The LLVM values of `values`."""
        return [self._values[v] for v in values]

    def block(self, block: Block) -> Sequence[SSAValue]:
        """Emits all ops of `block` and returns the operands of its terminator."""
        last = block.last_op
        if last is None:
            return ()
        for op in block.ops:
            if op is last:
                break
            self.op(op)
        return last.operands

    def op(self, op: Operation) -> None:
        """Emits one op that is no terminator."""
        handler = self._handlers.get(type(op))
        if handler is None:
            raise PassError(f"emit-llvm: op {op.name} is not allowed in a kernel")
        handler(self, op)

    def groups(self, buffer: SSAValue) -> list[MetadataNode]:
        """The access groups an access to `buffer` at the current position is a member of."""
        return self.parallel_groups[self.scratch_depth.get(buffer, 0) :]

    def append_block(self, name: str) -> ir.Block:
        """A basic block at the end of the current function."""
        return self.builder.function.append_basic_block(name)

    def wide(self, value: SSAValue) -> ir.Value:
        """A float operand in a type LLVM computes in: those of 16 bits and fewer as f32."""
        return self.widened(self._values[value], value.type)

    def widened(self, emitted: ir.Value, attribute: Attribute) -> ir.Value:
        """An LLVM value of element type `attribute` in a type LLVM computes in."""
        form = small_float(attribute)
        return emitted if form is None else widen(self.builder, emitted, form, self.target)

    def convert(self, emitted: ir.Value, attribute: Attribute) -> ir.Value:
        """An f32 or f64 LLVM value as float type `attribute`, rounded once."""
        form = small_float(attribute)
        if form is not None:
            single = round_to_odd(self.builder, emitted) if emitted.type == F64 else emitted
            return narrow(self.builder, single, form, self.target)
        goal = value_type(attribute)
        if emitted.type == goal:
            return emitted
        return self.builder.fpext(emitted, goal) if goal == F64 else self.builder.fptrunc(emitted, F32)

    def intrinsic(self, name: str, args: Sequence[ir.Value]) -> ir.Value:
        """A call of an overloaded LLVM intrinsic whose operands and result have one type."""
        function = self.module.declare_intrinsic(
            name, [args[0].type], ir.FunctionType(args[0].type, [a.type for a in args])
        )
        return self.builder.call(function, args)


def is_index(value: SSAValue) -> bool:
    """Whether `value` is of type index."""
    return isinstance(value.type, IndexType)
