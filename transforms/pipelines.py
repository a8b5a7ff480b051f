"""Which passes run at which optimization level?

O0 only infers shapes. O1 is exact: control flow that is decided, cleanup, rewrites that keep every bit.
O2 adds what rounds elsewhere, weights that absorb what follows them, and fusion. O3 adds whatever else
was measured to pay. Each is a list of passes with a text that `onnxloom-opt -p` takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from xdsl.passes import ModulePass

from onnxloom.transforms.fusion.create import FuseOpsPass
from onnxloom.transforms.fusion.plugins import current_registry
from onnxloom.transforms.pass_manager.pass_text import passes_text
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
class PipelineOptions:
    """Switches of the passes of a level."""

    fusion: FusionOptions = field(default_factory=FusionOptions)


def pipeline(level: int = 3, options: PipelineOptions | None = None) -> list[ModulePass]:
    """The passes over the onnx module, in order.

    Raises:
        ValueError: the level is not 0 to 3.
        PassError: an option names a kind that is not there, or a plug-in does not load.
    """
    if level not in OPT_LEVELS:
        raise ValueError(f"optimization level {level} is not 0, 1, 2 or 3")
    return list(_passes(level, options or PipelineOptions()))


def pipeline_text(level: int = 3, options: PipelineOptions | None = None) -> str:
    """The passes of a level as text."""
    return passes_text(pipeline(level, options))


def _passes(level: int, options: PipelineOptions) -> Iterator[ModulePass]:
    yield ShapeInferencePass()
    if level == 0:
        return
    if level >= 2:
        yield _fusion(options.fusion)


def _fusion(options: FusionOptions) -> ModulePass:
    # What the options get wrong is said at once, not when the pass runs.
    current_registry().select(options.kinds, options.disable)
    return FuseOpsPass(options.kinds, options.disable or None, options.disable_fused_op)
