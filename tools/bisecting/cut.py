"""How are some ops of a module made a model of their own?

What they read from elsewhere becomes inputs, but for constants, which come along: patterns match on them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.captures import captured_values

BROUGHT_ALONG = (onnx.ConstantOp, onnx.NoValueOp)
"""Ops that come along with whatever reads them."""

_KEPT_ATTRIBUTES = ("onnx.ir_version", "onnx.opset_imports")
NAME = "main_graph"


@dataclass(frozen=True)
class Cut:
    """A model made of some ops of another."""

    module: ModuleOp
    inputs: tuple[SSAValue, ...]
    """The values, in the module it was cut from, that its inputs stand for."""

    @property
    def input_names(self) -> list[str]:
        return [f"in{index}" for index in range(len(self.inputs))]


def cut_out(source: ModuleOp, ops: Sequence[Operation], outputs: Sequence[SSAValue]) -> Cut:
    """The model of `ops` (a producer before its readers) that gives `outputs`."""
    inside = set(ops)
    read = dict.fromkeys(value for op in ops for value in reads(op))
    read.update(dict.fromkeys(outputs))
    outer = [value for value in read if not (isinstance(value, OpResult) and value.op in inside)]
    brought = [v.op for v in outer if isinstance(v, OpResult) and is_brought_along(v)]
    inputs = [value for value in outer if not is_brought_along(value)]
    block = Block(arg_types=[value.type for value in inputs])
    copies: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for op in (*dict.fromkeys(brought), *ops):
        block.add_op(op.clone(copies))
    block.add_op(onnx.ReturnOp.create(operands=[copies[value] for value in outputs]))
    types = FunctionType.from_lists([value.type for value in inputs], [value.type for value in outputs])
    function = FuncOp(
        NAME,
        types,
        Region(block),
        arg_attrs=_named("in", len(inputs)),
        res_attrs=_named("out", len(outputs)),
    )
    kept = {name: source.attributes[name] for name in _KEPT_ATTRIBUTES if name in source.attributes}
    module = ModuleOp([function], kept)
    module.body.block.add_op(onnx.EntryPointOp.create(properties={"func": SymbolRefAttr(NAME)}))
    return Cut(module, tuple(inputs))


def is_brought_along(value: SSAValue) -> bool:
    """Whether a value comes along with the ops that read it."""
    return isinstance(value, OpResult) and isinstance(value.op, BROUGHT_ALONG)


def reads(op: Operation) -> Iterator[SSAValue]:
    """What an op reads, its regions included."""
    yield from op.operands
    yield from captured_values(op)


def outputs_of(ops: Sequence[Operation]) -> list[SSAValue]:
    """The results of some ops that anything else reads; those of the last op where there are none."""
    inside = set(ops)
    results: list[SSAValue] = [result for op in ops for result in op.results if not is_none(result)]
    found = [value for value in results if not all(_is_below(use.operation, inside) for use in value.uses)]
    return found or [result for result in ops[-1].results if not is_none(result)]


def _is_below(op: Operation | None, ops: Container[Operation]) -> bool:
    """Whether an op, or one around it, is among some."""
    while op is not None and op not in ops:
        op = op.parent_op()
    return op is not None


def _named(prefix: str, count: int) -> ArrayAttr[DictionaryAttr]:
    names = (StringAttr(f"{prefix}{index}") for index in range(count))
    return ArrayAttr([DictionaryAttr({"onnx.name": name}) for name in names])
