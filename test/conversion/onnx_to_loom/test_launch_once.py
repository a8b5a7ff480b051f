"""Is a kernel that is the same for all launches written once, and launched each time?"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.kernel_set import KernelSet
from onnxloom.conversion.onnx_to_loom.launch_once import launch_once_written
from onnxloom.dialects.loom import LaunchOp


def test_the_second_launch_writes_nothing() -> None:
    type_ = TensorType(f32, [4])
    block = Block(arg_types=[type_])
    builder = KernelBuilder(block, KernelSet())
    written: list[KernelBody] = []

    def write() -> KernelBody:
        k = builder.kernel("copy", block.args, [type_], 1)
        with k.tasks(k.sizes[0]) as i:
            k.store(k.load(k.ins[0], i), k.outs[0], i)
        written.append(k)
        return k

    def launch() -> LaunchOp:
        size = builder.index(4)
        (y,) = launch_once_written(builder, "copy", write, block.args, [builder.empty(type_, [size])], [size])
        assert isinstance(y.owner, LaunchOp)
        return y.owner

    first, second = launch(), launch()
    assert first is not second
    assert first.kernel == second.kernel
    assert len(written) == 1
