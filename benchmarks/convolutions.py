"""`python -m benchmarks.convolutions [case ...]`: chains of convolutions against onnxruntime, one thread.

A chain is two to four convolutions with bias and Relu, so that what either side pays for its own layout at
the ends is spread over them, as in a network. Shapes are those of well-known architectures.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.cases import Case
from benchmarks.contestants import check_same, onnxloom_call, onnxruntime_call
from benchmarks.pairing import pair


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

CHAINS: dict[str, Chain] = {
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
    "stem 7x7 stride 2": (3, 224, [_square(64, 7, 2), _square(64, 1)]),
    "stem 3x3 stride 2": (3, 224, [_square(32, 3, 2), _square(16, 1)]),
    "1x1 stride 2 256-512 at 56": (256, 56, [_square(512, 1, 2), _square(128, 1)]),
    "3x3 stride 2 128 at 56": (128, 56, [_square(128, 3, 2), _square(128, 3, 2)]),
    "3x3 stride 2 512 at 14": (512, 14, [_square(512, 3, 2), _square(512, 1)]),
    "inception 5x5 48-64 at 28": (48, 28, [_square(64, 5), _square(48, 5)]),
    "inception 1x7 7x1 160 at 17": (160, 17, [Layer(160, (1, 7)), Layer(160, (7, 1))] * 2),
    "squeezenet 64-16, 1x1 and 3x3 at 55": (
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
    rng = np.random.default_rng(0)
    feeds = {"x": rng.standard_normal((1, channels, size, size), np.float32)}
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    value, flops = "x", 0
    for i, layer in enumerate(layers):
        depth = channels // layer.group
        taps = depth * layer.kernel[0] * layer.kernel[1]
        w = rng.standard_normal((layer.channels, depth, *layer.kernel)) * np.sqrt(2 / taps)
        weights.append(numpy_helper.from_array(w.astype(np.float32), f"w{i}"))
        weights.append(numpy_helper.from_array(rng.standard_normal(layer.channels, np.float32), f"b{i}"))
        pads = [size // 2 for size in layer.kernel] * 2
        strides = [layer.stride] * 2
        inputs = [value, f"w{i}", f"b{i}"]
        nodes.append(
            helper.make_node("Conv", inputs, [f"c{i}"], pads=pads, strides=strides, group=layer.group)
        )
        value = f"v{i}"
        nodes.append(helper.make_node("Relu", [f"c{i}"], [value]))
        size = -(-size // layer.stride)
        flops += 2 * taps * layer.channels * size * size
        channels = layer.channels
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, feeds["x"].shape)
    y = helper.make_tensor_value_info(value, TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "chain", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    moved = 4 * (feeds["x"].size + channels * size * size) + sum(len(w.raw_data) for w in weights)
    return Case(name, model, feeds, flops, moved, tolerance=1e-4)


def main(argv: list[str] | None = None) -> int:
    """Prints the table and the geometric mean of the ratios; returns 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="parts of names; default: all")
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args(argv)
    chosen = [name for name in CHAINS if not args.cases or any(part in name for part in args.cases)]
    ratios: list[float] = []
    for name in chosen:
        case = chain(name)
        difference = check_same(case.model, case.feeds, case.tolerance)
        calls = {
            "onnxruntime": onnxruntime_call(case.model, case.feeds),
            "onnxloom": onnxloom_call(case.model, case.feeds),
        }
        result = pair(calls, rounds=args.rounds)
        ratios.append(result.ratio("onnxruntime", "onnxloom"))
        theirs, ours = (case.flops / result.median(contestant) / 1e9 for contestant in calls)
        print(
            f"{name:38} ort {theirs:5.0f} GFLOP/s  ours {ours:5.0f} GFLOP/s  ratio {ratios[-1]:5.2f}  "
            f"difference {difference:.1e}",
            flush=True,
        )
    if ratios:
        print(f"geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
