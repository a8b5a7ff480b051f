"""Which Reshapes do not work channels-last, and why: asked of the rules, of which several look at each op."""

from __future__ import annotations

import pytest
from layout_models import IMAGE, converted, inferred, model, run
from xdsl.ir import Operation

from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.transforms.layout.rule import LayoutRule
from onnxloom.transforms.layout.rules.channel_shuffle import ChannelShuffleRule
from onnxloom.transforms.layout.rules.reshape import MergedPlacesRule, SinglePlaceRule
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex

GROUPS = "tensor<2x2x2x6x5xf32>"
SWAP = "perm = [0 : si64, 2 : si64, 1 : si64, 3 : si64, 4 : si64]"


def reason(rule: LayoutRule, text: str) -> str:
    """Why the rule declines the last op of its classes; empty when it does not."""
    module = inferred(text)
    function = entry_function(module)
    assert function is not None
    ops: list[Operation] = [op for op in function.body.block.ops if isinstance(op, rule.ops)]
    found = rule.follow(GraphIndex(function), ops[-1])
    return found.reason if isinstance(found, Miss) else ""


def shuffle(
    image: str = IMAGE,
    groups: str = GROUPS,
    swapped: str = GROUPS,
    result: str = IMAGE,
    perm: str = SWAP,
    split: str = "[2, 2, 2, 6, 5]",
    back: str = "[2, 4, 6, 5]",
    returned: str = "",
) -> str:
    types = {"%s": groups, "%t": swapped}
    count, places = split.count(",") + 1, back.count(",") + 1
    more = f", {returned} : {result}, {types[returned]}" if returned else f" : {result}"
    return f"""
func.func @main(%x: {image}) -> ({result}{", " + types[returned] if returned else ""}) {{
  %k = onnx.Constant dense<{split}> : tensor<{count}xi64>
  %m = onnx.Constant dense<{back}> : tensor<{places}xi64>
  %s = "onnx.Reshape"(%x, %k) : ({image}, tensor<{count}xi64>) -> {groups}
  %t = "onnx.Transpose"(%s) {{{perm}}} : ({groups}) -> {swapped}
  %y = "onnx.Reshape"(%t, %m) : ({swapped}, tensor<{places}xi64>) -> {result}
  onnx.Return %y{more}
}}"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (shuffle(), ""),
        (shuffle(returned="%s"), "what is between is read elsewhere"),
        (shuffle(returned="%t"), "what is between is read elsewhere"),
        (
            shuffle(perm="perm = [1 : si64, 0 : si64, 2 : si64, 3 : si64, 4 : si64]"),
            "not the two dims behind the images are exchanged",
        ),
        (
            shuffle(
                perm="perm = [0 : si64, 2 : si64, 1 : si64, 4 : si64, 3 : si64]",
                swapped="tensor<2x2x2x5x6xf32>",
            ),
            "not the two dims behind the images are exchanged",
        ),
        (
            shuffle(result="tensor<2x4x5x6xf32>", back="[2, 4, 5, 6]"),
            "the shape is not what it was before the other Reshape",
        ),
        (
            shuffle(groups="tensor<2x8x3x5xf32>", swapped="tensor<2x3x8x5xf32>", split="[2, 8, 3, 5]",
                    perm="perm = [0 : si64, 2 : si64, 1 : si64, 3 : si64]"),
            "not the channels alone are split",
        ),
        (
            shuffle(image="tensor<4x4x6x5xf32>", result="tensor<4x4x6x5xf32>", back="[4, 4, 6, 5]",
                    groups="tensor<2x2x2x60xf32>", swapped="tensor<2x2x2x60xf32>", split="[2, 2, 2, 60]",
                    perm="perm = [0 : si64, 2 : si64, 1 : si64, 3 : si64]"),
            "the images are split, too",
        ),
    ],
)  # fmt: skip
def test_what_is_a_channel_shuffle(text: str, why: str):
    assert reason(ChannelShuffleRule(), text) == why


def test_a_reshape_that_undoes_none():
    text = f"""
func.func @main(%x: {IMAGE}, %k: tensor<4xi64>) -> tensor<?x?x?x?xf32> {{
  %y = "onnx.Reshape"(%x, %k) : ({IMAGE}, tensor<4xi64>) -> tensor<?x?x?x?xf32>
  onnx.Return %y : tensor<?x?x?x?xf32>
}}"""
    assert reason(ChannelShuffleRule(), text) == "it does not undo another Reshape"
    assert reason(MergedPlacesRule(), text) == "images and channels do not stay what they are"


def reshape(source: str, shape: str, result: str, attributes: str = "") -> str:
    count = shape.count(",") + 1
    return f"""
