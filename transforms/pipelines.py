"""Which passes run at which optimization level?

O0 only infers shapes. O1 is exact: control flow that is decided, cleanup, rewrites that keep every bit.
O2 adds what rounds elsewhere, weights that absorb what follows them, and fusion. O3 adds whatever else
was measured to pay. Each is a list of passes with a text that `onnxloom-opt -p` takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from xdsl.passes import ModulePass

from onnxloom.transforms.control_flow.decide_by_rank import DecideByRankPass
from onnxloom.transforms.control_flow.forward_loop_invariants import ForwardLoopInvariantsPass
from onnxloom.transforms.control_flow.hoist_loop_invariants import HoistLoopInvariantsPass
from onnxloom.transforms.control_flow.inline_if import InlineIfPass
from onnxloom.transforms.control_flow.unroll_loops import UnrollLoopsPass
from onnxloom.transforms.folding.adjust_dimensions import AdjustDimensionsPass
from onnxloom.transforms.folding.fold_constants import FoldConstantsPass
from onnxloom.transforms.folding.fold_dimensions import FoldDimensionsPass
from onnxloom.transforms.folding.replace_empty import ReplaceEmptyPass
from onnxloom.transforms.fusion.create import FuseOpsPass
from onnxloom.transforms.fusion.kinds.conv_channels_last import ConvChannelsLastFusion
from onnxloom.transforms.fusion.plugins import current_registry
from onnxloom.transforms.layout.channels_last import ChannelsLastPass
from onnxloom.transforms.ordering.reorder_for_memory import ReorderForMemoryPass
from onnxloom.transforms.pass_manager.fixed_point import FixedPointPass
from onnxloom.transforms.pass_manager.pass_text import passes_text
from onnxloom.transforms.private_dequantize import PrivateDequantizePass
from onnxloom.transforms.rewriting.cleanup.cleanup_pass import CleanupPass
from onnxloom.transforms.rewriting.pattern import Numerics, Stage
from onnxloom.transforms.rewriting.registry import current_patterns
from onnxloom.transforms.rewriting.rewrite_pass import RewritePatternsPass
from onnxloom.transforms.shape_inference import ShapeInferencePass

OPT_LEVELS: Final = (0, 1, 2, 3)


@dataclass(frozen=True)
class FusionOptions:
    """Switches of the fusion pass."""

    kinds: tuple[str, ...] | None = None
    """Only these kinds; None: all known ones."""

    disable: tuple[str, ...] = ()
    """Not these kinds."""

    disable_fused_op: bool = False
    """No fused ops at all."""


@dataclass(frozen=True)
class FoldingOptions:
    """Switches of the folding passes."""

    enabled: bool = True
    """Whether anything is computed before the model runs."""

    size_limit: int | None = None
    """Bytes from which on a result that is larger than its inputs is not made; None: 16 MiB."""

    memory_priority: bool = False
    """Leave alone what reads constants that others read, too."""


@dataclass(frozen=True)
class PipelineOptions:
    """Switches of the passes of a level."""

    fusion: FusionOptions = field(default_factory=FusionOptions)
    folding: FoldingOptions = field(default_factory=FoldingOptions)

    patterns: tuple[str, ...] | None = None
    """Only these rewrite patterns, names or globs; None: all that are on by default."""

    skip_patterns: tuple[str, ...] = ()
    """Not these rewrite patterns."""

    channels_last: bool = True
    """Whether convolutions may work channels-last (levels 2 and 3, where they are fused)."""

    take_apart: bool = True
    """Whether ops of domain com.microsoft become ops of the standard."""

    opset: int | None = None
    """Version of the default domain that results may use; None: the newest."""


def pipeline(level: int = 3, options: PipelineOptions | None = None) -> list[ModulePass]:
    """The passes over the onnx module, in order.

    Raises:
        ValueError: the level is not 0 to 3.
        PassError: an option names a kind or pattern that is not there, or a plug-in does not load.
    """
    if level not in OPT_LEVELS:
        raise ValueError(f"optimization level {level} is not 0, 1, 2 or 3")
    options = options or PipelineOptions()
    _check_patterns(options)
    return list(_passes(level, options))


def pipeline_text(level: int = 3, options: PipelineOptions | None = None) -> str:
    """The passes of a level as text."""
    return passes_text(pipeline(level, options))


def _passes(level: int, options: PipelineOptions) -> Iterator[ModulePass]:
    # Whatever patterns are asked for: these ops do not run as they are.
    contributed = _rewriting(replace(options, patterns=None), Numerics.EXACT, Stage.CONTRIBUTED)
    if level == 0:
        yield ShapeInferencePass()
        if options.take_apart:
            yield from (contributed, ShapeInferencePass())
        return
    numerics = Numerics.EXACT if level == 1 else Numerics.TOLERANCE
    rewrite = partial(_rewriting, options, numerics)
    # Runs at four places; where nothing has changed since, it is not run again.
    folding = _folding(options.folding)
    yield rewrite(Stage.BEFORE_SHAPE_INFERENCE)
    yield ShapeInferencePass()
    if options.take_apart:
        yield from (contributed, ShapeInferencePass())
    yield from folding
    yield FixedPointPass(
        passes_text(
            [
                # Runs that fail may fail elsewhere: not exact in what they say.
                *([DecideByRankPass()] if level >= 2 else []),
                InlineIfPass(),
                ForwardLoopInvariantsPass(),
                UnrollLoopsPass(),
                HoistLoopInvariantsPass(),
                ShapeInferencePass(),
                *folding,
                rewrite(Stage.AFTER_SHAPE_INFERENCE),
                CleanupPass(),
            ]
        )
    )
    yield rewrite(Stage.AFTER_BUILTIN_PATTERNS)
    yield from folding
    if level >= 2:
        yield rewrite(Stage.BEFORE_FUSION)
        yield from folding
        if not options.fusion.disable_fused_op:
            yield PrivateDequantizePass()
        if options.channels_last and _fuses_channels_last(options.fusion):
            # Directly before fusion: its Transposes are alike, and each belongs to one op.
            yield ChannelsLastPass(options.opset)
        yield _fusion(options.fusion)
        yield rewrite(Stage.AFTER_FUSION)
    if level >= 3:
        yield ReorderForMemoryPass()


def _folding(options: FoldingOptions) -> list[ModulePass]:
    if not options.enabled:
        return []
    classes = (ReplaceEmptyPass, FoldDimensionsPass, FoldConstantsPass, AdjustDimensionsPass)
    return [cls(options.size_limit, options.memory_priority) for cls in classes]


def _rewriting(options: PipelineOptions, numerics: Numerics, stage: Stage) -> ModulePass:
    """The patterns of one stage."""
    return RewritePatternsPass(
        options.patterns,
        options.skip_patterns or None,
        stage=stage.value,
        numerics=numerics.value,
        opset=options.opset,
        fold_added=options.folding.enabled,
    )


def _check_patterns(options: PipelineOptions) -> None:
    # What the options get wrong is said at once, not when a pass runs: that would only be a warning.
    if options.patterns is not None or options.skip_patterns:
        current_patterns().select(options.patterns, options.skip_patterns)


def _fuses_channels_last(options: FusionOptions) -> bool:
    """Whether a convolution between Transposes becomes one kernel: otherwise it costs more than it saves."""
    kinds = current_registry().select(options.kinds, options.disable)
    return not options.disable_fused_op and ConvChannelsLastFusion in kinds


def _fusion(options: FusionOptions) -> ModulePass:
    # What the options get wrong is said at once, not when the pass runs.
    current_registry().select(options.kinds, options.disable)
    return FuseOpsPass(options.kinds, options.disable or None, options.disable_fused_op)
