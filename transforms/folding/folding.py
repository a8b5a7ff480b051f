"""How does one run of a folding pass go over a module and put constants in the place of ops?

One sweep in program order, bodies of control flow before the op that holds them, so that what an op reads
is folded when the op is reached. Ops whose inputs changed behind the sweep are visited again after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Final, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.annotations import FOLDED, OVERRIDABLE, POTENTIAL, is_kept
from onnxloom.transforms.folding.numpy_op import Array
from onnxloom.transforms.folding.report import FoldingReport
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.budget import may_rewrite
from onnxloom.transforms.shape_inference import update_signature

_NODE_NAME: Final = "onnx_node_name"


@dataclass(frozen=True)
class Fold:
    """What takes the place of an op."""

    values: Sequence[Array | SSAValue | None]
    """One per result: an array becomes a constant; None leaves a result as it is."""

    ops: Sequence[Operation] = ()
    """Detached ops that make some of the values; they go in front of the op."""

    what: str = "fold"


Rule: TypeAlias = "Callable[[Operation], Fold | Miss | None]"
"""What to do with an op; None: it is no candidate. A `Miss` shows up in the report."""


class Folding:
    """One run of one pass."""

    def __init__(self, pass_name: str, rule: Rule, report: FoldingReport) -> None:
        self.pass_name = pass_name
        self.rule = rule
        self.report = report
        self.changed = False
        self._module: ModuleOp | None = None
        self._is_sweeping = True
        self._declined: dict[Operation, Miss] = {}
        self._waiting: dict[Operation, None] = {}

    def run(self, module: ModuleOp, finish: Callable[[], None] | None = None) -> None:
        """`finish` is called when the sweep has ended; it may fold more and have ops visited again."""
        self._module = module
        functions = [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]
        for function in functions:
            self._sweep(function.body.block)
        self._is_sweeping = False
        if finish is not None:
            finish()
        self._revisit()
        for op, miss in self._declined.items():
            if self.is_part_of_module(op):
                self.report.decline(op, miss)
        if self.changed:
            for function in functions:
                update_signature(function)

    def is_part_of_module(self, op: Operation) -> bool:
        """Whether neither an op nor one that holds it was removed."""
        outermost = op
        while (parent := outermost.parent_op()) is not None:
            outermost = parent
        return outermost is self._module

    def visit_again(self, ops: Iterable[Operation]) -> None:
        """Has ops visited once more after the sweep, as often as they are announced."""
        self._waiting.update((op, None) for op in ops)

    def _sweep(self, block: Block) -> None:
        op = block.first_op
        while op is not None:
            # Removing `op` removes what it alone read, too: that is before it.
            following = op.next_op
            if not isinstance(op, onnx.FusedOp):
                for region in op.regions:
                    for inner in region.blocks:
                        self._sweep(inner)
            self._visit(op)
            op = following

    def _revisit(self) -> None:
        while self._waiting:
            op = next(iter(self._waiting))
            del self._waiting[op]
            if self.is_part_of_module(op):
                self._visit(op)

    def _visit(self, op: Operation) -> None:
        start = perf_counter_ns()
        outcome = self.rule(op)
        if outcome is None:
            return
        if isinstance(outcome, Miss):
            self._declined[op] = outcome
            return
        self.apply(op, outcome, start)

    def apply(self, op: Operation, fold: Fold, start: int) -> bool:
        """Replaces an op, if another rewrite may be done at all; work on it began at `start`."""
        if not may_rewrite(self.pass_name, fold.what, op):
            return False
        name = op.name
        self._declined.pop(op, None)
        if not self._is_sweeping:
            self.visit_again(use.operation for result in op.results for use in result.uses)
        self._replace(op, fold)
        self.changed = True
        count = self.report.count(name)
        count.folded += 1
        count.nanoseconds += perf_counter_ns() - start
        return True

    def _replace(self, op: Operation, fold: Fold) -> None:
        block = op.parent
        assert block is not None
        for made in fold.ops:
            block.insert_op_before(made, op)
        for index, (result, value) in enumerate(zip(op.results, fold.values, strict=True)):
            if value is None or result.first_use is None:
                continue
            if not isinstance(value, SSAValue):
                constant = self._constant(op, index, value)
                block.insert_op_before(constant, op)
                value = constant.output
            if value.name_hint is None:
                value.name_hint = result.name_hint
            result.replace_all_uses_with(value)
        self._remove_dead(op)

    def _constant(self, op: Operation, index: int, array: Array) -> onnx.ConstantOp:
        """A constant that takes over the annotations and the name of a result."""
        constant = onnx.make_constant(_on_its_own(array))
        constant.attributes.update(op.attributes)
        constant.attributes.pop(POTENTIAL, None)
        name = op.attributes.get(_NODE_NAME)
        if isinstance(name, StringAttr) and len(op.results) > 1:
            constant.attributes[_NODE_NAME] = StringAttr(f"{name.data}:{index}")
        constant.attributes[FOLDED] = StringAttr(self.pass_name)
        return constant

    def _remove_dead(self, op: Operation) -> None:
        """Removes an op if nothing reads it, and what it alone read."""
        stack = [op]
        while stack:
            dead = stack.pop()
            if dead.parent is None or not _is_removable(dead):
                continue
            stack.extend(v.owner for v in dead.operands if isinstance(v.owner, Operation))
            self._declined.pop(dead, None)
            self._waiting.pop(dead, None)
            dead.detach()
            dead.erase()


def _on_its_own(array: Array) -> Array:
    """A copy of what is a small part of other data: a view would keep all of these in memory."""
    base = array.base
    if isinstance(base, np.ndarray) and base.nbytes > 2 * array.nbytes:
        return array.copy()
    return array


def _is_removable(op: Operation) -> bool:
    return is_trivially_dead(op) and OVERRIDABLE not in op.attributes and not is_kept(op)


def is_constant(value: SSAValue) -> bool:
    """Whether a value is a constant that no caller can override, or left out."""
    owner = value.owner
    if isinstance(owner, onnx.ConstantOp):
        return OVERRIDABLE not in owner.attributes
    return is_none(value)
