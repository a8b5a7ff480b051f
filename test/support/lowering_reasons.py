"""Why does the lowering of a single op decline? Asked directly: no function body, no host step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from onnxloom.conversion.onnx_to_loom.block_converter import BlockConverter
from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_set import KernelSet
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering_of
from onnxloom.dialects import onnx
from onnxloom.dialects.loom.target import Target
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.text import parse_module

Case: TypeAlias = tuple[str, list[str], str, list[str]]
"""Op, operands, attributes, results; see `op_text`."""


def op_text(name: str, operands: Sequence[str], attributes: str, results: Sequence[str]) -> str:
    """A function of one op. An operand is a type, `dense<...> : type`, or `none`; so is a result a type."""
    arguments: list[str] = []
    lines: list[str] = ['  %none = "onnx.NoValue"() {value} : () -> none']
    names: list[str] = []
    types: list[str] = []
    for i, operand in enumerate(operands):
        type_ = operand.split(" : ")[-1]
        names.append("%none" if operand == "none" else f"%x{i}")
        types.append(type_)
        if operand.startswith("dense"):
            lines.append(f"  %x{i} = onnx.Constant {operand}")
        elif operand != "none":
            arguments.append(f"%x{i}: {type_}")
    made = ", ".join(f"%r{i}" for i in range(len(results)))
    given = f" {{{attributes}}}" if attributes else ""
    signature = f"({', '.join(types)}) -> ({', '.join(results)})"
    lines.append(f'  {made} = "onnx.{name}"({", ".join(names)}){given} : {signature}')
    kept = [(f"%r{i}", type_) for i, type_ in enumerate(results) if type_ != "none"]
    returned = ", ".join(value for value, _ in kept)
    outputs = ", ".join(type_ for _, type_ in kept)
    head = f"func.func @main({', '.join(arguments)}) -> ({outputs})"
    return "\n".join([head + " {", *lines, f"  onnx.Return {returned} : {outputs}", "}"])


def new_builder(block: Block) -> KernelBuilder:
    """Writes into a block, for the default target."""
    return KernelBuilder(block, KernelSet(Target()))


def prepared(text: str) -> tuple[Operation, Inputs, KernelBuilder]:
    """The op before the terminator of a function, its operands as program values, and where to lower it."""
    function = next(op for op in parse_module(text).ops if isinstance(op, FuncOp))
    source = function.body.block
    ops = [op for op in source.ops if not isinstance(op, onnx.ConstantOp | onnx.NoValueOp | onnx.ReturnOp)]
    block = Block(arg_types=[value.type for value in source.args])
    builder = new_builder(block)
    converter = BlockConverter(builder)
    for old, new in zip(source.args, block.args, strict=True):
        converter.bind(old, new)
    (op,) = ops
    return op, [None if is_none(v) else converter.value(v) for v in op.operands], builder


def reason_of(case: Case) -> str | None:
    """Why the op is not lowered; None if it is."""
    op, inputs, builder = prepared(op_text(*case))
    lower = lowering_of(op)
    assert lower is not None
    try:
        lower(op, inputs, builder)
    except Declined as declined:
        return declined.reason
    return None


def check(cases: Mapping[str, tuple[Case, str | None]]) -> pytest.MarkDecorator:
    """Runs a test for each case and its reason."""
    return pytest.mark.parametrize("case, reason", list(cases.values()), ids=list(cases))


def tensors(*shapes: str, element: str = "f32") -> list[str]:
    return [f"tensor<{shape}x{element}>" if shape else f"tensor<{element}>" for shape in shapes]


def custom(name: str, operands: list[str], results: list[str]) -> Case:
    return ("Custom", operands, f'domain_name = "com.microsoft", function_name = "{name}"', results)


def rnn(attributes: str = "", r: str = "1x2x2", element: str = "f32") -> Case:
    operands = tensors("5x1x3", "1x2x3", r, element=element)
    results = tensors("5x1x1x2", "1x1x2", element=element)
    return ("RNN", [*operands, "none", "none", "none"], attributes, results)


TREE = {
    "nodes_splits": "dense<[0.0, 1.0]> : tensor<2xf32>",
    "leaf_weights": "dense<[1.0, 2.0, 3.0]> : tensor<3xf32>",
    "nodes_modes": "dense<0> : tensor<2xui8>",
    "nodes_featureids": "[0 : si64, 1 : si64]",
    "nodes_truenodeids": "[1 : si64, 1 : si64]",
    "nodes_trueleafs": "[0 : si64, 1 : si64]",
    "nodes_falsenodeids": "[0 : si64, 2 : si64]",
    "nodes_falseleafs": "[1 : si64, 1 : si64]",
    "leaf_targetids": "[0 : si64, 0 : si64, 0 : si64]",
    "tree_roots": "[0 : si64]",
    "n_targets": "1 : si64",
}
"""Node 0: leaf 0 or node 1; node 1: leaf 2 or leaf 1."""


def trees(x: str = "tensor<4x2xf32>", without: str = "", **changes: str) -> Case:
    given = {name: value for name, value in {**TREE, **changes}.items() if name != without}
    attributes = ", ".join(f"{name} = {value}" for name, value in given.items())
    return ("TreeEnsemble", [x], attributes, [x.replace("4x2", "4x1")])
