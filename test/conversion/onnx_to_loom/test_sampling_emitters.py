"""Do kernels of vision and signal ops say the same in Python and in LLVM?"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
from numerics import Array, assert_close, graph_model

from onnxloom.lowering.compile import CompileOptions, compile_model

RNG = np.random.default_rng(16)


def floats(*shape: int) -> Array:
    return RNG.normal(size=shape).astype(np.float32)


IMAGE = floats(1, 2, 9, 11)
SCALES = np.array([1, 1, 1.7, 0.6], np.float32)
ROI = np.array([0, 0, 0.1, 0.2, 1, 1, 1.2, 0.9], np.float32)
REGIONS = np.array([[0, 0, 5, 6], [2, 1, 8, 7]], np.float32)
CROP = {"coordinate_transformation_mode": "tf_crop_and_resize"}

Case = tuple[str, list[Array | None], dict[str, Any]]

CASES: dict[str, Case] = {
    "nearest": ("Resize", [IMAGE, None, SCALES], {"mode": "nearest"}),
    "cubic": ("Resize", [IMAGE, None, SCALES], {"mode": "cubic", "exclude_outside": 1}),
    "antialias": ("Resize", [IMAGE, None, SCALES], {"mode": "linear", "antialias": 1}),
    "integers": ("Resize", [(IMAGE * 30).astype(np.int8), None, SCALES], {"mode": "linear"}),
    "crop": ("Resize", [IMAGE, ROI, SCALES], {"mode": "linear", **CROP}),
    "grid": ("GridSample", [IMAGE, floats(1, 5, 6, 2)], {"mode": "cubic", "padding_mode": "reflection"}),
    "regions": ("RoiAlign", [IMAGE, REGIONS, np.zeros(2, np.int64)], {"output_height": 2}),
    "deformed": ("DeformConv", [IMAGE, floats(3, 2, 2, 2), floats(1, 8, 8, 10)], {}),
    "einsum": ("Einsum", [IMAGE, IMAGE], {"equation": "abij,abkj->abik"}),
    "spectra": ("DFT", [floats(20, 22, 2)], {}),
    "one spectrum": ("DFT", [floats(1, 60, 2)], {"inverse": 1}),
    "determinants": ("Det", [floats(3, 4, 4)], {}),
    "remainders": ("Mod", [IMAGE * 9, IMAGE[:, ::-1].copy()], {"fmod": 1}),
}


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_both_emitters(name: str) -> None:
    op, operands, attrs = CASES[name]
    names = ["" if a is None else f"x{i}" for i, a in enumerate(operands)]
    feeds = {n: a for n, a in zip(names, operands, strict=True) if a is not None}
    proto = graph_model([oh.make_node(op, names, ["y"], **attrs)], feeds, {"y": operands[0]}, dynamic=False)  # pyright: ignore
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    models = [compile_model(proto, CompileOptions(opt_level=0, jit=jit)) for jit in ("llvm", "numba")]
    ours, plain = (list(model.run(feeds).values()) for model in models)
    assert_close(ours, plain, rtol=1e-5, atol=1e-5)
