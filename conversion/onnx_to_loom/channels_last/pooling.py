"""How are windows of channels-last images pooled? By vectors of channels, several places at once."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, rank_of, ranked, shape_of
from onnxloom.conversion.onnx_to_loom.channels_last.tile_shapes import tile_shape, window_sizes
from onnxloom.conversion.onnx_to_loom.channels_last.windows import Point, Reduction, WindowTiles
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.windows.pool_forms import pool_of, pool_window, windows
from onnxloom.conversion.onnx_to_loom.windows.pooling_kernels import Pool, WindowCounts, WindowDim
from onnxloom.dialects.onnx.semantics.scalars import Scalar, compute_type, is_float


def build_pool_channels_last(
    builder: KernelBuilder, op: Operation, source: SSAValue, result_type: Attribute
) -> SSAValue:
    """Writes the kernel of a pooling op without indices, and its launch; gives the result.

    `source` and the result are `[N, *spatial, C]`.

    Raises:
        Declined: the number of channels is not known.
    """
    channels = shape_of(source)[-1]
    if channels in (DYNAMIC_INDEX, 0):
        raise Declined("the channels of a pool are not known")
    type_ = ranked(result_type, "the result")
    storage = buffer_element(source.type)
    shape = windows(op, rank_of(source) - 2)
    pool = pool_of(op, ranked(source.type, "the operand").element_type, storage)
    window = pool_window(op, shape)
    sizes = window_sizes(builder, source, window)
    kernel = builder.kernel(f"{pool.name}_channels_last", [source], [type_], len(sizes.arguments))
    tiles = tile_shape(window, sizes, channels, 1, compute_type(storage), builder.kernels.target)
    _Writer(kernel, pool, shape, storage).write(WindowTiles(kernel, window, kernel.sizes, tiles))
    dims = [sizes.batch, *sizes.places, builder.index(channels)]
    return builder.launch(kernel, [source], [builder.empty(type_, dims)], sizes.arguments)[0]


class _Writer:
    """Writes what is computed of each window."""

    def __init__(self, kernel: KernelBody, pool: Pool, shape: Sequence[WindowDim], storage: Attribute):
        self.kernel, self.pool, self.shape, self.storage = kernel, pool, shape, storage

    def write(self, tiles: WindowTiles) -> None:
        s = self.kernel.scalars
        initial = s.const(self.pool.initial, compute_type(self.storage))
        counts = WindowCounts(
            self.kernel, self.shape, tiles.spatial, tiles.before, tiles.after, self.pool.count_padding
        )

        def finish(point: Point, value: Scalar) -> Scalar:
            index = (*point.line.index[1:], point.place)
            count = counts.of_starts([counts.start(d, place) for d, place in enumerate(index)])
            result = self.pool.finish(s, value, count)
            return s.float_to(result, self.storage) if is_float(self.storage) else result

        tiles.write(
            Reduction(
                lambda: initial,
                lambda: initial,
                lambda tap, channel: None,
                lambda total, factor, value: self.pool.combine(s, total, value),
                finish,
            )
        )
