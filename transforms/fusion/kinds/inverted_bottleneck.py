"""`onnx.inverted_bottleneck`: a pointwise, a depthwise and a pointwise convolution, with their epilogues.

    expand 1x1 ─► Clip ──► depthwise 3x3 ─► Clip ──► project 1x1 ─► Add(residual)

The block of networks for mobile devices; the expanded image is never a whole tensor.
"""

from __future__ import annotations

from typing import ClassVar

from onnxloom.transforms.fusion.bottleneck import BottleneckFusion, Role


class InvertedBottleneckFusion(BottleneckFusion):
    """See above."""

    kind: ClassVar[str] = "onnx.inverted_bottleneck"
    benefit: ClassVar[int] = 130
    roles: ClassVar[tuple[Role, ...]] = (Role.POINTWISE, Role.DEPTHWISE, Role.POINTWISE)
    least_bytes: ClassVar[int] = 1_000_000
