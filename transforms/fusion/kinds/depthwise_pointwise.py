"""`onnx.depthwise_pointwise`: a depthwise and a pointwise convolution, with their epilogues.

    depthwise 3x3 ─► Clip ──► project 1x1 ─► Clip

The depthwise result is never a whole tensor: a few lines of it are multiplied at a time.
"""

from __future__ import annotations

from typing import ClassVar

from onnxloom.transforms.fusion.bottleneck import BottleneckFusion, Role


class DepthwisePointwiseFusion(BottleneckFusion):
    """See above."""

    kind: ClassVar[str] = "onnx.depthwise_pointwise"
    benefit: ClassVar[int] = 125
    roles: ClassVar[tuple[Role, ...]] = (Role.DEPTHWISE, Role.POINTWISE)
    least_bytes: ClassVar[int] = 1_000_000
    max_depth: ClassVar[int] = 96
    """Deeper products take longer than what is saved on the way; measured on images of 56 to 112 lines."""
