"""Do the examples in the docstring of the builder module run as they stand?"""

from __future__ import annotations

import re
import textwrap
from typing import Any

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from onnxloom.conversion.onnx_to_loom import builder as module
from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.kernel_set import KernelSet
from onnxloom.dialects.loom import LaunchOp


def examples() -> list[str]:
    blocks = re.findall(r"(?:^    .*\n|^\n)+", module.__doc__ or "", re.MULTILINE)
    return [textwrap.dedent(block) for block in blocks if block.strip()]


def test_the_lowering_of_a_chain() -> None:
    class SwishBias:
        kind = "test.swish_bias"

    class Fused:
        results: Any

    types = [TensorType(f32, [4, 8]), TensorType(f32, [8])]
    block = Block(arg_types=types)
    scope: dict[str, Any] = {"SwishBias": SwishBias}
    exec(examples()[0], scope)
    fused = Fused()
    fused.results = block.args[:1]
    (y,) = scope["SwishBiasLowering"]().lower_verified(
        fused, None, block.args, KernelBuilder(block, KernelSet())
    )
    assert y.type == types[0]


def test_a_loop_nest() -> None:
    block = Block(arg_types=[TensorType(f32, [-1, -1])])
    kernels = KernelSet()
    scope: dict[str, Any] = {
        "x": block.args[0], "result_type": TensorType(f32, [-1]), "builder": KernelBuilder(block, kernels),
    }  # fmt: skip
    exec(examples()[1], scope)
    launch = scope["y"].owner
    assert isinstance(launch, LaunchOp)
    (kernel,) = kernels.used({launch.kernel.root_reference.data})
    kernel.verify()
