"""`fuse-ops`: wraps chains of ops in `onnx.FusedOp`, one kind of chain per helper.

One scan collects the candidates of all anchors. The best (benefit of the kind, number of ops,
position) claim their ops first, the rest are dropped. A second scan builds. What was built can make
room for what was dropped and for its own neighbours, so those anchors alone are looked at again. A kind
whose match at an anchor cannot be built is barred there, and what it claimed goes to the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from onnxloom.dialects.onnx import ConstantOp, FusedOp, NoValueOp, ReturnOp, YieldOp
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Match, Miss
from onnxloom.transforms.fusion.order import BlockOrder
from onnxloom.transforms.fusion.pattern import FusedPatternForOpKind
from onnxloom.transforms.fusion.plugins import blaming_plugin, current_registry
from onnxloom.transforms.fusion.report import Decline, FusedChain, FusionReport, Reason, chain_of, describe
from onnxloom.transforms.pass_manager.pass_text import listed
from onnxloom.transforms.rewriting.budget import may_rewrite

Helper: TypeAlias = type[FusionOpKindHelper]

_NOT_FUSED = (FusedOp, ConstantOp, NoValueOp, ReturnOp, YieldOp)


@dataclass(frozen=True)
class FuseOpsPass(ModulePass):
    """Fuses chains of ops."""

    name = "fuse-ops"

    kinds: tuple[str, ...] | None = None
    """Only these kinds; all known ones when left out. One string may list several, with commas."""

    disable: tuple[str, ...] | None = None
    """Not these kinds."""

    disable_fused_op: bool = False
    """Make no fused ops at all."""

    report: FusionReport = field(default_factory=FusionReport, init=False, compare=False, repr=False)
    """What the last run did."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.report.clear()
        helpers = current_registry().select(listed(self.kinds), listed(self.disable) or ())
        if not self.disable_fused_op:
            fuse_ops(op, helpers, self.report)


def fuse_ops(
    module: Operation, helpers: Sequence[Helper], report: FusionReport | None = None
) -> FusionReport:
    """Fuses chains of these kinds everywhere below `module`."""
    report = FusionReport() if report is None else report
    if helpers:
        _Creation(module, helpers, report).run()
    return report


@dataclass(frozen=True)
class _Candidate:
    anchor: Operation
    match: Match[FusionOpKindHelper]
    key: tuple[int, int, int, int]


@dataclass(frozen=True)
class _Built:
    fused: FusedOp
    ops: Sequence[Operation]
    """The ops it took the place of."""


