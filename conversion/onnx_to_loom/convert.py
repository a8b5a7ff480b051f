"""How does an onnx function become kernels and a program? The pass `convert-onnx-to-loom`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from onnxloom.conversion.onnx_to_loom.block_converter import BlockConverter
from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.kernel_set import KernelSet
from onnxloom.dialects import loom
from onnxloom.dialects.loom.target import Target
from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.dialects.onnx.module_attributes import dim_names


def _strings(attrs: ArrayAttr[DictionaryAttr] | None, index: int, key: str) -> str | None:
    if attrs is None or index >= len(attrs.data):
        return None
    found = attrs.data[index].data.get(key)
    return found.data if isinstance(found, StringAttr) else None


def _dim_names(function: FuncOp, index: int) -> list[str]:
    type_ = function.body.block.args[index].type
    rank = cast("TensorType[Attribute]", type_).get_num_dims() if isinstance(type_, TensorType) else 0
    names = [""] * rank
    attributes = function.arg_attrs.data[index:] if function.arg_attrs is not None else ()
    for axis, name in dim_names(attributes[0].data).items() if attributes else ():
        if axis < rank:
            names[axis] = name.strip()
    return names


def convert_function(function: FuncOp, kernels: KernelSet) -> loom.ProgramOp:
    """The program of one function; its kernels are added to `kernels`."""
    args = function.body.block.args
    results = function.function_type.outputs.data
    program = loom.ProgramOp(
        function.sym_name.data,
        [a.type for a in args],
        [_strings(cast(Any, function.arg_attrs), i, "onnx.name") or f"arg{i}" for i in range(len(args))],
        [_strings(cast(Any, function.res_attrs), i, "onnx.name") or f"out{i}" for i in range(len(results))],
        [_dim_names(function, i) for i in range(len(args))],
    )
    builder = KernelBuilder(program.body.block, kernels)
    converter = BlockConverter(builder)
    for old, new in zip(args, program.body.block.args, strict=True):
        converter.bind(old, new)
    returned = converter.block(function.body.block)
    builder.insert(loom.ReturnOp.create(operands=returned))
    return program


def remove_unused(program: loom.ProgramOp) -> None:
    """Erases pure ops and fresh destinations that nothing reads."""
    for op in reversed(list(program.walk())):
        if op.results and not any(r.uses for r in op.results) and is_side_effect_free(op):
            op.detach()
            op.erase()


@dataclass(frozen=True)
class ConvertOnnxToLoomPass(ModulePass):
    """Turns the entry function into `loom.kernel`s and one `loom.program`."""

    name = "convert-onnx-to-loom"

    vector_bytes: int = 32
    """Width of a vector register; tiles are shaped for it. Sessions pass the host's."""
    vector_registers: int = 16
    """Number of vector registers."""
    dot_bytes: bool = False
    """Whether the processor sums products of bytes four at a time."""
    winograd: bool = True
    """Whether 3x3 convolutions may be computed as Winograd F(4x4, 3x3), which rounds more."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(isinstance(o, loom.ProgramOp) for o in op.ops):
            return
        function = entry_function(op)
        target = Target(self.vector_bytes, self.vector_registers, self.dot_bytes)
        kernels = KernelSet(target, winograd=self.winograd)
        program = convert_function(function, kernels)
        remove_unused(program)
        launched = {
            launch.kernel.root_reference.data
            for launch in program.walk()
            if isinstance(launch, loom.LaunchOp)
        }
        for old in list(op.ops):
            old.detach()
            old.erase()
        for kernel in kernels.used(launched):
            op.body.block.add_op(kernel)
        op.body.block.add_op(program)
