"""How small a model still shows a fault? The ops at fault, then more and more of what is around them.

Values that come from elsewhere become inputs, with the values they had. Each candidate is tried as it
would be written and read again; the first that still goes wrong is taken, at last the whole model.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.dialects.onnx.text import parse_module, print_module
from onnxloom.errors import OnnxloomError
from onnxloom.lowering.evaluate_module import evaluate_module
from onnxloom.lowering.plan.program import is_array
from onnxloom.tools.bisecting.cut import Cut, cut_out, is_brought_along, outputs_of, reads
from onnxloom.tools.bisecting.window import replaced_values

STEPS = 6
"""How often a candidate grows before the whole model is taken."""

_NOT_COUNTED = (
    onnx.ConstantOp,
    onnx.NoValueOp,
    onnx.ReturnOp,
    onnx.YieldOp,
    onnx.EntryPointOp,
    onnx.FusedOp,
)

Shows = Callable[[ModuleOp, Mapping[str, Any]], str]
"""What is wrong with a model on some inputs; "" when nothing is."""


@dataclass(frozen=True)
class Reduced:
    """A model that shows a fault, and the inputs with which it does."""

    module: ModuleOp
    feeds: Mapping[str, Any]
    ops: int
    fault: str


def reduce_rewrite(
    before: ModuleOp, after: ModuleOp, feeds: Mapping[str, Any], shows: Shows
) -> Reduced | None:
    """The smallest candidate around what a rewrite replaced; None when not one of them shows anything."""
    block = entry_function(before).body.block
    _, ops = replaced_values(before, after)
    for grown in _growing(block, ops):
        cut = cut_out(before, grown, outputs_of(grown))
        observed = observe(before, cut.inputs, feeds)
        found = None if observed is None else _tried(cut, observed, shows)
        if found is not None:
            return found
    return None


def observe(module: ModuleOp, values: Sequence[SSAValue], feeds: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the inputs of a cut held; None where one is no tensor, or was never computed."""
    wanted = {value: f"in{index}" for index, value in enumerate(values)}
    found: dict[str, Any] = {}

    def seen(value: SSAValue, observed: Any) -> None:
        if value in wanted and is_array(observed):
            found[wanted[value]] = observed

    evaluate_module(module, feeds, seen=seen)
    return {name: found[name] for name in wanted.values()} if len(found) == len(wanted) else None


def reduce_op(cut: Cut, feeds: Mapping[str, Any], shows: Shows) -> Reduced | None:
    """One op with what reached it; None when it shows nothing."""
    return _tried(cut, feeds, shows)


def as_read_again(module: ModuleOp, suffix: str) -> ModuleOp:
    """The module as it is after it was written to a file of that kind."""
    if suffix != ".mlir":
        return import_model(export_model(module))
    text = io.StringIO()
    print_module(module, text)
    return parse_module(text.getvalue())


def write_model(module: ModuleOp, path: Path) -> None:
    """As .mlir text, or as a model."""
    if path.suffix != ".mlir":
        from onnxloom.conversion.onnx_export import save_model

        save_model(module, path)
        return
    from onnxloom.dialects.output_file import OutputFile

    text = io.StringIO()
    print_module(module, text)
    with OutputFile(path) as file:
        file.write(text.getvalue().encode())


def _tried(cut: Cut, feeds: Mapping[str, Any], shows: Shows) -> Reduced | None:
    try:
        fault = shows(cut.module, feeds)
    except OnnxloomError:
        return None  # not every cut is a model: a type that only the whole tells may be missing
    return Reduced(cut.module, feeds, _size(cut.module), fault) if fault else None


def _size(module: ModuleOp) -> int:
    """Ops of the standard, in regions too, without constants."""
    ops = [op for op in module.walk() if isinstance(op, onnx.OnnxOp | onnx.CustomOp)]
    return sum(not isinstance(op, _NOT_COUNTED) for op in ops)


def _growing(block: Block, ops: Sequence[Operation]) -> Iterator[list[Operation]]:
    """The ops; with their readers; with what feeds them too; and so on."""
    chosen = {op for op in ops if not isinstance(op, onnx.ConstantOp | onnx.NoValueOp)}
    if not chosen:
        return  # an output that was an input, or a constant, is something else
    for step in range(STEPS):
        chosen |= set(_until_tensors(chosen))
        yield [op for op in block.ops if op in chosen]
        if step % 2 == 0:
            chosen |= set(_readers(block, [result for op in chosen for result in op.results]))
        else:
            chosen |= set(_feeding(chosen))


def _readers(block: Block, values: Sequence[SSAValue]) -> Iterator[Operation]:
    """The ops of the block that read any of the values, in a region of theirs too."""
    for value in values:
        for use in value.uses:
            op = block.find_ancestor_op_in_block(use.operation)
            if op is not None and not isinstance(op, onnx.ReturnOp):
                yield op


def _feeding(ops: set[Operation]) -> Iterator[Operation]:
    for op in ops:
        for value in reads(op):
            if isinstance(value, OpResult) and not is_brought_along(value):
                yield value.op


def _until_tensors(ops: set[Operation]) -> Iterator[Operation]:
    """What makes the sequences and optionals that some ops read: files of arrays do not hold them."""
    from xdsl.dialects.builtin import TensorType, UnrankedTensorType

    waiting = list(ops)
    known = set(ops)
    while waiting:
        for value in reads(waiting.pop()):
            is_tensor = isinstance(value.type, TensorType | UnrankedTensorType)
            if is_tensor or not isinstance(value, OpResult) or is_brought_along(value) or value.op in known:
                continue
            known.add(value.op)
            waiting.append(value.op)
            yield value.op
