"""How do the ops of one block become a program? `BlockConverter`, op by op, in order.

Values known at plan time become host steps that vanish there, fused ops go to the lowering of their kind
(re-verified; unfused with a warning where that fails), control flow keeps its regions, single ops go to
their lowering or, if elementwise, become a kernel of one op. Whatever is left is a host step with a
reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneType, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, shape_of
from onnxloom.conversion.onnx_to_loom.control_flow import CONTROL_FLOW, control_flow_op
from onnxloom.conversion.onnx_to_loom.decline import Decline, Declined, FusionFallbackWarning
from onnxloom.conversion.onnx_to_loom.dim_proofs import DimProofs
from onnxloom.conversion.onnx_to_loom.elementwise.single_elementwise import lower_elementwise
from onnxloom.conversion.onnx_to_loom.expand_functions import function_body
from onnxloom.conversion.onnx_to_loom.host import host_step
from onnxloom.conversion.onnx_to_loom.lowering_results import check_results
from onnxloom.conversion.onnx_to_loom.plan_known import PlanKnown
from onnxloom.conversion.onnx_to_loom.registry import (
    FusedOpKindLowering,
    Inputs,
    is_run_by_caller,
    kind_lowerings,
    lowering_of,
)
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.custom_ops import RUN_BY_CALLER
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.captures import captured_values
from onnxloom.dialects.onnx.semantics import is_elementwise
from onnxloom.errors import PassError, caller_level
from onnxloom.transforms.fusion.match import Miss
from onnxloom.transforms.fusion.plugins import blaming_plugin

PLAN_TIME_REASON = "evaluated once per shape key: reads only shapes and constants"

_NO_VALUE = (onnx.NoValueOp, onnx.EntryPointOp)


_OF_SEQUENCES = (onnx.SequenceEmptyOp, onnx.SequenceInsertOp, onnx.SequenceAtOp, onnx.SequenceLengthOp)


class BlockConverter:
    """Converts the ops of one onnx block into a program block."""

    def __init__(
        self,
        builder: KernelBuilder,
        parent: BlockConverter | None = None,
        known: PlanKnown | None = None,
        origin: str = "",
    ):
        """`origin` is what messages call the ops converted here; by default each goes by its own name."""
        self.builder = builder
        self._origin = origin
        self._parent = parent
        self._values: dict[SSAValue, SSAValue] = {}
        self._known = known or PlanKnown()
        self._kinds: dict[str, FusedOpKindLowering[Any]] | None = None
        self._proofs: DimProofs = DimProofs() if parent is None else parent._proofs

    # Values

    def bind(self, value: SSAValue, program_value: SSAValue) -> None:
        """Says which program value an onnx value has become."""
        self._values[value] = program_value

    def value(self, value: SSAValue) -> SSAValue:
        """The program value of an onnx value; constants are made where they are first read."""
        found = self._lookup(value)
        if found is not None:
            return found
        if not isinstance(value.owner, onnx.ConstantOp):
            raise PassError(f"convert-onnx-to-loom: a value of {_describe(value)} is read before it is made")
        data = value.owner.value if value.owner.value is not None else value.owner.sparse_value
        assert data is not None
        made = self.builder.insert(loom.ConstantOp(data, value.type)).results[0]
        self._values[value] = made
        return made

    def _lookup(self, value: SSAValue) -> SSAValue | None:
        found = self._values.get(value)
        if found is not None or self._parent is None:
            return found
        return self._parent._lookup(value)

    def _inputs(self, op: Operation) -> Inputs:
        return [None if is_none(v) else self.value(v) for v in op.operands]

    def absent(self) -> SSAValue:
        """A program value of type none."""
        return self.builder.insert(onnx.NoValueOp.make()).results[0]

    def nested(self, block: Block) -> BlockConverter:
        """A converter for a nested block, which sees the values of this one."""
        return BlockConverter(self.builder.nested(block), self, self._known, self._origin)

    # Ops

    def block(self, block: Block) -> Sequence[SSAValue]:
        """Converts all ops; gives the values the terminator returns."""
        for op in block.ops:
            if isinstance(op, (onnx.ReturnOp, onnx.YieldOp)):
                return [self.value(v) for v in op.operands]
            self.op(op)
        raise PassError("convert-onnx-to-loom: a block does not end with onnx.Return or onnx.Yield")

    def op(self, op: Operation) -> None:
        """Converts one op."""
        known = self._known.add(op)
        if isinstance(op, (onnx.ConstantOp, *_NO_VALUE)):
            return
        self.builder.origin = self._origin or _title(op)
        if isinstance(op, onnx.FusedOp):
            self._fused(op, known)
        elif isinstance(op, CONTROL_FLOW):
            self._bind_results(op, control_flow_op(op, self._inputs(op), self))
        elif known:
            self._host(op, PLAN_TIME_REASON)
        else:
            self._single(op)

    def _bind_results(self, op: Operation, results: Sequence[SSAValue]) -> None:
        for old, new in zip(op.results[: len(results)], results, strict=True):
            if old.uses:
                self._check_declared(new, old.type)
            self.bind(old, new)

    def _check_declared(self, value: SSAValue, type_: Attribute) -> None:
        """Compares dims that the type of a result declares, and that of its value leaves open."""
        if not isinstance(value.type, TensorType) or not isinstance(type_, TensorType):
            return
        declared = cast("TensorType[Attribute]", type_).get_shape()
        for axis, (dim, known) in enumerate(zip(declared, shape_of(value), strict=True)):
            if known == DYNAMIC_INDEX != dim:
                self.builder.agreed(self.builder.dim(value, axis), dim, axis)

    def _single(self, op: Operation) -> None:
        lower = lowering_of(op)
        if lower is None and is_elementwise(op):
            lower = lower_elementwise
        reason = RUN_BY_CALLER if is_run_by_caller(op) else f"there is no kernel for {_name(op)}"
        inputs = self._inputs(op)  # makes constants, which must outlive a failed attempt
        if lower is not None:
            with _Attempt(self.builder) as attempt:
                outcome = lower(op, inputs, self.builder)
                if isinstance(outcome, Decline):
                    raise Declined(outcome.reason)
                self._bind_results(op, check_results(f"the lowering of {_name(op)}", op, outcome))
            if attempt.reason is None:
                return
            reason = attempt.reason
        with _Attempt(self.builder) as attempt:
            self._expand(op)
        if attempt.reason is not None:
            self._host(op, reason)

    def _expand(self, op: Operation) -> None:
        """Converts the ops by which the standard defines `op`. Raises Declined if one has no kernel."""
        body = function_body(op)
        if body is None:
            raise Declined(f"the standard does not define {_name(op)} by other ops")
        block, operands = body
        start = self.builder.block.last_op
        inner = BlockConverter(self.builder, self, self._known, self._origin or _title(op))
        for arg, operand in zip(block.args, operands, strict=True):
            inner.bind(arg, self.value(operand))
            if operand in self._known:
                self._known.mark(arg)
        results = inner.block(block)
        made = self.builder.block.first_op if start is None else start.next_op
        while made is not None:
            if any(_is_slow(nested) for nested in made.walk()):
                raise Declined(f"a part of {_name(op)} has no kernel")
            made = made.next_op
        kept = [r for r in op.results if not isinstance(r.type, NoneType)]
        for old, new in zip(kept, results, strict=True):
            self._check_declared(new, old.type)
            self.bind(old, new)

    def _host(self, op: Operation, reason: str) -> None:
        reads = dict.fromkeys((*op.operands, *captured_values(op)))
        arguments = [(v, self.value(v)) for v in reads if not isinstance(v.type, NoneType)]
        step = host_step(op, arguments, reason)
        self.builder.insert(step)
        kept = [r for r in op.results if not isinstance(r.type, NoneType)]
        for old, new in zip(kept, step.results, strict=True):
            self.bind(old, new)

    # Fused ops

    def _fused(self, op: onnx.FusedOp, known: bool) -> None:
        if known or all(v in self._known for v in op.operands):
            self._inline(op)
            return
        kind = op.kind.data
        if self._kinds is None:
            self._kinds = kind_lowerings()
        lowering = self._kinds.get(kind)
        if lowering is None:
            self._fall_back(op, f"there is no lowering for kind {kind!r}")
            return
        with blaming_plugin(lowering.helper):
            verified = lowering.helper.verify_and_retrieve_attrs(op)
        if isinstance(verified, Miss):
            self._fall_back(op, str(verified))
            return
        helper, _ = verified
        inputs = [self.value(v) for v in op.operands]
        with _Attempt(self.builder) as attempt:
            conditions = helper.dim_conditions if lowering.relies_on_dim_conditions(op, helper) else ()
            if conditions and not self._proofs.hold(op, conditions):
                results = self._conditional(op, lowering, helper, inputs)
            else:
                results = _lower_verified(op, lowering, helper, inputs, self.builder)
            self._bind_results(op, results)
        if attempt.reason is not None:
            self._fall_back(op, attempt.reason)

    def _conditional(
        self,
        op: onnx.FusedOp,
        lowering: FusedOpKindLowering[Any],
        helper: Any,
        inputs: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Fused where the dim conditions hold, op by op where they do not; decided at plan time."""
        condition = self.builder.insert(loom.DimsEqualOp(inputs, helper.dim_conditions)).results[0]
        fused, unfused = Block(), Block()
        results = _lower_verified(op, lowering, helper, inputs, self.builder.nested(fused))
        fused.add_op(loom.YieldOp.create(operands=results))
        plain = self.nested(unfused)
        plain._inline(op)
        unfused.add_op(loom.YieldOp.create(operands=[plain.value(r) for r in op.results]))
        return self.builder.insert(
            loom.IfOp.create(
                operands=[condition],
                result_types=[r.type for r in op.results],
                regions=[Region(fused), Region(unfused)],
            )
        ).results

    def _fall_back(self, op: onnx.FusedOp, reason: str) -> None:
        message = f"fused op of kind {op.kind.data!r} runs op by op: {reason}"
        warnings.warn(FusionFallbackWarning(message, op), stacklevel=caller_level())
        self._inline(op)

    def _inline(self, op: onnx.FusedOp) -> None:
        """Converts the body of a fused op in its place (what `FusedOpInlineFallback` means)."""
        block = op.body.block
        for arg, operand in zip(block.args, op.operands, strict=True):
            if not is_none(operand):
                self.bind(arg, self.value(operand))
                if operand in self._known:
                    self._known.mark(arg)
        self._bind_results(op, self.block(block))


