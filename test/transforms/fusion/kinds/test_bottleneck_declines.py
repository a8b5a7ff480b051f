"""Every reason why convolutions are no chain for one kernel."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from bottleneck_text import Link, chain_text
from channels_last_text import ints
from fusion_reasons import checked, detected

from onnxloom.transforms.fusion.kinds.depthwise_pointwise import DepthwisePointwiseFusion
from onnxloom.transforms.fusion.kinds.inverted_bottleneck import InvertedBottleneckFusion
from onnxloom.transforms.fusion.kinds.pointwise_depthwise import PointwiseDepthwiseFusion

X = [1, 9, 9, 4]
GROUPS = "group = 8 : si64"
SAME = f"{GROUPS}, {ints('pads', [1, 1, 1, 1])}"
EXPAND = Link([8, 4, 1, 1], [1, 9, 9, 8])
SLIDE = Link([8, 1, 3, 3], [1, 9, 9, 8], SAME)
PROJECT = Link([4, 8, 1, 1], [1, 9, 9, 4], activates=False)
AGAIN = Link([8, 8, 1, 1], [1, 9, 9, 8])
WIDE = "tensor<1x9x9x8xf32>"


@pytest.fixture(autouse=True)
def _everything_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (InvertedBottleneckFusion, DepthwisePointwiseFusion, PointwiseDepthwiseFusion):
        monkeypatch.setattr(kind, "least_bytes", 0)


def text(*links: Link, x: Sequence[int | str] = X, element: str = "f32") -> str:
    return chain_text(x, links, element=element)


FITS = text(EXPAND, SLIDE, PROJECT)


def test_chains_that_fit() -> None:
    assert detected(InvertedBottleneckFusion, FITS, "Conv") == 11
    assert detected(PointwiseDepthwiseFusion, FITS, "Conv") == 8
    assert detected(DepthwisePointwiseFusion, text(SLIDE, PROJECT, x=[1, 9, 9, 8]), "Conv") == 7
    assert checked(InvertedBottleneckFusion((4, 4, 3)), FITS) is None


def read_twice(value: str, type_: str) -> str:
    """The text with one more reader of a value."""
    return FITS.replace("onnx.Return", f'%n = "onnx.Neg"({value}) : ({type_}) -> {type_}\n onnx.Return')


def with_group(link: Link, group: int) -> Link:
    return Link(link.weights, link.result, link.attributes.replace("group = 8", f"group = {group}"))


NO_DIMS = "the dims of a chain of convolutions are not known, or 0"
NOT_POINTWISE = "a convolution of the chain is not pointwise"
NOT_DEPTHWISE = "a convolution of the chain is not depthwise"
WITH_BORDERS = "a pointwise convolution of the chain has strides or pads"
DECLINES = {
    "nothing follows": (text(EXPAND, SLIDE), "no pointwise convolution follows"),
    "read twice": (read_twice("%y0", WIDE), "no depthwise convolution follows"),
    "a window": (text(SLIDE, SLIDE, PROJECT, x=[1, 9, 9, 8]), NOT_POINTWISE),
    "groups": (text(Link([8, 2, 1, 1], [1, 9, 9, 8], "group = 2 : si64"), SLIDE, PROJECT), NOT_POINTWISE),
    "strides": (
        text(Link([8, 4, 1, 1], [1, 9, 9, 8], ints("strides", [2, 2])), SLIDE, PROJECT, x=[1, 17, 17, 4]),
        WITH_BORDERS,
    ),
    "deep": (
        text(Link([8, 257, 1, 1], [1, 9, 9, 8]), SLIDE, PROJECT, x=[1, 9, 9, 257]),
        "a pointwise convolution of 257 channels is too deep for a chain",
    ),
    "pads": (
        text(Link([8, 4, 1, 1], [1, 9, 9, 8], ints("pads", [1, 1, 1, 1])), SLIDE, PROJECT, x=[1, 7, 7, 4]),
        WITH_BORDERS,
    ),
    "not depthwise": (text(EXPAND, AGAIN, PROJECT), NOT_DEPTHWISE),
    "a multiplier": (
        text(EXPAND, Link([16, 1, 3, 3], [1, 9, 9, 16], SAME), Link([4, 16, 1, 1], [1, 9, 9, 4])),
        NOT_DEPTHWISE,
    ),
    "one channel": (
        text(
            Link([1, 4, 1, 1], [1, 9, 9, 1]),
            Link([1, 1, 1, 1], [1, 9, 9, 1]),
            Link([4, 1, 1, 1], [1, 9, 9, 4]),
        ),
        NOT_DEPTHWISE,
    ),
    "a large window": (
        text(EXPAND, Link([8, 1, 9, 9], [1, 1, 1, 8], GROUPS), Link([4, 8, 1, 1], [1, 1, 1, 4])),
        "a depthwise window of 81 taps is too large for a chain",
    ),
    "sizes": (
        text(
            Link([8, 4, 1, 1], [1, "?", 9, 8]),
            Link([8, 1, 3, 3], [1, "?", 9, 8], SAME),
            Link([4, 8, 1, 1], [1, "?", 9, 4]),
            x=[1, "?", 9, 4],
        ),
        NO_DIMS,
    ),
    "nothing there": (text(Link([0, 4, 1, 1], [1, 9, 9, 0]), Link([4, 0, 1, 1], [1, 9, 9, 4])), NO_DIMS),
    "f16": (
        text(EXPAND, SLIDE, PROJECT, element="f16"), "a chain of convolutions of f16 has no kernel"
    ),
    "weights": (
        FITS.replace("(%x:", "(%v: tensor<8x1x3x3xf32>, %x:").replace("(%a1, %w1,", "(%a1, %v,"),
        "the weights of a convolution are not constant",
    ),
    "no Transpose": (
        FITS.replace('"onnx.Transpose"(%x)', '"onnx.Reshape"(%x)'),
        "the input of the convolution is no Transpose from channels last",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLINES)
def test_why_convolutions_are_no_chain(case: str) -> None:
    chain, reason = DECLINES[case]
    assert detected(InvertedBottleneckFusion, chain, "Conv") == reason


def test_a_deep_projection_alone_is_not_worth_it() -> None:
    slide = Link([97, 1, 3, 3], [1, 9, 9, 97], SAME.replace("group = 8", "group = 97"))
    chain = text(slide, Link([4, 97, 1, 1], [1, 9, 9, 4]), x=[1, 9, 9, 97])
    reason = "a pointwise convolution of 97 channels is too deep for a chain"
    assert detected(DepthwisePointwiseFusion, chain, "Conv") == reason


def test_images_of_one_dim_are_no_chain() -> None:
    one = FITS.replace("1x9x9x8", "1x9x8").replace("1x9x9x4", "1x9x4").replace("1x4x9x9", "1x4x9")
    one = one.replace("1x8x9x9", "1x8x9").replace("x1x1xf32", "x1xf32").replace("x1x3x3xf32", "x1x3xf32")
    for rank_4, rank_3 in (([0, 3, 1, 2], [0, 2, 1]), ([0, 2, 3, 1], [0, 2, 1])):
        one = one.replace(ints("perm", rank_4), ints("perm", rank_3))
    one = one.replace(ints("pads", [1, 1, 1, 1]), ints("pads", [1, 1]))
    reason = "a chain of convolutions is one of images with two spatial dims"
    assert detected(InvertedBottleneckFusion, one, "Conv") == reason


def test_what_stays_in_the_cache_is_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InvertedBottleneckFusion, "least_bytes", 5185)
    reason = "what lies between the convolutions are 5184 bytes, which stay in the cache"
    assert detected(InvertedBottleneckFusion, FITS, "Conv") == reason
    monkeypatch.setattr(InvertedBottleneckFusion, "least_bytes", 5184)
    assert detected(InvertedBottleneckFusion, FITS, "Conv") == 11


def test_many_weights_are_not_worth_it() -> None:
    chain = text(EXPAND, SLIDE, Link([20_000, 8, 1, 1], [1, 9, 9, 20_000]))
    reason = "640416 bytes of weights would be read for each strip"
    assert detected(InvertedBottleneckFusion, chain, "Conv") == reason


BODIES = {
    "too few counts": (FITS, (8, 3), "op_counts [8, 3] is not of 3 convolutions"),
    "a count that is too small": (FITS, (4, 2, 5), "op_counts [4, 2, 5] is not of 3 convolutions"),
    "another number of ops": (FITS, (4, 4, 4), "the body has 11 ops; expected 12"),
    "another result": (
        FITS.replace("onnx.Return %y2 : tensor<1x9x9x4xf32>", f"onnx.Return %y1 : {WIDE}"),
        (4, 4, 3),
        "the body does not yield what its last op makes",
    ),
    "links of other ops": (FITS, (4, 3, 4), "the body does not begin with onnx.Conv and what belongs to it"),
    "another convolution": (text(EXPAND, AGAIN, PROJECT), (4, 4, 3), NOT_DEPTHWISE),
    "a link that something else reads": (
        FITS.replace('"onnx.Relu"(%t1) : (', f'"onnx.Add"(%t1, %y0) : ({WIDE}, '),
        (4, 4, 3),
        "what a convolution of the chain gives is not read by the next one alone",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BODIES)
def test_what_is_wrong_with_a_body(case: str) -> None:
    chain, counts, reason = BODIES[case]
    assert checked(InvertedBottleneckFusion(counts), chain) == reason