func.func @main(%x: {source}) -> {result} {{
  %k = onnx.Constant dense<{shape}> : tensor<{count}xi64>
  %y = "onnx.Reshape"(%x, %k) {attributes} : ({source}, tensor<{count}xi64>) -> {result}
  onnx.Return %y : {result}
}}"""


UNKNOWN = "dims of the result are not known, more than the shape's -1 stands for"


def test_dims_of_merged_places_are_known_but_one():
    image = "tensor<?x4x?x?xf32>"
    assert reason(MergedPlacesRule(), reshape(image, "[0, 4, -1]", "tensor<?x4x?xf32>")) == ""
    assert reason(MergedPlacesRule(), reshape(image, "[0, 4, -1, 0]", "tensor<?x4x?x?xf32>")) == UNKNOWN
    empty = "tensor<2x4x0x5xf32>"
    assert reason(MergedPlacesRule(), reshape(empty, "[2, 4, 0]", "tensor<2x4x0xf32>")) == UNKNOWN


def test_a_result_whose_rank_no_type_says():
    module = parse_module(reshape(IMAGE, "[2, 4, 30]", "tensor<*xf32>"))
    function = entry_function(module)
    assert function is not None
    op = next(op for op in function.body.block.ops if op.name == "onnx.Reshape")
    found = MergedPlacesRule().follow(GraphIndex(function), op)
    assert isinstance(found, Miss) and found.reason == UNKNOWN


def test_what_the_shape_computed_at_run_time_leaves_open_is_not_known():
    text = """
func.func @main(%x: tensor<2x4x?x5xf32>, %k: tensor<3xi64>) -> tensor<2x4x?xf32> {
  %y = "onnx.Reshape"(%x, %k) : (tensor<2x4x?x5xf32>, tensor<3xi64>) -> tensor<2x4x?xf32>
  onnx.Return %y : tensor<2x4x?xf32>
}"""
    assert reason(MergedPlacesRule(), text) == UNKNOWN


def test_dims_of_the_input_asked_for_by_their_place():
    place = "tensor<2x4x1x1xf32>"
    copied = "dims of its input are asked for by their place"
    assert reason(SinglePlaceRule(), reshape(place, "[0, 4]", "tensor<2x4xf32>")) == ""
    assert reason(SinglePlaceRule(), reshape(place, "[0, 0]", "tensor<2x4xf32>")) == copied
    text = """
func.func @main(%x: tensor<2x4x1x1xf32>, %k: tensor<2xi64>) -> tensor<?x?xf32> {
  %y = "onnx.Reshape"(%x, %k) : (tensor<2x4x1x1xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return %y : tensor<?x?xf32>
}"""
    assert reason(SinglePlaceRule(), text) == copied


def test_a_flattening_that_parts_channels_from_images():
    text = """
func.func @main(%x: tensor<2x4x1x1xf32>) -> tensor<8x1xf32> {
  %y = "onnx.Flatten"(%x) {axis = 2 : si64} : (tensor<2x4x1x1xf32>) -> tensor<8x1xf32>
  onnx.Return %y : tensor<8x1xf32>
}"""
    assert reason(SinglePlaceRule(), text) == "it parts the channels from the images"
    assert (
        reason(SinglePlaceRule(), text.replace("2 : si64", "-3 : si64").replace("8x1xf32", "2x4xf32")) == ""
    )


def test_one_place_is_read_as_it_lies():
    text = model(
        "%k = onnx.Constant dense<[8]> : tensor<1xi64>\n"
        f'%g = "onnx.GlobalMaxPool"(%a) : ({IMAGE}) -> tensor<2x4x1x1xf32>\n'
        '%f = "onnx.Reshape"(%g, %k) : (tensor<2x4x1x1xf32>, tensor<1xi64>) -> tensor<8xf32>\n'
        f'%b = "onnx.Relu"(%a) : ({IMAGE}) -> {IMAGE}',
        output=("%f", "tensor<8xf32>"),
    )
    module = converted(text)
    assert '"onnx.Reshape"(%' in str(module)
    assert "tensor<2x1x1x4xf32>, tensor<1xi64>) -> tensor<8xf32>" in str(module)


def test_statistics_that_are_read():
    text = model(
        "%s = onnx.Constant dense<1.0> : tensor<4xf32>\n"
        '%n, %f, %p = "onnx.BatchNormalization"(%a, %s, %s, %s, %s) {training_mode = 0 : si64}'
        f" : ({IMAGE}, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)"
        f" -> ({IMAGE}, tensor<4xf32>, tensor<4xf32>)\n"
        f'%b = "onnx.Add"(%a, %n) : ({IMAGE}, {IMAGE}) -> {IMAGE}',
        output=("%f", "tensor<4xf32>"),
    )
    assert "its statistics are read" in [miss.reason for _, miss in run(inferred(text)).declined]