def _lower_verified(
    op: onnx.FusedOp,
    lowering: FusedOpKindLowering[Any],
    helper: Any,
    inputs: Sequence[SSAValue],
    builder: KernelBuilder,
) -> Sequence[SSAValue]:
    with blaming_plugin(type(lowering)):
        results = lowering.lower_verified(op, helper, inputs, builder)
        return check_results(f"{type(lowering).__name__}.lower_verified", op, results)


class _Attempt:
    """Undoes what a lowering added to the program when it declines."""

    def __init__(self, builder: KernelBuilder):
        self._builder = builder
        self.reason: str | None = None

    def __enter__(self) -> _Attempt:
        self._saved = self._builder.save()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Declined):
            return False
        self.reason = error.reason
        self._builder.restore(self._saved)
        return True


def _is_slow(op: Operation) -> bool:
    """Whether Python computes something in each run. (What it does with sequences, it does in no time.)"""
    if not isinstance(op, loom.HostOp) or op.reason.data == PLAN_TIME_REASON:
        return False
    fast = (*_OF_SEQUENCES, onnx.NoValueOp, loom.YieldOp)
    return not all(isinstance(inner, fast) for inner in op.body.block.ops)


def _name(op: Operation) -> str:
    if isinstance(op, onnx.CustomOp):
        return f"{op.domain_name.data}::{op.function_name.data}"
    return op.name


def _title(op: Operation) -> str:
    """What messages call an op: `Gather "g1"`; for a fused op, all its ops but constants."""
    if isinstance(op, onnx.FusedOp):
        unnamed = (onnx.ConstantOp, onnx.NoValueOp, onnx.YieldOp)
        return " + ".join(_title(o) for o in op.body.block.ops if not isinstance(o, unnamed))
    name = _name(op).removeprefix("onnx.")
    node = op.attributes.get("onnx_node_name")
    return f'{name} "{node.data}"' if isinstance(node, StringAttr) and node.data else name


def _describe(value: SSAValue) -> str:
    return value.owner.name if isinstance(value.owner, Operation) else "a block argument"
