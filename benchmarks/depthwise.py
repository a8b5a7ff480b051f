"""Chains of depthwise convolutions, and pools, as they stand in networks for mobile devices.

A chain is two or three convolutions with bias and Relu, so that what either side pays for its own layout at
the ends is spread over them, as in a network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from benchmarks.case import Case, CaseWriter


def _chain(
    size: int, channels: int, kernel: int = 3, *, stride: int = 1, multiplier: int = 1, length: int = 3
) -> Callable[[str], Case]:
    """Convolutions of an image of `size` x `size`; stride and multiplier are those of the first one."""

    def build(name: str) -> Case:
        writer = CaseWriter(name)
        value, width = writer.fed("x", 1, channels, size, size), channels
        for i in range(length):
            step, factor = (stride, multiplier) if i == 0 else (1, 1)
            weights = writer.normal((width * factor, 1, kernel, kernel), 1 / kernel)
            bias = writer.normal((width * factor,), 1)
            pads = [kernel // 2] * 4
            value = writer.op("Conv", value, weights, bias, group=width, pads=pads, strides=[step, step])
            value = writer.op("Relu", value)
            width *= factor
        return writer.case(value)

    return build


def _pooled(op: str, size: int, channels: int, kernel: int, stride: int) -> Callable[[str], Case]:
    """A depthwise convolution, then the pool."""

    def build(name: str) -> Case:
        writer = CaseWriter(name)
        value = writer.fed("x", 1, channels, size, size)
        weights = writer.normal((channels, 1, 3, 3), 1 / 3)
        value = writer.op("Conv", value, weights, group=channels, pads=[1] * 4)
        strides, pads = [stride] * 2, [kernel // 2] * 4
        return writer.case(writer.op(op, value, kernel_shape=[kernel] * 2, strides=strides, pads=pads))

    return build


_BUILDERS: Final[Mapping[str, Callable[[str], Case]]] = {
    "3x3 32 at 112": _chain(112, 32),
    "3x3 144 at 56": _chain(56, 144),
    "3x3 144 at 56, stride 2": _chain(56, 144, stride=2, length=2),
    "3x3 576 at 14": _chain(14, 576),
    "3x3 960 at 7": _chain(7, 960),
    "5x5 240 at 28": _chain(28, 240, 5),
    "5x5 672 at 14": _chain(14, 672, 5),
    "7x7 96 at 56": _chain(56, 96, 7),
    "3x3 192 at 28, multiplier 2": _chain(28, 192, multiplier=2, length=2),
    "MaxPool 3x3 64 at 112, stride 2": _pooled("MaxPool", 112, 64, 3, 2),
    "AveragePool 3x3 192 at 28": _pooled("AveragePool", 28, 192, 3, 1),
}


def _case(name: str) -> Callable[[], Case]:
    return lambda: _BUILDERS[name](name)


CASES: Final[Mapping[str, Callable[[], Case]]] = {name: _case(name) for name in _BUILDERS}
