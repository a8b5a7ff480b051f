"""How is a matrix product lowered? `build_gemm`: register tiles over packed panels, with an epilogue.

A constant right operand is packed into panels once, at plan time; any other is packed panel by panel
into scratch memory, unless its rows can be read where they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, f32, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    program_constant,
    rank_of,
    ranked,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.transpose_tiles import Matrix, write_transposed
from onnxloom.conversion.onnx_to_loom.plan_known import is_plan_known
from onnxloom.conversion.onnx_to_loom.products.product_loops import (
    Epilogue,
    Panels,
    ProductLoops,
    Shape,
    Source,
    fitted,
    tile_of,
)
from onnxloom.conversion.onnx_to_loom.products.widening import is_half, widened
from onnxloom.dialects import loom
from onnxloom.dialects.onnx.semantics.scalars import Scalar, compute_type

DIRECT_TILES = 2
"""Up to this many row tiles a right operand with contiguous rows is read in place: packing it would
cost more than it saves."""


@dataclass(frozen=True)
class Product:
    """`lhs @ rhs`, program-level tensors, with what is fused to it."""

    lhs: SSAValue
    rhs: SSAValue
    result_type: Attribute
    others: Sequence[SSAValue] = ()
    epilogue: Epilogue | None = None
    trans_lhs: bool = False
    trans_rhs: bool = False
    parts: int = 1
    """Integers per element of the factors: 2 in `pair_words`, 4 in `quad_words`; K counts words."""
    signed_left: bool = False
    """Whether of `quad_words` the left ones are signed and the right ones are not."""


def build_gemm(builder: KernelBuilder, name: str, product: Product) -> SSAValue:
    """Writes the kernel and its launch; gives the result.

    Raises:
        Declined: an operand has no known rank or an element type kernels do not hold.
    """
    lhs, rhs, others = product.lhs, product.rhs, list(product.others)
    element = buffer_element(lhs.type)
    if element != buffer_element(rhs.type):
        raise Declined("the operands have different element types")
    for value in (lhs, rhs):
        if rank_of(value) == 0:
            raise Declined("an operand of a matrix product has rank 0")
    result_type = ranked(product.result_type, "the result")
    rank = max(rank_of(lhs), rank_of(rhs), 2) - 2
    target = builder.kernels.target
    lhs, element = widened(builder, lhs), compute_type(element)
    shape = Shape(
        element,
        buffer_element(result_type),
        rank,
        fitted(tile_of(target, element, product.parts), _columns(product)),
        [_column_stride(builder, product, other) for other in others],
        product.epilogue,
        product.parts,
        product.signed_left,
    )
    transposes = {"trans_lhs": product.trans_lhs, "trans_rhs": product.trans_rhs}
    space = builder.insert(loom.MatmulSpaceOp(lhs, rhs, others, rank=rank, **transposes)).results
    dims = builder.insert(loom.MatmulDimsOp(lhs, rhs, rank=result_type.get_num_dims(), **transposes)).results
    outs = [builder.empty(result_type, dims)]
    out_types = [shape.result]
    panels: Panels
    if shape.tile is None:
        panels = _InPlace()
    elif rank_of(rhs) == 2 and _packable(rhs):
        rhs = _pack(builder, rhs, shape.columns, product.trans_rhs)
        panels = _Packed()
    else:
        panels = _PackedOnTheFly()
        depth = space[rank + 2]
        size = builder.multiply([depth, builder.index(shape.columns)])
        outs.append(builder.private(ranked(lhs.type, "operand").element_type, size))
        out_types.append(element)
    ins = [lhs, rhs, *others]
    kernel = KernelBody(name, [buffer_element(v.type) for v in ins], out_types, len(space))
    kernel.hold([b for b, v in zip(kernel.ins[2:], ins[2:], strict=True) if set(shape_of(v)) <= {1}])
    ProductLoops(kernel, shape, panels).write()
    return builder.launch(kernel, ins, outs, list(space))[0]


def _columns(product: Product) -> int:
    """Columns of the right operand, DYNAMIC_INDEX where they are not known."""
    shape = shape_of(product.rhs)
    return 1 if len(shape) == 1 else shape[-2 if product.trans_rhs else -1]


def _packable(rhs: SSAValue) -> bool:
    """Whether a matrix is known at plan time: a constant, or all of one whose leading dims are merged."""
    if not isinstance(rhs.owner, loom.ViewOp):
        return program_constant(rhs) is not None or isinstance(rhs.owner, loom.PackOp)
    if DYNAMIC_INDEX in shape_of(rhs):
        return False
    source = rhs.owner.source
    return is_plan_known(source) and shape_of(source)[-1] == shape_of(rhs)[-1] and _same_size(source, rhs)


def _same_size(a: SSAValue, b: SSAValue) -> bool:
    return math.prod(shape_of(a)) == math.prod(shape_of(b)) and DYNAMIC_INDEX not in shape_of(a)


def _pack(builder: KernelBuilder, rhs: SSAValue, columns: int, transposed: bool) -> SSAValue:
    type_ = ranked(rhs.type, "operand")
    k, n = reversed(type_.get_shape()) if transposed else type_.get_shape()
    single = is_half(type_.element_type)
    packed = TensorType(f32 if single else type_.element_type, [-(-n // columns), k, columns])
    params: dict[str, Attribute] = {
        "columns": IntegerAttr(columns, i64),
        "transposed": IntegerAttr(int(transposed), i64),
    }
    if single:
        params["single"] = IntegerAttr(1, i64)
    if isinstance(rhs.owner, loom.ViewOp):
        params["flat"] = IntegerAttr(1, i64)
        rhs = rhs.owner.source
    return builder.insert(loom.PackOp(rhs, "gemm_panels", params, packed)).results[0]


def _column_stride(builder: KernelBuilder, product: Product, other: SSAValue) -> int | None:
    """The stride of an epilogue operand along the columns, None where it depends on sizes."""
    dims = builder.dim_keys(other)
    if not dims or dims[-1] == 1:
        return 0
    if rank_of(product.rhs) == 1:
        return None
    columns = builder.dim_keys(product.rhs)[-2 if product.trans_rhs else -1]
    return 1 if dims[-1] == columns else None


class _Packed:
    """A right operand in `gemm_panels` layout."""

    prepared = True

    def panel(
        self, loops: ProductLoops, base: Scalar, index: Scalar, column: Scalar, count: Scalar
    ) -> Sequence[Source]:
        k = loops.kernel
        width = k.index(loops.shape.columns)
        size = k.mul(loops.k, width)
        last = k.sub(k.scalars.emit(arith.CeilDivSIOp(loops.n, width)), k.index(1))
        following = k.mul(k.scalars.minimum(k.add(index, k.index(1)), last), size)
        return [Source(loops.rhs, k.mul(index, size), width, following=following)]


class _InPlace:
    """Any right operand, read where it is."""

    prepared = True

    def panel(
        self, loops: ProductLoops, base: Scalar, index: Scalar, column: Scalar, count: Scalar
    ) -> Sequence[Source]:
        k = loops.kernel
        return [Source(loops.rhs, k.add(base, k.mul(column, loops.b_n)), loops.b_k, loops.b_n)]


class _PackedOnTheFly:
    """Any right operand, half-width floats as f32.

    Read in place if no element changes, its rows are contiguous and full, and it is read only a few times.
    """

    prepared = False

    def panel(
        self, loops: ProductLoops, base: Scalar, index: Scalar, column: Scalar, count: Scalar
    ) -> Sequence[Source]:
        k, s = loops.kernel, loops.kernel.scalars
        assert loops.shape.tile is not None
        width = k.index(loops.shape.columns)
        start = k.add(base, k.mul(column, loops.b_n))
        panel = Matrix(k.outs[1], k.private(k.mul(loops.k, width)), width)
        if loops.rhs.type != panel.buffer.type:
            self._fill(loops, start, panel, count)
            return [Source(panel.buffer, panel.offset, width)]
        few = s.cmp("le", loops.m, k.index(DIRECT_TILES * loops.shape.tile.rows))
        whole = s.and_(s.cmp("eq", loops.b_n, k.index(1)), s.cmp("eq", count, width))
        direct = s.and_(few, whole)
        with k.branch(direct) as (_, pack), k.inside(pack):
            self._fill(loops, start, panel, count)
        return [
            Source(loops.rhs, start, loops.b_k, condition=direct),
            Source(panel.buffer, panel.offset, width),
        ]

    def _fill(self, loops: ProductLoops, start: Scalar, panel: Matrix, count: Scalar) -> None:
        """Copies a panel, zeros beyond its columns; contiguous full rows in whole vectors."""
        k, s = loops.kernel, loops.kernel.scalars
        width = k.index(loops.shape.columns)
        whole = s.and_(s.cmp("eq", loops.b_n, k.index(1)), s.cmp("eq", count, width))
        with k.branch(whole) as (fast, general):
            with k.inside(fast), k.loop(loops.k) as row:
                source = k.add(start, k.mul(row, loops.b_k))
                target = k.add(panel.offset, k.mul(row, width))
                with k.loop(width, parallel=True) as j:
                    k.store(s.widen(k.load(loops.rhs, k.add(source, j))), panel.buffer, k.add(target, j))
            with k.inside(general):
                self._fill_any(loops, start, panel, count)

    def _fill_any(self, loops: ProductLoops, start: Scalar, panel: Matrix, count: Scalar) -> None:
        """Copies a panel: of a transposed operand by tiles, else element by element; zeros at its end."""
        k, s = loops.kernel, loops.kernel.scalars
        width = k.index(loops.shape.columns)
        by_columns = s.cmp("eq", loops.b_k, k.index(1))
        lanes = loops.shape.tile.lanes if loops.shape.tile and loops.rhs.type == panel.buffer.type else None
        with k.branch(by_columns) as (transposed, other):
            if lanes is not None:
                with k.inside(transposed):
                    source = Matrix(loops.rhs, start, loops.b_n)
                    write_transposed(k, source, panel, count, loops.k, lanes)
            for block in (other,) if lanes is not None else (transposed, other):
                with k.inside(block), k.loop(loops.k) as row:
                    source_at = k.add(start, k.mul(row, loops.b_k))
                    target_at = k.add(panel.offset, k.mul(row, width))
                    with k.loop(count, parallel=True) as j:
                        value = s.widen(k.load(loops.rhs, k.add(source_at, k.mul(j, loops.b_n))))
                        k.store(value, panel.buffer, k.add(target_at, j))
        with k.loop(loops.k) as row, k.loop(width, start=count, parallel=True) as j:
            at = k.add(panel.offset, k.add(k.mul(row, width), j))
            k.store(s.const(0.0, loops.shape.element), panel.buffer, at)
