"""Passes as text, and read again."""

from __future__ import annotations

import pytest

from onnxloom.transforms.fusion.create import FuseOpsPass
from onnxloom.transforms.pass_manager.fixed_point import FixedPointPass
from onnxloom.transforms.pass_manager.pass_table import TRANSFORM_PASSES, pass_class
from onnxloom.transforms.pass_manager.pass_text import flattened, listed, parse_passes, pass_text, passes_text
from onnxloom.transforms.shape_inference import ShapeInferencePass


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (ShapeInferencePass(), "shape-inference"),
        (FuseOpsPass(("a", "b"), disable_fused_op=True), "fuse-ops{kinds=a,b disable-fused-op=true}"),
        (
            FuseOpsPass(("onnx.relu", 'a"b', "c\\d", "true")),
            r'fuse-ops{kinds="onnx.relu","a\"b","c\\d","true"}',
        ),
        (FixedPointPass("shape-inference", 2), "fixed-point{pipeline=shape-inference max-sweeps=2}"),
        (
            FixedPointPass("shape-inference,fuse-ops{kinds=a}"),
            'fixed-point{pipeline="shape-inference,fuse-ops{kinds=a}"}',
        ),
    ],
)
def test_text_of_a_pass_and_back(step: object, text: str):
    assert isinstance(step, ShapeInferencePass | FuseOpsPass | FixedPointPass)
    assert pass_text(step) == text
    assert parse_passes(text) == (step,)


def test_several_passes():
    steps = (ShapeInferencePass(), FixedPointPass("fuse-ops,shape-inference"), FuseOpsPass())
    assert parse_passes(passes_text(steps)) == steps
    assert [step.name for step in flattened(steps)] == [
        "shape-inference", "fixed-point", "fuse-ops", "shape-inference", "fuse-ops",
    ]  # fmt: skip


def test_every_name_leads_to_its_pass():
    assert all(pass_class(name).name == name for name in TRANSFORM_PASSES)


def test_names_in_an_option():
    assert listed(("a, b", " c", "")) == ("a", "b", "c")
    assert listed(()) == ()
    assert listed(None) is None


def test_errors_of_text():
    with pytest.raises(ValueError, match=r"unknown pass 'fuse-op' \(did you mean fuse-ops"):
        parse_passes("fuse-op")
    with pytest.raises(ValueError, match="is no list of passes"):
        parse_passes("fuse-ops{")
