"""AffineGrid: the centres of the pixels of an image, or of the voxels of a volume, moved by affine maps."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f64, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked, shape_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.scalars import KERNEL_FLOATS, Scalar


@lowering(onnx.AffineGridOp)
def lower_affine_grid(op: onnx.AffineGridOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The size is read when the plan is made; computed in f64."""
    maps, size = inputs
    assert maps is not None and size is not None
    count = shape_of(size)
    if rank_of(maps) != 3 or len(count) != 1 or count[0] not in (4, 5):
        raise Declined("AffineGrid of a size whose length is not known has no kernel")
    element, dims = buffer_element(maps.type), count[0] - 2
    if not isinstance(element, KERNEL_FLOATS):
        raise Declined(f"AffineGrid of elements of type {element} has no kernel")
    read = [builder.read(size, i) for i in range(count[0])]
    wanted = [read[0], builder.index(dims), builder.index(dims + 1)]
    for axis, (have, want) in enumerate(zip(builder.dims(maps), wanted, strict=True)):
        refuse_where(builder, have, "ne", want, f"dim {axis} of the maps does not fit the size")
    out_dims = [read[0], *read[2:], builder.index(dims)]
    type_ = ranked(op.grid.type, "the grid")
    k = KernelBody("affine_grid", [element], [element], 1 + dims)
    with k.task_nest(*k.sizes[:2]) as (n, row):
        _rows(k, n, row, element, bool(int_attr(op, "align_corners")))
    out = builder.empty(type_, exact_dims(builder, type_, out_dims))
    return builder.launch(k, [maps], [out], [read[0], *read[2:]])


def _rows(k: KernelBody, n: Scalar, row: Scalar, element: Attribute, aligned: bool) -> None:
    """All points with these indices of the image and of the first spatial dim."""
    s, sizes = k.scalars, k.sizes[1:]
    dims = len(sizes)
    width = dims + 1
    factors = [
        s.float_to(s.widen(k.load(k.ins[0], k.at(n, k.index(dims * width), k.index(i)))), f64)
        for i in range(dims * width)
    ]

    def nest(places: list[Scalar], offset: Scalar) -> None:
        depth = len(places)
        if depth < dims:
            with k.loop(sizes[depth]) as i:
                nest([*places, i], k.at(offset, sizes[depth], i))
            return
        # A map takes the last spatial dim first.
        point = [_centre(k, i, size, aligned) for i, size in zip(places, sizes, strict=True)][::-1]
        for d in range(dims):
            own = factors[d * width : (d + 1) * width]
            total = own[-1]
            for factor, value in zip(own[:-1], point, strict=True):
                total = s.add(total, s.mul(factor, value))
            target = k.at(offset, k.index(dims), k.index(d))
            k.store(s.float_to(total, element), k.outs[0], target)

    nest([row], k.at(n, sizes[0], row))


def _centre(k: KernelBody, index: Scalar, size: Scalar, aligned: bool) -> Scalar:
    """An index of a dim as a number in [-1, 1]: that of the first and the last one if aligned."""
    s = k.scalars
    i, n = (s.int_to_float(k.from_index(value, i64), f64, unsigned=False) for value in (index, size))
    if not aligned:
        return s.add_const(s.divf(s.add_const(s.mul_const(i, 2.0), 1.0), n), -1.0)
    single = s.cmp("le", n, s.const(1.0, f64))
    steps = s.select(single, s.const(1.0, f64), s.add_const(n, -1.0))
    place = s.add_const(s.divf(s.mul_const(i, 2.0), steps), -1.0)
    return s.select(single, s.const(0.0, f64), place)
