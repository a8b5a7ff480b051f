"""How does a `loom.program` become a `Program`?

Slots are numbered in the order of definition. Packing and host steps whose operands are constants
are evaluated here, once for all shape keys; constants nothing reads any more are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, NoneType, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir import Block as IRBlock

from onnxloom.dialects import loom
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.errors import ModelError
from onnxloom.lowering.plan.fold import fold_host, fold_pack
from onnxloom.lowering.plan.host_region import HostParts, host_parts
from onnxloom.lowering.plan.last_use import last_uses
from onnxloom.lowering.plan.program import (
    DYNAMIC,
    Block,
    CheckStep,
    Constants,
    EmptyStep,
    HostStep,
    IfStep,
    IndexStep,
    LaunchStep,
    LoopStep,
    PackStep,
    Program,
    ScanStep,
    Slot,
    Spec,
    Step,
    ViewStep,
)
from onnxloom.lowering.plan.specs import spec_of


def build_program(
    op: loom.ProgramOp,
    constants: Constants,
    host_step: Callable[[loom.HostOp], HostParts] = host_parts,
    result_dims: Sequence[Sequence[str]] = (),
) -> Program:
    """The program as plain data; its constants are added to `constants`.

    `host_step` turns the region of a host op into nodes.
    """
    names = [name.data for name in op.result_names.data]
    dims = [[d.data for d in row.data] for row in op.arg_dims.data] if op.arg_dims is not None else []
    builder = _Builder(constants, host_step)
    return builder.program(
        op.sym_name.data, op.body.block, [a.data for a in op.arg_names.data], dims, names, result_dims
    )


@dataclass
class _Builder:
    table: Constants
    host_step: Callable[[loom.HostOp], HostParts]
    outer: _Builder | None = None
    slots: dict[SSAValue, Slot] = field(default_factory=dict[SSAValue, Slot])
    specs: dict[Slot, Spec] = field(default_factory=dict[Slot, Spec])
    constants: dict[Slot, int] = field(default_factory=dict[Slot, int])
    captures: dict[Slot, Slot] = field(default_factory=dict[Slot, Slot])
    """Slot of the enclosing program -> slot here."""

    def program(
        self,
        name: str,
        block: IRBlock,
        arg_names: Sequence[str],
        arg_dims: Sequence[Sequence[str]],
        result_names: Sequence[str],
        result_dims: Sequence[Sequence[str]],
    ) -> Program:
        args = [self.define(arg) for arg in block.args]
        body = self.block(block)
        args += self.captures.values()
        last_use = last_uses(body)
        constants = {slot: number for slot, number in self.constants.items() if slot in last_use}
        return Program(
            name, tuple(args), tuple(arg_names), tuple(tuple(d) for d in arg_dims), tuple(result_names),
            tuple(tuple(d) for d in result_dims), body, self.specs, constants, last_use,
        )  # fmt: skip

    def define(self, value: SSAValue) -> Slot:
        slot = len(self.specs)
        self.slots[value] = slot
        self.specs[slot] = spec_of(value.type)
        return slot

    def use(self, value: SSAValue) -> Slot:
        """The slot of `value`; a value of the enclosing program becomes a capture."""
        slot = self.slots.get(value)
        if slot is not None:
            return slot
        if self.outer is None:
            raise ModelError(
                f"loom.program: a step reads a value ({value.type}) that nothing before it defines"
            )
        outer = self.outer.use(value)
        slot = self.define(value)
        if outer in self.outer.constants:
            self.constants[slot] = self.outer.constants[outer]
        else:
            self.captures[outer] = slot
        return slot

    def uses(self, values: Sequence[SSAValue]) -> tuple[Slot, ...]:
        return tuple(self.use(v) for v in values)

    def defines(self, values: Sequence[SSAValue]) -> tuple[Slot, ...]:
        return tuple(self.define(v) for v in values)

    def block(self, block: IRBlock) -> Block:
        steps: list[Step] = []
        for op in block.ops:
            if isinstance(op, loom.ReturnOp | loom.YieldOp):
                return Block(tuple(steps), self.uses(op.values))
            step = self.step(op)
            if step is not None:
                steps.append(step)
        raise ModelError("a loom region does not end in loom.return or loom.yield")

    def constant(self, value: SSAValue, array: Any) -> None:
        self.constants[self.define(value)] = self.table.add(array)

    def step(self, op: Operation) -> Step | None:
        """The step of one op; None when its results are constants."""
        match op:
            case loom.ConstantOp():
                return self.constant(op.result, _constant_array(op.value))
            case tensor.EmptyOp():
                shape = tuple(DYNAMIC if d < 0 else d for d in cast(Any, op.tensor.type).get_shape())
                return EmptyStep(shape, self.uses(op.dynamic_sizes), self.define(op.tensor), _origin(op))
            case loom.ViewOp():
                return ViewStep(
                    self.use(op.source), self.use(op.offset), self.uses(op.sizes), self.define(op.result)
                )
            case loom.LaunchOp():
                return self.launch(op)
            case loom.CheckOp():
                return CheckStep(self.use(op.status), op.message.data, _origin(op))
            case loom.PackOp():
                return self.pack(op)
            case loom.HostOp():
                return self.host(op)
            case loom.IfOp():
                condition = self.use(op.condition)
                then_block, else_block = self.block(op.then_region.block), self.block(op.else_region.block)
                results = self.defines(op.results)
                return IfStep(condition, then_block, else_block, results, _origin(op) or "If")
            case loom.LoopOp():
                return self.loop(op)
            case loom.ScanOp():
                return self.scan(op)
            case _:
                return self.index(op)

    def launch(self, op: loom.LaunchOp) -> Step:
        inplace = op.inplace.data if op.inplace is not None else ()
        return LaunchStep(
            op.kernel.string_value(),
            self.uses(op.ins),
            self.uses(op.outs),
            self.uses(op.sizes),
            tuple(tuple(i.value.data for i in row.data) for row in inplace),
            self.defines(op.filled),
        )

    def pack(self, op: loom.PackOp) -> Step | None:
        params = tuple((name, _plain(value)) for name, value in sorted(op.params.data.items()))
        step = PackStep(op.layout.data, params, self.use(op.source), -1)
        if step.source in self.constants:
            return self.constant(op.result, fold_pack(step, self.table.values[self.constants[step.source]]))
        return PackStep(step.layout, params, step.source, self.define(op.result))

    def host(self, op: loom.HostOp) -> Step | None:
        parts = self.host_step(op)
        step = HostStep(
            nodes=parts.nodes,
            arg_names=parts.arg_names,
            result_names=parts.result_names,
            args=self.uses(op.args),
            results=(),
            shape_only=tuple(i.value.data for i in op.shape_only.data) if op.shape_only is not None else (),
            volatile=op.volatile is not None,
            reason=op.reason.data,
            dtypes=tuple(spec_of(r.type).dtype for r in op.results),
            constants=tuple((name, self.table.add(value)) for name, value in parts.constants),
        )
        folded = fold_host(step, self.constants, self.table)
        if folded is None:
            return replace(step, results=self.defines(op.results))
        for value, result in zip(op.results, folded, strict=True):
            self.constant(value, result)
        return None

    def body(self, op: Operation, block: IRBlock, name: str) -> tuple[Program, tuple[Slot, ...]]:
        inner = _Builder(self.table, self.host_step, self)
        names = [f"arg{i}" for i in range(len(block.args))]
        program = inner.program(name, block, names, (), (), ())
        return program, tuple(inner.captures)

    def loop(self, op: loom.LoopOp) -> Step:
        trip_count, condition, carried = (
            self.use(op.trip_count),
            self.use(op.condition),
            self.uses(op.carried),
        )
        body, captures = self.body(op, op.body.block, "loop")
        results = self.defines(op.results)
        return LoopStep(trip_count, condition, carried, captures, body, results, _origin(op) or "Loop")

    def scan(self, op: loom.ScanOp) -> Step:
        params = {name: _plain(value) for name, value in op.params.data.items()}
        scanned = int(cast(int, params["num_scan_inputs"]))
        args = self.uses(op.args)
        states = len(args) - scanned
        outputs = len(op.results) - states
        body, captures = self.body(op, op.body.block, "scan")

        def per(name: str, count: int) -> tuple[int, ...]:
            return cast(tuple[int, ...], params.get(name) or (0,) * count)

        return ScanStep(
            args[:states], args[states:],
            per("scan_input_axes", scanned), per("scan_input_directions", scanned),
            per("scan_output_axes", outputs), per("scan_output_directions", outputs),
            captures, body, self.defines(op.results), _origin(op) or "Scan",
        )  # fmt: skip

    def index(self, op: Operation) -> Step | None:
        if any(isinstance(r.type, NoneType) for r in op.results):  # an omitted optional value
            return self.constant(op.results[0], None)
        if not isinstance(op, loom.PlanTimeOp) and op.dialect_name() != arith.Arith.name:
            raise ModelError(f"loom.program: {op.name} is not an op of a program")
        props = tuple((name, str(value)) for name, value in sorted(op.properties.items()))
        return IndexStep(op.name, props, self.uses(op.operands), self.defines(op.results), _origin(op))


def _origin(op: Operation) -> str:
    """What messages call the op of the model that `op` was made for; "" when it is not said."""
    origin = op.attributes.get("origin")
    return origin.data if isinstance(origin, StringAttr) else ""


def _constant_array(attribute: Attribute) -> Any:
    if isinstance(attribute, NoneType):
        return None
    array = constant_value(attribute)
    if array is None:
        raise ModelError(f"loom.constant: cannot read the tensor in {type(attribute).__name__}")
    if not array.flags.c_contiguous:
        array = np.array(array, order="C")
        array.flags.writeable = False
    return array


def _plain(attribute: Attribute) -> Any:
    """An attribute as numbers, strings and tuples."""
    match attribute:
        case IntegerAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case ArrayAttr():
            return tuple(_plain(a) for a in attribute.data)
        case DictionaryAttr():
            return tuple((name, _plain(a)) for name, a in sorted(attribute.data.items()))
        case _:
            return str(attribute)
