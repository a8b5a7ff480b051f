"""Two convolutions with something in between, as IR text, and what the pass `channels-last` makes of them."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from onnxloom.dialects.onnx.text import make_context, parse_module
from onnxloom.dialects.verify_module import verify_module
from onnxloom.testing.numerics import Feeds, assert_preserves_numerics
from onnxloom.testing.tolerance import EXACT, Tolerance
from onnxloom.transforms.layout.axes import makes_first, makes_last
from onnxloom.transforms.layout.channels_last import ChannelsLastPass
from onnxloom.transforms.layout.report import LayoutReport
from onnxloom.transforms.layout.triple import is_triple
from onnxloom.transforms.shape_inference import ShapeInferencePass

IMAGE: Final = "tensor<2x4x6x5xf32>"
"""What is convolved, unless a case says otherwise."""


def model(
    middle: str,
    made: str = IMAGE,
    source: str = IMAGE,
    extra: str = "",
    channels: int = 4,
    output: tuple[str, str] = ("", ""),
) -> str:
    """A convolution that gives %a, what makes %b of it, and a convolution of %b.

    `made` is the type of %b, which has as many channels as `channels` says; `extra` are further arguments,
    `output` a further value that is returned, and its type.
    """
    spatial = source.count("x") - 2
    window = "x".join(["1"] * spatial)
    weights = f"tensor<4x4x{window}xf32>"
    other = f"tensor<4x{channels}x{window}xf32>"
    result = "tensor<" + "x".join(["?"] * (spatial + 2)) + "xf32>"
    more, more_types = (f", {text}" if text else "" for text in output)
    return f"""
func.func @main(%x: {source}{extra}) -> ({result}{more_types}) {{
  %none = "onnx.NoValue"() {{value}} : () -> none
  %w = onnx.Constant dense<0.5> : {weights}
  %v = onnx.Constant dense<-0.25> : {other}
  %a = "onnx.Conv"(%x, %w, %none) : ({source}, {weights}, none) -> {source}
  {middle}
  %y = "onnx.Conv"(%b, %v, %none) : ({made}, {other}, none) -> {result}
  onnx.Return %y{more} : {result}{more_types}
}}"""


def converted(text: str, tolerance: Tolerance = EXACT, feeds: Feeds | None = None) -> ModuleOp:
    """The text after the pass; the values are the same, a second run changes nothing."""
    module = assert_preserves_numerics(inferred(text), feeds, run, tolerance)
    before = str(module)
    assert not run(module).converted, "a second run does something"
    assert str(module) == before, "a second run changes something"
    return module


def inferred(text: str) -> ModuleOp:
    module = parse_module(text)
    ShapeInferencePass().apply(make_context(), module)
    verify_module(module)
    return module


def run(module: ModuleOp) -> LayoutReport:
    step = ChannelsLastPass()
    step.apply(make_context(), module)
    verify_module(module)
    return step.report


def border(module: ModuleOp) -> list[str]:
    """The Transposes that convert and are no part of a triple, as `maker -> readers`."""
    found: list[str] = []
    for op in module.walk():
        if not makes_first(op) and not makes_last(op):
            continue
        readers = [use.operation for use in op.results[0].uses]
        maker = op.operands[0].owner
        products = [other for other in (maker, *readers) if isinstance(other, Operation)]
        if not any(_is_triple(other) for other in products):
            name = maker.name if isinstance(maker, Operation) else "argument"
            found.append(f"{name} -> {', '.join(reader.name for reader in readers)}")
    return found


def _is_triple(op: Operation) -> bool:
    block = op.parent
    return (
        op.name in ("onnx.Conv", "onnx.MaxPool", "onnx.AveragePool")
        and block is not None
        and is_triple(op, block)
    )


AROUND: Final = ["argument -> onnx.Transpose", "onnx.Transpose -> onnx.Return"]
"""The conversions in front of the first convolution and behind the last one."""
