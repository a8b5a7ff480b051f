"""Which inner values of a module can be compared, what are they called, and how do they become outputs?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.lowering.evaluate_module import output_names
from onnxloom.transforms.describe import describe

NODE_NAME = "onnx_node_name"


@dataclass(frozen=True)
class InnerValue:
    """A tensor that the top level of a module computes."""

    title: str
    """The node and op that give it; of a fused op, the one inside whose result it is."""
    value: OpResult
    source: OpResult
    """The value itself, or what the fused op yields as it."""


def inner_values(module: ModuleOp) -> list[InnerValue]:
    """All of them, in order."""
    found: list[InnerValue] = []
    for op in entry_function(module).body.block.ops:
        if isinstance(op, onnx.ConstantOp | onnx.NoValueOp):
            continue
        for result in op.results:
            source = _inside(result)
            if source is not None and isinstance(result.type, TensorType | UnrankedTensorType):
                found.append(InnerValue(_title(op, source), result, source))
    return found


def _inside(value: SSAValue) -> OpResult | None:
    """What a fused op yields as this result of it; any other value itself. None for a passed-on input."""
    while isinstance(value, OpResult) and isinstance(value.op, onnx.FusedOp):
        end = value.op.body.block.last_op
        assert end is not None
        value = end.operands[value.index]
    return value if isinstance(value, OpResult) else None


def _title(op: Operation, source: OpResult) -> str:
    title = describe(source.op)
    if sum(not is_none(result) for result in source.op.results) > 1:
        title += f" result {source.index}"
    return f"{title}, end of {op.kind.data}" if isinstance(op, onnx.FusedOp) else title


class Origins:
    """Finds the values of an optimized module again in a copy made before the passes.

    By node name and op: an op that a pass puts in the place of another inherits the name, but stands for
    the same value only while it is the same op.
    """

    def __init__(self, module: ModuleOp) -> None:
        """To be made before the passes; gives every op without a name one."""
        for number, op in enumerate(_ops(module)):
            if NODE_NAME not in op.attributes:
                op.attributes[NODE_NAME] = StringAttr(f"#{number}")
        self.copy = module.clone()
        keys = Counter(_key(op) for op in _ops(self.copy))
        self._ops = {_key(op): op for op in _ops(self.copy) if keys[_key(op)] == 1}

    def of(self, value: InnerValue) -> SSAValue | None:
        """The value of the copy; None where there is none, or no one can tell."""
        found = self._ops.get(_key(value.source.op))
        return None if found is None else found.results[value.source.index]


def _ops(module: ModuleOp) -> Iterator[Operation]:
    for op in entry_function(module).body.block.ops:
        if not isinstance(op, onnx.ConstantOp | onnx.NoValueOp | onnx.ReturnOp):
            yield op


def _key(op: Operation) -> tuple[str, Attribute | None]:
    return op.name, op.attributes.get(NODE_NAME)


def add_outputs(module: ModuleOp, values: Sequence[SSAValue]) -> list[str]:
    """Makes these values outputs of the entry function too; gives their names."""
    function = entry_function(module)
    end = function.body.block.last_op
    assert end is not None
    taken = output_names(function)
    names = [f"value {index}" for index in range(len(values))]
    while set(taken) & set(names):
        names = [f"{name}'" for name in names]
    end.operands = [*end.operands, *values]
    types = function.function_type
    outputs: list[Attribute] = [*types.outputs.data, *(value.type for value in values)]
    function.properties["function_type"] = FunctionType.from_lists(types.inputs.data, outputs)
    known: list[DictionaryAttr] = list(function.res_attrs.data) if function.res_attrs is not None else []
    known += [_named(name) for name in taken[len(known) :]]
    function.properties["res_attrs"] = ArrayAttr([*known, *(_named(name) for name in names)])
    return names


def _named(name: str) -> DictionaryAttr:
    return DictionaryAttr({"onnx.name": StringAttr(name)})
