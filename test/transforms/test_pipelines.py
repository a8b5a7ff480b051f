"""What runs at which optimization level."""

from __future__ import annotations

import pytest

from onnxloom.transforms.fusion.create import FuseOpsPass
from onnxloom.transforms.pipelines import FusionOptions, pipeline


def test_level_zero_does_not_fuse():
    assert [step.name for step in pipeline(0)] == ["shape-inference"]


@pytest.mark.parametrize("level", [1, 2, 3])
def test_higher_levels_fuse(level: int):
    assert [step.name for step in pipeline(level)] == ["shape-inference", "fuse-ops"]


def test_fusion_options_reach_the_pass():
    *_, step = pipeline(3, fusion=FusionOptions(("onnx.elementwise",), ("onnx.matmul_epilogue",), True))
    assert step == FuseOpsPass(("onnx.elementwise",), ("onnx.matmul_epilogue",), True)
    assert str(step.spec()) == str(FuseOpsPass.from_spec(step.spec()).spec())


def test_no_other_level():
    with pytest.raises(ValueError, match="4"):
        pipeline(4)
