"""How are the steps of a program turned into a plan for given shapes?

The filler walks the steps in order with concrete shapes. What can be computed from shapes and known
contents is computed on the way: sizes, constant subgraphs, branches of an `If`. Launches become
records. Where the walk cannot go on without running something, the stretch ends; it is taken up
again, in a child node, once the result was observed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from onnxloom.lowering.plan.fold import read_only
from onnxloom.lowering.plan.memo import Memo
from onnxloom.lowering.plan.node import Frame, Node, State, StepEnd, ValueEnd
from onnxloom.lowering.plan.program import (
    Array,
    Constants,
    HostStep,
    KernelWork,
    Program,
    ShapeOf,
    Slot,
    is_array,
    numpy_dtype,
)
from onnxloom.lowering.plan.values import Buffer, Value, known_value
from onnxloom.lowering.plan.walk import Walk
from onnxloom.lowering.plan.work import Share, share_of


class Filler:
    """Fills plans of one program.

    `kernel_address` gives the address of a kernel by name; `run_host` evaluates a host step on known
    inputs. `works` has the kernels whose tasks `threads` threads may share. Kernels are `checked` or not.
    """

    def __init__(
        self,
        program: Program,
        constants: Constants,
        kernel_address: Callable[[str], int],
        run_host: Callable[[HostStep, Sequence[Any]], list[Any]],
        memo: Memo,
        works: Mapping[str, KernelWork] | None = None,
        threads: int = 1,
        checked: bool = False,
    ) -> None:
        self.works = works or {}
        self.threads = threads
        self.checked = checked
        self.program = program
        self.constants = constants
        self.kernel_address = kernel_address
        self.run_host = run_host
        self.memo = memo
        self.dtypes = {
            slot: numpy_dtype(spec.dtype) if spec.kind == "tensor" else None
            for slot, spec in program.specs.items()
        }
        self._constant_values: dict[Slot, Value] = {}

    def share(self, kernel: str, sizes: Sequence[int]) -> Share:
        """How a launch is shared out."""
        return share_of(self.works.get(kernel), sizes, self.threads)

    def root(self, args: Sequence[Any]) -> Node:
        """The first node of the plan for arguments of these shapes; contents are not looked at.

        Raises:
            ModelError: an argument is not of the type that the program declares (as loop bodies may).
        """
        block = self.program.block
        walk = Walk(self, State((Frame(block, 0, (), ()),), {}, len(args), 0, len(block.steps)))
        for cell, (slot, arg) in enumerate(zip(self.program.args, args, strict=True)):
            walk.bind(slot, _observed(arg, cell))
        return walk.node()

    def after_value(self, node: Node, contents: Any) -> Node:
        """The child of a node that ended with a value whose contents are `contents`."""
        end = node.end
        assert isinstance(end, ValueEnd)
        found = known_value(read_only(np.array(contents)) if is_array(contents) else contents)
        env = {s: found if v is end.value else v for s, v in node.state.env.items()}
        return Walk(self, replace(node.state, env=env)).node()

    def after_step(self, node: Node, results: Sequence[Any]) -> Node:
        """The child of a node that ended with a step that gave `results`."""
        end = node.end
        assert isinstance(end, StepEnd)
        walk = Walk(self, node.state)
        for slot, cell, result in zip(end.step.results, end.cells, results, strict=True):
            walk.bind(slot, _observed(result, cell))
        walk.advance()
        return walk.node()

    def constant(self, slot: Slot) -> Value | None:
        value = self._constant_values.get(slot)
        if value is None and slot in self.program.constants:
            number = self.program.constants[slot]
            found = self.constants.values[number]
            if isinstance(found, ShapeOf):
                value = Value(numpy_dtype(found.dtype), found.shape)
            else:
                value = known_value(found, number)
            self._constant_values[slot] = value
        return value


def _observed(result: Any, cell: int) -> Value | int:
    if type(result) is int:  # a size that a loop's body captures
        return result
    if is_array(result):
        array: Array = result
        return Value(array.dtype, array.shape, buffer=Buffer(array.nbytes, cell))
    return Value(None, (), buffer=Buffer(0, cell))
