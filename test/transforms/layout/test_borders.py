"""What is channels-first at both ends, how values cross the border, and what the pass must leave alone."""

from __future__ import annotations

import pytest
from layout_models import AROUND, IMAGE, border, converted, inferred, model, run

from onnxloom.dialects.onnx.text import make_context
from onnxloom.testing.numerics import assert_preserves_numerics
from onnxloom.transforms.layout.channels_last import ChannelsLastPass
from onnxloom.transforms.layout.rules import convolution
from onnxloom.transforms.pass_manager.pass_runner import run_pipeline
from onnxloom.transforms.rewriting.budget import limit_rewrites
from onnxloom.transforms.rewriting.recording import Recorder, use_recorder
from onnxloom.transforms.rewriting.replay import replay

RELU = model(f'%b = "onnx.Relu"(%a) : ({IMAGE}) -> {IMAGE}')

MANY = model(
    f"""%r = "onnx.Relu"(%a) : ({IMAGE}) -> {IMAGE}
    %s = "onnx.Sin"(%r) : ({IMAGE}) -> {IMAGE}
    %d = "onnx.DepthToSpace"(%r) {{blocksize = 2 : si64}} : ({IMAGE}) -> tensor<2x1x12x10xf32>
    %e = "onnx.DepthToSpace"(%r) {{blocksize = 2 : si64, mode = "CRD"}} : ({IMAGE}) -> tensor<2x1x12x10xf32>
    %f = "onnx.Add"(%d, %e) : (tensor<2x1x12x10xf32>, tensor<2x1x12x10xf32>) -> tensor<2x1x12x10xf32>
    %b = "onnx.Add"(%s, %r) : ({IMAGE}, {IMAGE}) -> {IMAGE}""",
    output=("%f", "tensor<2x1x12x10xf32>"),
)
"""A value that both channels-last and channels-first ops read."""


def test_several_readers_share_one_conversion():
    assert border(converted(MANY)) == [
        AROUND[0], "onnx.Transpose -> onnx.Return", "onnx.Relu -> onnx.DepthToSpace, onnx.DepthToSpace"
    ] or border(converted(MANY)) == [
        AROUND[0], "onnx.Relu -> onnx.DepthToSpace, onnx.DepthToSpace", AROUND[1]
    ]  # fmt: skip


def test_conversions_of_the_model_cancel():
    text = RELU.replace(f"(%x: {IMAGE})", "(%n: tensor<2x6x5x4xf32>)").replace(
        '%w = onnx', f'%x = "onnx.Transpose"(%n) {{perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]}} :'
        f" (tensor<2x6x5x4xf32>) -> {IMAGE}\n%w = onnx"
    ).replace(
        "onnx.Return %y : tensor<?x?x?x?xf32>",
        '%z = "onnx.Transpose"(%y) {perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]} : (tensor<?x?x?x?xf32>)'
        " -> tensor<?x?x?x?xf32>\nonnx.Return %z : tensor<?x?x?x?xf32>",
    )  # fmt: skip
    module = converted(text)
    assert border(module) == []
    assert str(module).count('"onnx.Transpose"') == 4, "those of two triples"


def test_an_intermediate_output_is_channels_first():
    text = model(f'%b = "onnx.Relu"(%a) : ({IMAGE}) -> {IMAGE}', output=("%b", IMAGE))
    assert "onnx.Relu -> onnx.Return" in border(converted(text))


def test_a_nested_region_reads_channels_first():
    inner = f"""%b = "onnx.Relu"(%a) : ({IMAGE}) -> {IMAGE}
    %i = "onnx.If"(%c) ({{
      onnx.Yield %b : {IMAGE}
    }}, {{
      %s = "onnx.Sin"(%b) : ({IMAGE}) -> {IMAGE}
      onnx.Yield %s : {IMAGE}
    }}) : (tensor<i1>) -> {IMAGE}"""
    module = converted(model(inner, extra=", %c: tensor<i1>", output=("%i", IMAGE)))
    assert "onnx.Relu -> onnx.Yield, onnx.Sin" in border(module) or (
        "onnx.Relu -> onnx.Sin, onnx.Yield" in border(module)
    )


