"""Which convolutions are measured? Chains of two to four, with bias and Relu.

What either side pays for its own layout at the ends is spread over the chain, as in a network. Shapes are
those of well-known architectures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from benchmarks.case import Case, CaseWriter
from benchmarks.cases import Cases


@dataclass(frozen=True)
class Layer:
    """A convolution with bias and Relu; borders keep the size where the stride is 1."""

    channels: int
    kernel: tuple[int, int]
    stride: int = 1
    group: int = 1


def _square(channels: int, size: int, stride: int = 1, group: int = 1) -> Layer:
    return Layer(channels, (size, size), stride, group)


Chain = tuple[int, int, Sequence[Layer]]
"""Input channels, rows and columns of the input, layers."""

CHAINS: Final[Mapping[str, Chain]] = {
    "3x3 64 at 56": (64, 56, [_square(64, 3)] * 3),
    "3x3 128 at 28": (128, 28, [_square(128, 3)] * 3),
    "3x3 256 at 14": (256, 14, [_square(256, 3)] * 3),
    "3x3 512 at 7": (512, 7, [_square(512, 3)] * 3),
    "1x1 256-64-256 at 56": (256, 56, [_square(64, 1), _square(256, 1), _square(64, 1), _square(256, 1)]),
    "1x1 512-128-512 at 28": (512, 28, [_square(128, 1), _square(512, 1), _square(128, 1), _square(512, 1)]),
    "1x1 1024-256-1024 at 14": (1024, 14, [_square(256, 1), _square(1024, 1)] * 2),
    "1x1 2048-512-2048 at 7": (2048, 7, [_square(512, 1), _square(2048, 1)] * 2),
    "1x1 576-96-576 at 14": (576, 14, [_square(96, 1), _square(576, 1)] * 2),
    "1x1 24-144-24 at 56": (24, 56, [_square(144, 1), _square(24, 1)] * 2),
    "stem 7x7 stride 2": (3, 224, [_square(64, 7, 2), _square(64, 1, 2)]),
    "stem 3x3 stride 2": (3, 224, [_square(32, 3, 2), _square(16, 1), _square(96, 1, 2)]),
    "1x1 stride 2 256-512 at 56": (256, 56, [_square(512, 1, 2), _square(128, 1)]),
    "3x3 stride 2 128 at 56": (128, 56, [_square(128, 3, 2), _square(128, 3, 2)]),
    "3x3 stride 2 512 at 14": (512, 14, [_square(512, 3, 2), _square(512, 1)]),
    "inception 5x5 48-64 at 28": (48, 28, [_square(64, 5), _square(48, 5)]),
    "inception 1x7 7x1 160 at 17": (160, 17, [Layer(160, (1, 7)), Layer(160, (7, 1))] * 2),
    "squeezenet 64-16 at 55": (
        64,
        55,
        [_square(16, 1), _square(64, 3), _square(16, 1), _square(64, 1)],
    ),
    "squeezenet 512-64 at 13": (512, 13, [_square(64, 1), _square(256, 3)] * 2),
    "shufflenet 116 at 28": (116, 28, [_square(116, 1)] * 3),
    "shufflenet 240 groups 3 at 28": (240, 28, [_square(60, 1, 1, 3), _square(240, 1, 1, 3)] * 2),
    "resnext 128 groups 32 at 56": (128, 56, [_square(128, 3, 1, 32)] * 2),
    "ppocr 3x3 24 at 80": (24, 80, [_square(24, 3)] * 3),
    "ppocr 1x1 56-240-56 at 40": (56, 40, [_square(240, 1), _square(56, 1)] * 2),
    "yolo 3x3 32-64 stride 2 at 160": (32, 160, [_square(64, 3, 2), _square(32, 1), _square(64, 3)]),
}


def chain(name: str) -> Case:
    """One chain as a model with seeded weights."""
    channels, size, layers = CHAINS[name]
    w = CaseWriter(name)
    value = w.fed("x", 1, channels, size, size)
    for layer in layers:
        shape = (layer.channels, channels // layer.group, *layer.kernel)
        taps = shape[1] * shape[2] * shape[3]
        value = w.op(
            "Conv",
            value,
            w.normal(shape, (2 / taps) ** 0.5),
            w.normal((layer.channels,), 1.0),
            pads=[taps // 2 for taps in layer.kernel] * 2,
            strides=[layer.stride] * 2,
            group=layer.group,
        )
        value = w.op("Relu", value)
        channels = layer.channels
    return w.case(value)


CASES: Final[Cases] = {name: partial(chain, name) for name in CHAINS}