class _Creation:
    def __init__(self, module: Operation, helpers: Sequence[Helper], report: FusionReport):
        self.module = module
        self.report = report
        self.dims = DimAnalysis.of(module)
        self.order = BlockOrder()
        self.blocks: dict[Block, int] = {}
        self.misses: dict[Operation, dict[str, Miss]] = {}
        self.waiting: dict[Operation, list[Operation]] = {}
        """Owner of a match -> anchors that left the match to it."""

        self.barred: set[tuple[Operation, str]] = set()
        """Anchors and kinds of matches that could not be built."""

        self.is_stopped = False
        """Whether no more fused ops are wanted."""

        self.chains: list[tuple[FusedOp, FusedChain]] = []
        self.patterns: dict[type[Operation], list[FusedPatternForOpKind[FusionOpKindHelper]]] = {}
        for helper in sorted(helpers, key=lambda h: (-h.benefit, h.kind)):
            for anchor in helper.anchors:
                pattern = FusedPatternForOpKind(anchor, helper, self.dims)
                self.patterns.setdefault(anchor, []).append(pattern)

    def run(self) -> None:
        anchors = [op for op in walk_outside_fused_ops(self.module, self.blocks) if type(op) in self.patterns]
        while anchors and not self.is_stopped:
            winners, losers = _claim(self.detect(anchors))
            built, failed = self.build(winners)
            self.barred.update((candidate.anchor, candidate.match.helper.kind) for candidate in failed)
            again = self.affected(built, [*losers, *failed]) if built or failed else ()
            anchors = [op for op in again if op.parent is not None and type(op) in self.patterns]
        self.write_report()

    def detect(self, anchors: Iterable[Operation]) -> list[_Candidate]:
        found: list[_Candidate] = []
        for anchor in anchors:
            for pattern in self.patterns[type(anchor)]:
                kind = pattern.helper.kind
                if (anchor, kind) in self.barred:
                    continue
                match = pattern.detect(anchor, self.dims)
                if isinstance(match, Miss):
                    self.misses.setdefault(anchor, {})[kind] = match
                    if match.owner is not None:
                        self.waiting.setdefault(match.owner, []).append(anchor)
                elif match is not None:
                    key = (-pattern.helper.benefit, -len(match.ops), *self.place(anchor))
                    found.append(_Candidate(anchor, match, key))
        return found

    def place(self, op: Operation) -> tuple[int, int]:
        """Sorts ops in program order, blocks as a whole."""
        assert op.parent is not None
        return (self.blocks[op.parent], self.order.position(op))

    def build(self, winners: list[_Candidate]) -> tuple[list[_Built], list[_Candidate]]:
        built: list[_Built] = []
        failed: list[_Candidate] = []
        for candidate in sorted(winners, key=lambda c: c.key[2:]):
            if self.is_stopped or not may_rewrite("fuse-ops", candidate.match.helper.kind, candidate.anchor):
                self.is_stopped = True
                break
            chain = chain_of(candidate.match, candidate.anchor)
            rewriter = PatternRewriter(candidate.anchor)
            with blaming_plugin(type(candidate.match.helper)):
                fused = candidate.match.helper.fuse(candidate.match, rewriter, self.order)
            if isinstance(fused, Miss):
                self.misses.setdefault(candidate.anchor, {})[candidate.match.helper.kind] = fused
                failed.append(candidate)
                continue
            for old, fresh in zip(candidate.match.results, fused.results, strict=True):
                self.dims.transfer(old, fresh)
            built.append(_Built(fused, candidate.match.ops))
            self.chains.append((fused, chain))
        return built, failed

    def affected(self, built: Sequence[_Built], dropped: Sequence[_Candidate]) -> list[Operation]:
        """The anchors to look at again.

        Those of dropped matches, the neighbours of what was built, and those that left their match to an
        op of it and are not in it.
        """
        again: dict[Operation, None] = {candidate.anchor: None for candidate in dropped}
        for made in built:
            again.update((v.owner, None) for v in made.fused.operands if isinstance(v.owner, Operation))
            again.update((use.operation, None) for v in made.fused.results for use in v.uses)
            for op in made.ops:
                again.update((waiting, None) for waiting in self.waiting.pop(op, ()))
        alive = [op for op in again if op.parent is not None and op.parent in self.blocks]
        return sorted(alive, key=self.place)

    def left_out(self, fused: FusedOp, chain: FusedChain) -> tuple[str, ...]:
        """The ops that make what `fused` reads or read what it makes, as far as no stop names them."""
        told = {word for stop in chain.stops for word in stop.text.split()}
        makers = [value.owner for value in fused.operands]
        readers = [use.operation for result in fused.results for use in result.uses]
        lines: dict[str, None] = {}
        for op in (*makers, *readers):
            if not isinstance(op, Operation) or isinstance(op, _NOT_FUSED) or op.name in told:
                continue
            misses = self.misses.get(op, {})
            reasons = [f"{kind}: {Reason.of(miss)}" for kind, miss in misses.items()]
            lines[f"{describe(op)}: {'; '.join(reasons) or 'no kind starts from it or takes it along'}"] = (
                None
            )
        return tuple(lines)

    def write_report(self) -> None:
        blocks: dict[Block, int] = {}
        made = dict(self.chains)
        for op in walk_outside_fused_ops(self.module, blocks):
            if isinstance(op, FusedOp) and op in made:
                self.report.chains.append(replace(made[op], left_out=self.left_out(op, made[op])))
            for kind, miss in self.misses.get(op, {}).items():
                self.report.declines.append(Decline(kind, describe(op), Reason.of(miss)))


def walk_outside_fused_ops(root: Operation, blocks: dict[Block, int]) -> Iterator[Operation]:
    """All ops below `root` in program order, fused bodies left out; numbers the blocks on the way."""
    for region in root.regions:
        for block in region.blocks:
            blocks[block] = len(blocks)
            for op in block.ops:
                yield op
                if op.regions and not isinstance(op, FusedOp):
                    yield from walk_outside_fused_ops(op, blocks)


def _claim(candidates: list[_Candidate]) -> tuple[list[_Candidate], list[_Candidate]]:
    """Those that get all their ops, the best first, and those that do not."""
    claimed: set[Operation] = set()
    winners: list[_Candidate] = []
    losers: list[_Candidate] = []
    for candidate in sorted(candidates, key=lambda c: c.key):
        if claimed.isdisjoint(candidate.match.ops):
            claimed.update(candidate.match.ops)
            winners.append(candidate)
        else:
            losers.append(candidate)
    return winners, losers
