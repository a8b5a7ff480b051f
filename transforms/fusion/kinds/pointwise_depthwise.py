"""`onnx.pointwise_depthwise`: a pointwise and a depthwise convolution, with their epilogues.

    expand 1x1 ─► Clip ──► depthwise 3x3 ─► Clip

The expanded image is never a whole tensor: windows slide over the lines they need.
"""

from __future__ import annotations

from typing import ClassVar

from onnxloom.transforms.fusion.bottleneck import BottleneckFusion, Role


class PointwiseDepthwiseFusion(BottleneckFusion):
    """See above."""

    kind: ClassVar[str] = "onnx.pointwise_depthwise"
    benefit: ClassVar[int] = 120
    roles: ClassVar[tuple[Role, ...]] = (Role.POINTWISE, Role.DEPTHWISE)
    least_bytes: ClassVar[int] = 1_000_000