def test_bodies_are_converted_too():
    text = f"""
func.func @main(%x: {IMAGE}, %c: tensor<i1>) -> {IMAGE} {{
  %none = "onnx.NoValue"() {{value}} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<4x4x1x1xf32>
  %y = "onnx.If"(%c) ({{
    %a = "onnx.Conv"(%x, %w, %none) : ({IMAGE}, tensor<4x4x1x1xf32>, none) -> {IMAGE}
    onnx.Yield %a : {IMAGE}
  }}, {{
    onnx.Yield %x : {IMAGE}
  }}) : (tensor<i1>) -> {IMAGE}
  onnx.Return %y : {IMAGE}
}}"""
    assert border(converted(text)) == ["argument -> onnx.Transpose", "onnx.Transpose -> onnx.Yield"]


def test_what_does_not_pay_stays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(convolution, "convolution_saves", lambda *_: 10.0)  # pyright: ignore
    module = inferred(RELU)
    before = str(module)
    report = run(module)
    assert str(module) == before
    assert [miss.reason for _, miss in report.declined] == [
        "conversions would take longer than the 0 us it saves"
    ] * 2


def test_the_report_says_what_pays():
    assert str(run(inferred(RELU))).startswith(
        "2 convolutions and pools and 1 other ops work channels-last: saves about "
    )


def test_what_is_to_be_kept_stays():
    text = RELU.replace('"onnx.Relu"(%a)', '"onnx.Relu"(%a) {onnxloom.keep}')
    module = converted(text)
    assert "onnx.Relu -> onnx.Transpose" in border(module)
    assert '"onnx.Relu"(%' in str(module) and f"{{onnxloom.keep}} : ({IMAGE})" in str(module)


def test_a_conversion_that_is_to_be_kept_stays():
    text = model(
        f'%t = "onnx.Transpose"(%a) {{onnxloom.keep, perm = [0 : si64, 2 : si64, 3 : si64, 1 : si64]}}'
        f" : ({IMAGE}) -> tensor<2x6x5x4xf32>\n"
        '%r = "onnx.Relu"(%t) : (tensor<2x6x5x4xf32>) -> tensor<2x6x5x4xf32>\n'
        '%b = "onnx.Transpose"(%r) {onnxloom.keep, perm = [0 : si64, 3 : si64, 1 : si64, 2 : si64]}'
        f" : (tensor<2x6x5x4xf32>) -> {IMAGE}"
    )
    assert str(converted(text)).count("onnxloom.keep") == 2


def test_names_and_types_of_results_stay():
    module = converted(model(f'%b = "onnx.Relu"(%a) : ({IMAGE}) -> {IMAGE}', output=("%b", IMAGE)))
    assert "onnx.Return %y, %b : tensor<2x4x6x5xf32>, tensor<2x4x6x5xf32>" in str(module)


@pytest.mark.parametrize("limit", range(7))
def test_any_number_of_rewrites_is_right(limit: int):
    def some(module: object) -> None:
        with limit_rewrites(limit) as log:
            run(module)  # pyright: ignore[reportArgumentType]
        assert len(log.taken) == min(limit, 5)
        assert log.refused == (limit < 5)

    assert_preserves_numerics(inferred(MANY), None, some)


def test_what_was_done_can_be_done_again():
    module, fresh = inferred(MANY), inferred(MANY)
    recorder = Recorder()
    with use_recorder(recorder):
        run_pipeline(module, make_context(), [ChannelsLastPass()], strict=True)
    assert recorder.log().records
    replay(fresh, recorder.log())
    assert str(fresh) == str(module)


def test_an_old_opset_has_no_axes_of_pads():
    pad = model(
        "%k = onnx.Constant dense<[0, 0, 1, 2, 0, 0, 3, 4]> : tensor<8xi64>\n"
        f'%b = "onnx.Pad"(%a, %k, %none, %none) : ({IMAGE}, tensor<8xi64>, none, none)'
        " -> tensor<2x4x10x11xf32>",
        "tensor<2x4x10x11xf32>",
    )
    module = inferred(pad)
    step = ChannelsLastPass(opset=17)
    step.apply(make_context(), module)
    assert [miss.reason for _, miss in step.report.declined] == ["its channels-last form needs opset 18"]
    assert any(text.endswith("-> onnx.Pad") for text in border(module))
