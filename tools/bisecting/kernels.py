"""Which op of an optimized module has a kernel that does not do what the op does?

Each op, or fused op, is compiled alone and run on what reaches it when the module is evaluated on the host.
Bodies of control flow are walked: their ops run on what reaches them in each iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.errors import OnnxloomError
from onnxloom.lowering.compile import CompileOptions, compile_module
from onnxloom.lowering.evaluate_module import evaluate_module
from onnxloom.lowering.runtime.model import CompiledModel
from onnxloom.testing.difference import differences
from onnxloom.testing.tolerance import Tolerance
from onnxloom.tools.bisecting.cut import Cut, cut_out
from onnxloom.tools.numerics.witnesses import without_warnings
from onnxloom.transforms.describe import describe


@dataclass(frozen=True)
class WrongKernel:
    """An op whose kernel gives something else than the op."""

    op: Operation
    fault: str
    cut: Cut
    """The op as a model of its own."""
    feeds: Mapping[str, Any]
    """What reached it."""

    @property
    def title(self) -> str:
        """`onnx.Conv "conv1"`; of a fused op, its kind and ops."""
        if not isinstance(self.op, onnx.FusedOp):
            return describe(self.op)
        structural = (onnx.ConstantOp, onnx.NoValueOp, onnx.YieldOp)
        inner = [describe(op) for op in self.op.body.block.ops if not isinstance(op, structural)]
        return f"{self.op.kind.data} of {', '.join(inner)}"


def find_wrong_kernel(
    module: ModuleOp, feeds: Mapping[str, Any], tolerance: Tolerance, options: CompileOptions
) -> WrongKernel | None:
    """The first op, as the module runs, whose kernel is out of tolerance; None when there is none."""
    search = _Search(module, tolerance, replace(options, opt_level=0))
    try:
        with without_warnings():
            evaluate_module(module, feeds, ran=search.ran)
    except _Found as found:
        return found.kernel
    return None


class _Found(Exception):
    def __init__(self, kernel: WrongKernel) -> None:
        super().__init__()
        self.kernel = kernel


@dataclass
class _Search:
    module: ModuleOp
    tolerance: Tolerance
    options: CompileOptions
    compiled: dict[Operation, tuple[Cut, CompiledModel | str]] = field(
        default_factory=dict[Operation, tuple[Cut, CompiledModel | str]]
    )
    """By op; what is wrong with it where it does not compile."""

    def ran(self, op: Operation, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        """Compares the op's kernel with what the op has just given. Raises _Found."""
        parent = op.parent_op()
        if isinstance(parent, onnx.FusedOp) or (op.regions and not isinstance(op, onnx.FusedOp)):
            return
        if op not in self.compiled:
            self.compiled[op] = self.compile(op)
        cut, model = self.compiled[op]
        values = dict(zip(op.operands, inputs, strict=True))
        feeds = {name: values[v] for name, v in zip(cut.input_names, cut.inputs, strict=True)}
        shown = [value for value, result in zip(results, op.results, strict=True) if not is_none(result)]
        want = {f"out{index}": value for index, value in enumerate(shown)}
        fault = model if isinstance(model, str) else self.fault(model, feeds, want)
        if fault:
            raise _Found(WrongKernel(op, fault, cut, feeds))

    def compile(self, op: Operation) -> tuple[Cut, CompiledModel | str]:
        cut = cut_out(self.module, [op], [result for result in op.results if not is_none(result)])
        try:
            return cut, compile_module(cut.module, self.options)
        except OnnxloomError as error:
            return cut, f"it does not compile: {error}"

    def fault(self, model: CompiledModel, feeds: Mapping[str, Any], want: Mapping[str, Any]) -> str:
        try:
            with np.errstate(all="ignore"):
                found = differences(want, model.run(feeds), self.tolerance)
        except OnnxloomError as error:
            return f"it does not run: {error}"
        return str(found[0]) if found else ""
