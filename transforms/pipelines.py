"""Which passes run at which optimization level?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.passes import ModulePass

from onnxloom.transforms.fusion.create import FuseOpsPass
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


def pipeline(opt_level: int = 3, *, fusion: FusionOptions | None = None) -> list[ModulePass]:
    """The passes over the onnx module, in order: O0 only infers shapes, O1 to O3 also fuse.

    Raises:
        ValueError: the level is not 0 to 3.
    """
    if opt_level not in OPT_LEVELS:
        raise ValueError(f"optimization level {opt_level} is not 0, 1, 2 or 3")
    passes: list[ModulePass] = [ShapeInferencePass()]
    if opt_level >= 1:
        options = fusion or FusionOptions()
        passes.append(FuseOpsPass(options.kinds, options.disable or None, options.disable_fused_op))
    return passes
