"""How is a kernel launched that is the same whatever it is launched for? It is written once per module."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects import loom


def launch_once_written(
    builder: KernelBuilder,
    name: str,
    write: Callable[[], KernelBody],
    ins: Sequence[SSAValue],
    outs: Sequence[SSAValue],
    sizes: Sequence[SSAValue],
) -> Sequence[SSAValue]:
    """`KernelBuilder.launch` of what `write` gives, which is called for the first launch of `name` only.

    Raises:
        ValueError: as `KernelBuilder.launch`.
    """
    names = builder.kernels.by_author
    if name in names:
        return builder.insert(loom.LaunchOp(names[name], ins, outs, sizes, None)).results
    results = builder.launch(write(), ins, outs, sizes)
    launched = results[0].owner
    assert isinstance(launched, loom.LaunchOp)
    names[name] = launched.kernel.root_reference.data
    return results
