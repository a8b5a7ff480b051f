"""How do figures look? An SVG with bars of ratios, and every kernel under the roof of the machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from onnxloom.tools.benchmarking.comparing import ModelFigures
from onnxloom.tools.benchmarking.profile_listing import ProfiledOp

if TYPE_CHECKING:
    from onnxloom.lowering.roofline.machine import Machine

WIDTH: Final = 960
LABEL: Final = 260
BAR: Final = 16
ROOF_HEIGHT: Final = 460
COLORS: Final = ("#4477aa", "#cc6677", "#228833", "#aa7744")

_STYLE: Final = "text{font:12px sans-serif;fill:#222}.a{stroke:#888}.g{stroke:#ddd}.t{font-size:15px}"


def picture(models: Sequence[ModelFigures], peers: Sequence[str], machine: Machine) -> str:
    """The SVG text. Bars right of the line at 1: faster than the peer."""
    bars = list(_bars(models, peers))
    height = 60 + len(models) * _row_height(peers)
    kernels = [op for model in models for op in model.kernels if op.operations and op.moved]
    roof = list(_roofline(kernels, machine, height + 20)) if kernels else []
    total = height + (ROOF_HEIGHT + 40 if kernels else 0)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{total}" '
        f'viewBox="0 0 {WIDTH} {total}">',
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>',
        *bars, *roof, "</svg>\n",
    ])  # fmt: skip


def _row_height(peers: Sequence[str]) -> int:
    return BAR * len(peers) + 8


def _bars(models: Sequence[ModelFigures], peers: Sequence[str]) -> Iterator[str]:
    yield _text(12, 24, f"time of {' and '.join(peers)} / time of onnxloom (whisker: 95 %)", "t")
    most = max([1.0, *(model.peers[peer].confidence[1] for model in models for peer in peers)])
    scale = (WIDTH - LABEL - 80) / most
    y = 44.0
    bottom = y + len(models) * _row_height(peers)
    for model in models:
        yield _text(LABEL - 8, y + _row_height(peers) / 2, model.name, anchor="end")
        for number, peer in enumerate(peers):
            yield from _bar(model, peer, y + number * BAR, scale, COLORS[number % len(COLORS)])
        y += _row_height(peers)
    yield f'<line class="a" x1="{LABEL + scale:.1f}" x2="{LABEL + scale:.1f}" y1="38" y2="{bottom:.1f}"/>'


def _bar(model: ModelFigures, peer: str, y: float, scale: float, color: str) -> Iterator[str]:
    found = model.peers[peer]
    low, high = (LABEL + ratio * scale for ratio in found.confidence)
    middle = y + BAR / 2 - 1
    yield (
        f'<rect x="{LABEL}" y="{y:.1f}" width="{found.ratio * scale:.1f}" height="{BAR - 2}" '
        f'fill="{color}"><title>{escape(model.name)}: {peer} {found.seconds * 1e3:.3f} ms, onnxloom '
        f"{model.seconds * 1e3:.3f} ms</title></rect>"
    )
    yield f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle:.1f}" y2="{middle:.1f}" stroke="#000"/>'
    yield _text(high + 6, y + BAR - 5, f"{found.ratio:.2f}")


@dataclass(frozen=True)
class _Axis:
    """Powers of ten from `low` to `high` on `start` to `end`."""

    low: int
    high: int
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    @property
    def decades(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def _roofline(kernels: Sequence[ProfiledOp], machine: Machine, top: float) -> Iterator[str]:
    x = _Axis(-2, 3, 60, WIDTH - 30)
    y = _Axis(-2, 3, top + ROOF_HEIGHT, top + 40)
    yield _text(12, top + 20, "kernels: GFLOP/s over FLOP per byte; area: share of the time of all", "t")
    for value in x.decades:
        yield f'<line class="g" x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{y.end}" y2="{y.start}"/>'
        yield _text(x(value), y.start + 16, f"{value:g}", anchor="middle")
    for value in y.decades:
        yield f'<line class="g" x1="{x.start}" x2="{x.end}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
        yield _text(x.start - 6, y(value) + 4, f"{value:g}", anchor="end")
    for row in machine.bandwidths:
        title = f"{row.copied / 1e9:.0f} GB/s copied in {row.footprint >> 10} KiB"
        yield _roof(x, y, row.copied, machine.flops, title)
    total = sum(op.seconds for op in kernels)
    for op in kernels:
        radius = 2 + 40 * math.sqrt(op.seconds / total)
        rate = op.operations / max(op.each, 1e-9) / 1e9
        yield (
            f'<circle cx="{x(op.operations / op.moved):.1f}" cy="{y(max(rate, 1e-3)):.1f}" r="{radius:.1f}" '
            f'fill="{COLORS[0]}" fill-opacity="0.35" stroke="{COLORS[0]}"><title>{escape(op.kernel)} '
            f"{escape(op.op)}: {op.each * 1e6:.1f} us, {rate:.1f} GFLOP/s</title></circle>"
        )


def _roof(x: _Axis, y: _Axis, bandwidth: float, flops: float, title: str) -> str:
    """Rises with the bandwidth up to the peak."""
    start, knee, end = 10.0**x.low, flops / bandwidth, 10.0**x.high
    points = [(start, start * bandwidth / 1e9), (knee, flops / 1e9), (end, flops / 1e9)]
    line = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
    return f'<polyline points="{line}" fill="none" stroke="{COLORS[1]}"><title>{title}</title></polyline>'


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
