"""`optimize`: rewrites a module by patterns.

Graphs inside ops come first, so that the outer ones see what became of them; one that reads something
else than before, after an outer rewrite, is looked at again. Whatever goes wrong, the module is then as
it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from onnxloom.errors import PassError
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.miss import reasons_wanted
from onnxloom.transforms.plugins import place_in_source
from onnxloom.transforms.rewriting.block_driver import BlockDriver
from onnxloom.transforms.rewriting.blocks import function_bodies, inner_blocks
from onnxloom.transforms.rewriting.constants import ConstantValues
from onnxloom.transforms.rewriting.edits import Edits, Journal
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.options import RewriteOptions
from onnxloom.transforms.rewriting.pattern import PatternOptimization
from onnxloom.transforms.rewriting.report import RewriteReport
from onnxloom.transforms.rewriting.run import Run

if TYPE_CHECKING:
    from onnxloom.transforms.rewriting.recording import Batch, Recorder

__all__ = ["RewriteOptions", "optimize"]

_DEFAULT: Final = RewriteOptions()

_SWEEPS: Final = 10
"""How often a graph inside an op is looked at again because an outer one has changed."""


def optimize(
    module: ModuleOp,
    patterns: Sequence[PatternOptimization | type[PatternOptimization]],
    options: RewriteOptions = _DEFAULT,
    report: RewriteReport | None = None,
    recorder: Recorder | None = None,
) -> int:
    """Rewrites every function of a module; gives the number of rewrites.

    Raises:
        PassError: a pattern failed or broke a rule, or patterns undo each other; names them. The
            module is as it was before.
        ModelError: the shapes of an op's inputs contradict each other.
    """
    chosen = [_made(pattern) if isinstance(pattern, type) else pattern for pattern in patterns]
    return Optimization(module, chosen, options, report, recorder).run()


def _made(pattern: type[PatternOptimization]) -> PatternOptimization:
    try:
        return pattern()
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}{place_in_source(error, pattern)}"
        raise PassError(f"pattern {pattern.name} cannot be made without arguments: {why}") from error


class Optimization:
    """One call of `optimize`."""

    def __init__(
        self,
        module: ModuleOp,
        patterns: Sequence[PatternOptimization],
        options: RewriteOptions,
        report: RewriteReport | None,
        recorder: Recorder | None,
    ):
        self.module = module
        self.options = options
        self.report = report
        self.dims = DimAnalysis.of(module)
        self.constants = ConstantValues(options.fold)
        self.journal = Journal()
        self.touched: dict[Operation, None] = {}
        """Ops that lost a reader in a block inside theirs."""

        recorded: Callable[[str], AbstractContextManager[Batch]] | None = None
        if recorder is not None:
            recorded = lambda name: recorder.batch(module, name)  # noqa: E731 (typed where it is kept)
        self.state = Run(self._fitting(patterns), options, report, recorded)

    def _fitting(self, patterns: Sequence[PatternOptimization]) -> list[PatternOptimization]:
        """Those whose results the opset has."""
        opset = self.options.opset
        if opset is None:
            return list(patterns)
        late = [f"{pattern.name} ({pattern.min_opset})" for pattern in patterns if pattern.min_opset > opset]
        if late and self.report is not None:
            more = f" and {len(late) - 4} more" if len(late) > 4 else ""
            note = f"left out, for they make ops of a later opset than {opset}: {', '.join(late[:4])}{more}"
            if note not in self.report.notes:
                self.report.notes.append(note)
        return [pattern for pattern in patterns if pattern.min_opset <= opset]

    def run(self) -> int:
        if not self.state.patterns:
            return 0
        before = None if self.report is None else self.report.changes()
        with reasons_wanted(self.report is not None):
            try:
                for function, body in function_bodies(self.module):
                    self._drive(body, f"@{function.sym_name.data}")
            except BaseException:
                self.journal.roll_back()
                if self.report is not None and before is not None:
                    self.report.take_back(before)
                raise
        return self.state.rewrites

    def _drive(self, block: Block, path: str) -> None:
        """A block and those inside it."""
        inner = list(_inner_blocks(block, path))
        for nested, name in inner:
            self._drive(nested, name)
        for _ in range(_SWEEPS):
            stale = self._drive_block(block, path)
            again = [(nested, name) for nested, name in inner if nested in stale and _is_in(nested, block)]
            before = self.state.rewrites
            for nested, name in again:
                self._drive(nested, name)
            if self.state.rewrites == before:
                return

    def _drive_block(self, block: Block, path: str) -> set[Block]:
        """Gives the blocks inside that read something else than before."""
        if self.state.is_stopped:
            return set()
        index = GraphIndex(
            block,
            self.dims,
            opset=self.options.opset,
            keep=self.options.do_not_remove,
            constants=self.constants,
        )
        edits = Edits(index, self.journal)
        driver = BlockDriver(index, edits, self.state)
        driver.tidy([op for op in self.touched if op.parent is block])
        count = driver.drive()
        self.touched.update(edits.touched_outside)
        if self.report is not None:
            self.report.graphs[path] = self.report.graphs.get(path, 0) + count
            for step, removed in driver.cleanup.removed.items():
                self.report.cleanup[step] = self.report.cleanup.get(step, 0) + removed
        return set(edits.stale_blocks)


def _inner_blocks(block: Block, path: str) -> Iterator[tuple[Block, str]]:
    """The blocks of the ops of a block, with their paths."""
    for number, op in enumerate(block.ops):
        for index, nested in inner_blocks(op):
            yield nested, f"{path}/{_title(op, number)}.{_region_name(op, index)}"


def _is_in(nested: Block, block: Block) -> bool:
    """Whether the op that holds a block still stands in the other one."""
    holder = nested.parent_op()
    return holder is not None and holder.parent is block


def _title(op: Operation, number: int) -> str:
    return f"{op.name.removeprefix('onnx.')}[{number}]"


def _region_name(op: Operation, index: int) -> str:
    definition = getattr(type(op), "get_irdl_definition", None)
    names = [name for name, _ in definition().regions] if definition is not None else []
    return names[index] if index < len(names) else str(index)
