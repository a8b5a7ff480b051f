"""What does every value of a function hold when it runs, op by op, on the host implementations?

An independent witness for analyses: no pass and no kernel is involved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from onnxloom.conversion.onnx_export.node import captured_values, op_to_node
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.lowering.runtime.host_ops import evaluate

Seen = Callable[[SSAValue, Any], None]
"""Called for each value whenever it is computed: in loops once per iteration."""


def observe(module: ModuleOp, inputs: Mapping[str, Any], seen: Seen) -> list[Any]:
    """Run the first function of a module; gives its outputs."""
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    block = function.body.block
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    arguments = [
        inputs[_input_name(attributes[index] if index < len(attributes) else None, argument)]
        for index, argument in enumerate(block.args)
    ]
    return _Observer(seen).block(block, arguments)


def _input_name(attributes: DictionaryAttr | None, argument: SSAValue) -> str:
    name = None if attributes is None else attributes.data.get("onnx.name")
    return name.data if isinstance(name, StringAttr) else argument.name_hint or ""


class _Observer:
    def __init__(self, seen: Seen):
        self.seen = seen
        self.values: dict[SSAValue, Any] = {}

    def block(self, block: Block, arguments: Sequence[Any]) -> list[Any]:
        """The values that a block ends with."""
        for argument, value in zip(block.args, arguments, strict=True):
            self.set(argument, value)
        for op in block.ops:
            if isinstance(op, onnx.ReturnOp | onnx.YieldOp):
                return [self.values[value] for value in op.operands]
            for result, value in zip(op.results, self.run(op), strict=False):
                self.set(result, value)
        return []

    def set(self, value: SSAValue, observed: Any) -> None:
        self.values[value] = observed
        if not is_none(value):
            self.seen(value, observed)

    def run(self, op: Operation) -> Sequence[Any]:
        match op:
            case onnx.NoValueOp():
                return [None]
            case onnx.ConstantOp():
                return [constant_value(op.output)]
            case onnx.DimOp():
                data = self.values[op.data]
                return [np.array([data.shape[op.axis.value.data if op.axis else 0]], np.int64)]  # pyright: ignore
            case onnx.IfOp():
                return self.region(op.then_branch if bool(self.values[op.cond]) else op.else_branch, [])
            case onnx.LoopOp():
                return self.loop(op)
            case onnx.FusedOp():
                return self.region(op.body, [self.values[value] for value in op.inputs])
            case _:
                return self.node(op)

    def region(self, region: Region, arguments: Sequence[Any]) -> list[Any]:
        return self.block(region.block, arguments)

    def loop(self, op: onnx.LoopOp) -> list[Any]:
        limit = None if is_none(op.M) else int(np.reshape(self.values[op.M], ()))
        goes_on = is_none(op.cond) or bool(self.values[op.cond])
        carried = [self.values[value] for value in op.v_initial]
        columns: list[list[Any]] = [[] for _ in op.results[len(carried) :]]
        step = 0
        while goes_on and (limit is None or step < limit):
            condition = np.array(goes_on)
            goes_on, *rest = self.region(op.body, [np.array(step, np.int64), condition, *carried])
            goes_on = bool(goes_on)
            carried = rest[: len(carried)]
            for column, value in zip(columns, rest[len(carried) :], strict=True):
                column.append(value)
            step += 1
        return [*carried, *(np.stack(column) if column else None for column in columns)]

    def node(self, op: Operation) -> Sequence[Any]:
        names = {value: f"v{index}" for index, value in enumerate((*op.operands, *captured_values(op)))}
        inputs = ["" if is_none(value) else names[value] for value in op.operands]
        outputs = ["" if is_none(result) else f"r{index}" for index, result in enumerate(op.results)]
        node = op_to_node(op, inputs, outputs, captured=names)
        results = evaluate(node, [self.values[op.operands[i]] for i, _ in enumerate(node.input)])
        return [*results, *[None] * (len(op.results) - len(results))]
