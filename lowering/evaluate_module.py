"""What does every value of an onnx module hold when it runs, op by op, on the host implementations?

No pass and no kernel is involved: this is the witness that passes, analyses and kernels are compared with.
Bodies of control flow and of fused ops are walked as well, once per iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnrankedTensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr, is_none
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.errors import InputError
from onnxloom.lowering.evaluate_node import NodeEvaluator
from onnxloom.lowering.plan.program import is_array

Seen = Callable[[SSAValue, Any], None]
"""Called for each value whenever it is computed: in loops once per iteration."""

Ran = Callable[[Operation, Sequence[Any], Sequence[Any]], None]
"""Called for each op that computes something, with its inputs and results, whenever it has run."""

_ENDS: Final = (onnx.ReturnOp, onnx.YieldOp)
_STRUCTURAL: Final = (onnx.ConstantOp, onnx.NoValueOp)


def evaluate_module(
    module: ModuleOp, feeds: Mapping[str, Any], *, seen: Seen | None = None, ran: Ran | None = None
) -> dict[str, Any]:
    """Outputs by name of the entry function for inputs by name; the module is not changed.

    An input without a name of its own is fed as `arg0`, or as IR text calls it.

    Raises:
        InputError: an input is missing.
        ModelError: an op cannot be evaluated on what reaches it.
    """
    function = entry_function(module)
    block = function.body.block
    arguments = [
        _fed(feeds, name, argument) for name, argument in zip(input_names(function), block.args, strict=True)
    ]
    with np.errstate(all="ignore"):
        outputs = _Evaluation(seen, ran).block(block, arguments)
    return dict(zip(output_names(function), outputs, strict=True))


def input_names(function: FuncOp) -> list[str]:
    """What a session calls the inputs."""
    return _names(function.arg_attrs, len(function.function_type.inputs.data), "arg")


def output_names(function: FuncOp) -> list[str]:
    """What a session calls the outputs."""
    return _names(function.res_attrs, len(function.function_type.outputs.data), "out")


def _names(attributes: ArrayAttr[DictionaryAttr] | None, count: int, prefix: str) -> list[str]:
    found = [entry.data.get("onnx.name") for entry in attributes.data] if attributes is not None else []
    found += [None] * (count - len(found))
    return [
        name.data if isinstance(name, StringAttr) and name.data else f"{prefix}{index}"
        for index, name in enumerate(found)
    ]


def _fed(feeds: Mapping[str, Any], name: str, argument: SSAValue) -> Any:
    for key in (name, argument.name_hint):
        if key is not None and key in feeds:
            value = feeds[key]
            return cast(Any, np.asarray)(value) if isinstance(value, np.generic) else value
    raise InputError(f"input {name!r} is missing; there are {', '.join(map(repr, feeds)) or 'none'}")


class _Evaluation:
    """One run; values are forgotten after their last reader."""

    def __init__(self, seen: Seen | None, ran: Ran | None) -> None:
        self.seen = seen
        self.ran = ran
        self.values: dict[SSAValue, Any] = {}
        self.nodes = NodeEvaluator()
        self.dying: dict[Block, dict[Operation, list[SSAValue]]] = {}

    def block(self, block: Block, arguments: Sequence[Any]) -> list[Any]:
        """The values that a block ends with."""
        for argument, value in zip(block.args, arguments, strict=True):
            self.set(argument, value)
        dying = self.dying.get(block)
        if dying is None:
            dying = self.dying[block] = _last_readers(block)
        for op in block.ops:
            if isinstance(op, _ENDS):
                return [self.values[value] for value in op.operands]
            self.step(op)
            for value in dying.get(op, ()):
                del self.values[value]
        return []

    def step(self, op: Operation) -> None:
        results = list(self.run(op))
        results += [None] * (len(op.results) - len(results))
        for result, value in zip(op.results, results, strict=True):
            self.set(result, value)
        if self.ran is not None and not isinstance(op, _STRUCTURAL):
            self.ran(op, [self.values[value] for value in op.operands], results)

    def set(self, value: SSAValue, observed: Any) -> None:
        self.values[value] = observed
        if self.seen is not None and not is_none(value):
            self.seen(value, observed)

    def run(self, op: Operation) -> Sequence[Any]:
        match op:
            case onnx.NoValueOp():
                return [None]
            case onnx.ConstantOp():
                return [constant_value(op.output)]
            case onnx.DimOp():
                return [np.array([np.shape(self.values[op.data])[int_attr(op, "axis", 0)]], np.int64)]
            case onnx.IfOp():
                return self.region(op.then_branch if _flag(self.values[op.cond]) else op.else_branch, [])
            case onnx.LoopOp():
                return self.loop(op)
            case onnx.ScanOp():
                return self.scan(op)
            case onnx.SequenceMapOp():
                return self.sequence_map(op)
            case onnx.FusedOp():
                return self.region(op.body, [self.values[value] for value in op.inputs])
            case _:
                return self.nodes.evaluate(op, self.values)

    def region(self, region: Region, arguments: Sequence[Any]) -> list[Any]:
        return self.block(region.block, arguments)

    def loop(self, op: onnx.LoopOp) -> list[Any]:
        limit = None if is_none(op.M) else int(np.reshape(self.values[op.M], ()))
        goes_on = is_none(op.cond) or _flag(self.values[op.cond])
        carried = [self.values[value] for value in op.v_initial]
        scanned = op.results[len(carried) :]
        columns: list[list[Any]] = [[] for _ in scanned]
        step = 0
        while goes_on and (limit is None or step < limit):
            first = [_of_rank(np.array(step, np.int64), op.body, 0), _of_rank(np.array(True), op.body, 1)]
            condition, *rest = self.region(op.body, [*first, *carried])
            goes_on = _flag(condition)
            carried = rest[: len(carried)]
            for column, value in zip(columns, rest[len(carried) :], strict=True):
                column.append(value)
            step += 1
        return [*carried, *(_stacked(c, r.type, 0) for c, r in zip(columns, scanned, strict=True))]

    def scan(self, op: onnx.ScanOp) -> list[Any]:
        count = int_attr(op, "num_scan_inputs")
        values = [self.values[value] for value in op.operands]
        states, inputs = values[: len(values) - count], values[len(values) - count :]
        scanned = op.results[len(states) :]
        in_axes = ints_attr(op, "scan_input_axes") or (0,) * count
        backwards = ints_attr(op, "scan_input_directions") or (0,) * count
        out_axes = ints_attr(op, "scan_output_axes") or (0,) * len(scanned)
        reversed_ = ints_attr(op, "scan_output_directions") or (0,) * len(scanned)
        slices = [
            np.flip(np.moveaxis(value, axis, 0), 0) if back else np.moveaxis(value, axis, 0)
            for value, axis, back in zip(inputs, in_axes, backwards, strict=True)
        ]
        columns: list[list[Any]] = [[] for _ in scanned]
        for row in zip(*slices, strict=True):
            results = self.region(op.body, [*states, *map(np.asarray, row)])
            states = results[: len(states)]
            for column, value in zip(columns, results[len(states) :], strict=True):
                column.append(value)
        ordered = [c[::-1] if back else c for c, back in zip(columns, reversed_, strict=True)]
        outputs = zip(ordered, scanned, out_axes, strict=True)
        return [*states, *(_stacked(column, result.type, axis) for column, result, axis in outputs)]

    def sequence_map(self, op: onnx.SequenceMapOp) -> list[Any]:
        values = [self.values[value] for value in op.operands]
        columns: list[list[Any]] = [[] for _ in op.results]
        for index in range(len(values[0])):
            row: list[Any] = [value[index] if isinstance(value, list) else value for value in values]
            for column, value in zip(columns, self.region(op.body, row), strict=True):
                column.append(value)
        return columns


def _last_readers(block: Block) -> dict[Operation, list[SSAValue]]:
    """Op -> values of the block that nothing reads after it."""
    last: dict[SSAValue, Operation] = {}
    own: set[SSAValue] = {*block.args, *(result for op in block.ops for result in op.results)}
    for op in block.ops:
        last.update((result, op) for result in op.results)
        last.update((value, op) for inner in op.walk() for value in inner.operands if value in own)
    dying: dict[Operation, list[SSAValue]] = {}
    for value, op in last.items():
        dying.setdefault(op, []).append(value)
    return dying


def _flag(value: Any) -> bool:
    return bool(np.reshape(value, ()))


def _of_rank(scalar: Any, body: Region, index: int) -> Any:
    """The scalar in the rank that the body declares for its argument: [] or [1]."""
    declared = body.block.args[index].type
    rank = len(cast("TensorType[Attribute]", declared).get_shape()) if isinstance(declared, TensorType) else 0
    return scalar.reshape((1,) * rank)


def _stacked(rows: Sequence[Any], declared: Attribute, axis: int) -> Any:
    """Rows along a new axis; without any, as many dims as the result declares."""
    if rows and not is_array(rows[0]):
        return list(rows)
    if rows:
        return np.stack(rows, axis)
    if isinstance(declared, UnrankedTensorType):
        return np.empty((0,), dtype_of_element(cast("UnrankedTensorType[Attribute]", declared).element_type))
    if not isinstance(declared, TensorType):
        return []
    tensor = cast("TensorType[Attribute]", declared)
    shape = [0 if dim == DYNAMIC_INDEX else dim for dim in tensor.get_shape()]
    if shape:
        shape[axis] = 0
    return np.empty(shape, dtype_of_element(tensor.element_type))
