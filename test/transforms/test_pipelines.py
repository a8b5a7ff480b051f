"""What runs at which optimization level, and the text of a level is the level."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from onnxloom.errors import PassError
from onnxloom.transforms.folding.folding_pass import FoldingPass
from onnxloom.transforms.fusion.create import FuseOpsPass
from onnxloom.transforms.pass_manager.pass_text import flattened, parse_passes
from onnxloom.transforms.pipelines import (
    OPT_LEVELS,
    FoldingOptions,
    FusionOptions,
    PipelineOptions,
    pipeline,
    pipeline_text,
)
from onnxloom.transforms.rewriting.pattern import Stage
from onnxloom.transforms.rewriting.rewrite_pass import RewritePatternsPass
from onnxloom.transforms.shape_inference import ShapeInferencePass


def names(level: int) -> set[str]:
    return {step.name for step in flattened(pipeline(level))}


def test_level_zero_only_infers_shapes_and_takes_contributed_ops_apart():
    first, contributed, last = pipeline(0)
    assert first == last == ShapeInferencePass()
    assert isinstance(contributed, RewritePatternsPass) and contributed.stage == "contributed_ops"
    assert pipeline(0, PipelineOptions(take_apart=False)) == [ShapeInferencePass()]


@pytest.mark.parametrize("level", OPT_LEVELS)
def test_contributed_ops_are_taken_apart_at_every_level_whatever_patterns_are_asked_for(level: int):
    options = PipelineOptions(patterns=("Cast*",), skip_patterns=("CastCast",))
    steps = [step for step in flattened(pipeline(level, options)) if isinstance(step, RewritePatternsPass)]
    (contributed,) = (step for step in steps if step.stage == Stage.CONTRIBUTED.value)
    assert (contributed.patterns, contributed.skip) == (None, ("CastCast",))


def test_each_level_has_the_passes_of_those_below():
    assert names(0) < names(2)
    assert names(0) <= names(1) <= names(2) <= names(3)


def test_fusion_starts_at_level_two():
    assert "fuse-ops" not in names(1)
    assert "fuse-ops" in names(2)


def test_convolutions_work_channels_last_directly_before_they_are_fused():
    steps = [step.name for step in pipeline(2)]
    assert steps[steps.index("fuse-ops") - 1] == "channels-last"
    assert "channels-last" not in names(1)


def test_readers_of_dequantized_tensors_have_their_own_where_they_are_fused():
    steps = [step.name for step in pipeline(2)]
    assert steps[steps.index("channels-last") - 1] == "private-dequantize"
    apart = PipelineOptions(FusionOptions(disable_fused_op=True))
    assert "private-dequantize" not in [step.name for step in pipeline(3, apart)]


@pytest.mark.parametrize(
    "options",
    [
        PipelineOptions(channels_last=False),
        PipelineOptions(FusionOptions(disable_fused_op=True)),
        PipelineOptions(FusionOptions(disable=("onnx.conv_channels_last",))),
        PipelineOptions(FusionOptions(kinds=("onnx.elementwise",))),
    ],
)
def test_where_their_transposes_would_stay_they_do_not(options: PipelineOptions):
    assert "channels-last" not in [step.name for step in pipeline(3, options)]


def test_fusion_options_reach_the_pass():
    fusion = FusionOptions(("onnx.elementwise",), ("onnx.matmul_epilogue",), True)
    steps = pipeline(3, PipelineOptions(fusion))
    assert FuseOpsPass(("onnx.elementwise",), ("onnx.matmul_epilogue",), True) in steps
    assert parse_passes(pipeline_text(3, PipelineOptions(fusion))) == tuple(steps)


def test_options_of_patterns_and_folding_reach_their_passes():
    options = PipelineOptions(
        folding=FoldingOptions(size_limit=8),
        patterns=("Cast*",),
        skip_patterns=("CastCast",),
        opset=13,
        take_apart=False,
    )
    steps = list(flattened(pipeline(1, options)))
    rewrites = [step for step in steps if isinstance(step, RewritePatternsPass)]
    assert {step.stage for step in rewrites} == {
        "before_shape_inference", "after_shape_inference", "after_builtin_patterns",
    }  # fmt: skip
    assert all((step.patterns, step.skip, step.opset) == (("Cast*",), ("CastCast",), 13) for step in rewrites)
    assert {step.numerics for step in rewrites} == {"exact"}
    folds = [step for step in steps if isinstance(step, FoldingPass)]
    assert {step.name for step in folds} == {
        "replace-empty", "fold-dimensions", "fold-constants", "adjust-dimensions",
    }  # fmt: skip
    assert all(step.size_limit == 8 for step in folds)
    assert parse_passes(pipeline_text(1, options)) == tuple(pipeline(1, options))


def test_folding_can_be_switched_off():
    steps = flattened(pipeline(3, PipelineOptions(folding=FoldingOptions(enabled=False))))
    assert not [step for step in steps if isinstance(step, FoldingPass)]


def test_folding_runs_at_four_places():
    steps = list(flattened(pipeline(2)))
    assert sum(step.name == "fold-constants" for step in steps) == 4


def test_patterns_within_a_tolerance_start_at_level_two():
    steps = flattened(pipeline(2, PipelineOptions(take_apart=False)))
    rewrites = [step for step in steps if isinstance(step, RewritePatternsPass)]
    assert {step.numerics for step in rewrites} == {"tolerance"}
    assert {step.stage for step in rewrites} == {stage.value for stage in Stage} - {"contributed_ops"}


def test_without_folding_nothing_is_computed_in_rewriting_either():
    steps = list(flattened(pipeline(2, PipelineOptions(folding=FoldingOptions(enabled=False)))))
    assert not any(isinstance(step, FoldingPass) for step in steps)
    assert not any(step.fold_added for step in steps if isinstance(step, RewritePatternsPass))
    assert all(step.fold_added for step in flattened(pipeline(2)) if isinstance(step, RewritePatternsPass))


@pytest.mark.parametrize("level", OPT_LEVELS)
def test_the_text_of_a_level_gives_its_passes(level: int):
    assert parse_passes(pipeline_text(level)) == tuple(pipeline(level))


def test_no_other_level():
    with pytest.raises(ValueError, match="4"):
        pipeline(4)


def test_a_kind_that_is_not_there_is_an_error_before_anything_runs():
    with pytest.raises(PassError, match="nothing"):
        pipeline(2, PipelineOptions(FusionOptions(disable=("onnx.nothing",))))


@pytest.mark.parametrize("level", OPT_LEVELS)
@pytest.mark.parametrize("choice", [{"patterns": ("NoSuch",)}, {"skip_patterns": ("NoSuch*",)}])
def test_a_pattern_that_is_not_there_is_an_error_before_anything_runs(level: int, choice: dict[str, Any]):
    with pytest.raises(PassError, match=r"no rewrite pattern 'NoSuch\*?'"):
        pipeline(level, PipelineOptions(**choice))


def test_the_printed_pipeline_is_one_that_the_driver_takes():
    command = [sys.executable, "-m", "onnxloom.tools.onnxloom_opt"]
    printed = subprocess.run([*command, "--print-pipeline", "O3"], capture_output=True, text=True, timeout=60)
    assert printed.stdout.strip() == pipeline_text(3)
    text = 'func.func @f(%x: tensor<4xf32>) -> tensor<*xf32> {\n  %0 = "onnx.Neg"(%x) : (tensor<4xf32>)'
    text += " -> tensor<*xf32>\n  onnx.Return %0 : tensor<*xf32>\n}"
    ran = subprocess.run(
        [*command, "-p", printed.stdout.strip()], input=text, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    assert "-> tensor<4xf32>" in ran.stdout
