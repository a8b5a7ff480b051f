"""How is a matrix product lowered? `build_gemm`: register tiles over packed panels, with an epilogue.

The right operand is walked in column panels. A constant is packed into panels once, at plan time; any
other is packed panel by panel into scratch memory, unless its rows can be read where they are. f32 and
f64 go through the tuned `gemm_tile`; other types accumulate one row of a panel at a time, half-width
floats in f32. The epilogue, one function over scalars, runs over each tile while it is in the L1 cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DictionaryAttr,
    Float32Type,
    Float64Type,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    program_constant,
    rank_of,
    ranked,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects import loom
from onnxloom.dialects.loom.target import GemmTile, gemm_tile
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, bit_width, compute_type

Epilogue = Callable[[Scalars, Scalar, Sequence[Scalar]], Scalar]
"""(scalars, element of the product in the type it is accumulated in, one element per operand) -> element
of the result, in its storage type."""

DIRECT_TILES = 2
"""Up to this many row tiles a right operand with contiguous rows is read in place: packing it would
cost more than it saves."""

ROW_COLUMNS = 64
"""Panel width of the types without a tuned tile."""


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
    transposes = {"trans_lhs": product.trans_lhs, "trans_rhs": product.trans_rhs}
    space = builder.insert(loom.MatmulSpaceOp(lhs, rhs, others, rank=rank, **transposes)).results
    dims = builder.insert(loom.MatmulDimsOp(lhs, rhs, rank=result_type.get_num_dims(), **transposes)).results
    tile = _tile(builder, element)
    packed = tile is not None and rank_of(rhs) == 2 and program_constant(rhs) is not None
    columns = tile.columns if tile is not None else ROW_COLUMNS
    out_types = [buffer_element(result_type)]
    outs = [builder.empty(result_type, dims)]
    if packed:
        rhs = _pack(builder, rhs, columns, product.trans_rhs)
    elif tile is not None:
        depth = space[rank + 2]
        panel = builder.multiply([depth, builder.index(columns)])
        scratch_type = TensorType(ranked(product.rhs.type, "operand").element_type, [DYNAMIC_INDEX])
        outs.append(builder.empty(scratch_type, [panel]))
        out_types.append(element)
    ins = [lhs, rhs, *others]
    kernel = KernelBody(name, [buffer_element(v.type) for v in ins], out_types, len(space))
    writer = _Writer(
        kernel, product, rank, tile, packed, columns, [_column_stride(builder, product, o) for o in others]
    )
    writer.write()
    return builder.launch(kernel, ins, outs, list(space))[0]


def _tile(builder: KernelBuilder, element: Attribute) -> GemmTile | None:
    if not isinstance(element, (Float32Type, Float64Type)):
        return None
    return gemm_tile(builder.kernels.target, bit_width(element) // 8)


def _pack(builder: KernelBuilder, rhs: SSAValue, columns: int, transposed: bool) -> SSAValue:
    type_ = ranked(rhs.type, "operand")
    k, n = reversed(type_.get_shape()) if transposed else type_.get_shape()
    packed = TensorType(type_.element_type, [-(-n // columns), k, columns])
    params: dict[str, Attribute] = {
        "columns": IntegerAttr(columns, i64),
        "transposed": IntegerAttr(int(transposed), i64),
    }
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


@dataclass
class _Writer:
    """Writes the loop nest of one product."""

    kernel: KernelBody
    product: Product
    rank: int
    tile: GemmTile | None
    packed: bool
    columns: int
    column_strides: Sequence[int | None]
    """Per epilogue operand what is known of its stride along the columns."""

    def __post_init__(self) -> None:
        k = self.kernel
        sizes = iter(k.sizes)
        tensors = 3 + len(self.product.others)
        self.batch = [next(sizes) for _ in range(self.rank)]
        self.m, self.n, self.k = (next(sizes) for _ in range(3))
        self.lines = [[next(sizes) for _ in range(self.rank + 1)] for _ in range(tensors)]
        self.a_k, self.b_k, self.b_n = (next(sizes) for _ in range(3))
        self.by_column = [next(sizes) for _ in self.product.others]
        self.lhs, self.rhs, *self.others = k.ins
        self.result = k.outs[0]
        self.sum_type = compute_type(self.lhs_element)

    @property
    def lhs_element(self) -> Attribute:
        return buffer_element(self.product.lhs.type)

    def write(self) -> None:
        """The whole kernel."""
        size = (self.tile.rows if self.tile is not None else 1) * self.columns
        if self.tile is None or self.product.epilogue is not None:
            self.scratch = self.kernel.scratch(self.sum_type, size)
        self._batches(0, [self.kernel.index(0) for _ in self.lines])

    def _batches(self, depth: int, bases: list[Scalar]) -> None:
        k = self.kernel
        if depth == self.rank:
            self._panels(bases)
            return
        with k.loop(self.batch[depth]) as i:
            steps = [k.mul(i, line[depth]) for line in self.lines]
            self._batches(depth + 1, [k.add(b, s) for b, s in zip(bases, steps, strict=True)])

    def _panels(self, bases: list[Scalar]) -> None:
        k = self.kernel
        width = k.index(self.columns)
        with k.loop(self._ceil(self.n, width)) as panel:
            column = k.mul(panel, width)
            count = k.scalars.minimum(width, k.sub(self.n, column))
            if self.tile is None:
                self._row_sums(bases, column, count)
            elif self.packed:
                offset = k.mul(panel, k.mul(self.k, width))
                self._tiles(self.tile, bases, column, count, [(None, self.rhs, offset, width)])
            else:
                self._unpacked_panel(self.tile, bases, column, count)

    def _unpacked_panel(self, tile: GemmTile, bases: list[Scalar], column: Scalar, count: Scalar) -> None:
        """Reads the panel in place if its rows are contiguous, full and read only a few times."""
        k, s = self.kernel, self.kernel.scalars
        width = k.index(self.columns)
        start = k.add(bases[1], k.mul(column, self.b_n))
        few = s.cmp("le", self.m, k.index(DIRECT_TILES * tile.rows))
        whole = s.and_(s.cmp("eq", self.b_n, k.index(1)), s.cmp("eq", count, width))
        direct = s.and_(few, whole)
        panel = k.outs[1]
        with k.branch(direct) as (_, pack), k.inside(pack), k.loop(self.k) as row:
            source, target = k.add(start, k.mul(row, self.b_k)), k.mul(row, width)
            with k.loop(count, parallel=True) as j:
                k.store(k.load(self.rhs, k.add(source, k.mul(j, self.b_n))), panel, k.add(target, j))
            with k.loop(width, start=count, parallel=True) as j:
                k.store(s.const(0.0, self.lhs_element), panel, k.add(target, j))
        sources = [(direct, self.rhs, start, self.b_k), (None, panel, k.index(0), width)]
        self._tiles(tile, bases, column, count, sources)

    def _tiles(
        self,
        tile: GemmTile,
        bases: list[Scalar],
        column: Scalar,
        count: Scalar,
        sources: Sequence[tuple[Scalar | None, SSAValue, Scalar, Scalar]],
    ) -> None:
        """All row tiles of a panel; `sources` are (condition, buffer, offset, row stride) alternatives."""
        k = self.kernel
        height = k.index(tile.rows)
        with k.loop(self._ceil(self.m, height)) as i:
            row = k.mul(i, height)
            rows = k.scalars.minimum(height, k.sub(self.m, row))
            at = [k.add(base, k.mul(row, line[-1])) for base, line in zip(bases, self.lines, strict=True)]
            if self.product.epilogue is None:
                target = (self.result, k.add(at[2], column), self.lines[2][-1])
            else:
                target = (self.scratch, k.index(0), k.index(self.columns))
            self._from_first(tile, sources, at[0], target, rows, count)
            if self.product.epilogue is not None:
                self._epilogue(at, column, rows, count)

    def _from_first(
        self,
        tile: GemmTile,
        sources: Sequence[tuple[Scalar | None, SSAValue, Scalar, Scalar]],
        lhs_at: Scalar,
        target: tuple[SSAValue, Scalar, Scalar],
        rows: Scalar,
        count: Scalar,
    ) -> None:
        """The tile from the first source whose condition holds; the last has none."""
        k = self.kernel
        (condition, panel, panel_at, panel_row), *rest = sources
        if condition is not None:
            with k.branch(condition) as (then, other):
                with k.inside(then):
                    self._from_first(tile, [(None, panel, panel_at, panel_row)], lhs_at, target, rows, count)
                with k.inside(other):
                    self._from_first(tile, rest, lhs_at, target, rows, count)
            return
        buffer, at, line = target
        offsets = [lhs_at, self.lines[0][-1], self.a_k, panel_at, panel_row, at, line]
        args = [self.lhs, panel, buffer, *offsets, self.k, rows, count]
        k.builder.insert(gemm_tile_op(tile, self.lhs_element, args))

    def _row_sums(self, bases: list[Scalar], column: Scalar, count: Scalar) -> None:
        """One row of the panel at a time: scratch[j] += a[k] * b[k, j]."""
        k, s = self.kernel, self.kernel.scalars
        start = k.add(bases[1], k.mul(column, self.b_n))
        zero = s.const(0, self.sum_type)
        with k.loop(self.m) as row:
            at = [k.add(base, k.mul(row, line[-1])) for base, line in zip(bases, self.lines, strict=True)]
            with k.loop(count, parallel=True) as j:
                k.store(zero, self.scratch, j)
            with k.loop(self.k) as step:
                factor = s.widen(k.load(self.lhs, k.add(at[0], k.mul(step, self.a_k))))
                source = k.add(start, k.mul(step, self.b_k))
                with k.loop(count, parallel=True) as j:
                    term = s.mul(factor, s.widen(k.load(self.rhs, k.add(source, k.mul(j, self.b_n)))))
                    k.store(s.add(k.load(self.scratch, j), term), self.scratch, j)
            self._epilogue(at, column, k.index(1), count)

    def _epilogue(self, at: list[Scalar], column: Scalar, rows: Scalar, count: Scalar) -> None:
        """Scratch to result through the epilogue; a full tile with known strides has literal bounds."""
        k, s = self.kernel, self.kernel.scalars
        full = s.cmp("eq", count, k.index(self.columns))
        for stride, known in zip(self.by_column, self.column_strides, strict=True):
            if known is None:
                full = s.and_(full, s.cmp("eq", stride, k.index(1)))
        with k.branch(full) as (fast, general):
            with k.inside(fast):
                literal = [1 if known is None else known for known in self.column_strides]
                self._apply(at, column, rows, k.index(self.columns), [k.index(stride) for stride in literal])
            with k.inside(general):
                strides = [
                    stride if known is None else k.index(known)
                    for stride, known in zip(self.by_column, self.column_strides, strict=True)
                ]
                self._apply(at, column, rows, count, strides)

    def _apply(
        self, at: list[Scalar], column: Scalar, rows: Scalar, count: Scalar, strides: Sequence[Scalar]
    ) -> None:
        k = self.kernel
        with k.loop(rows) as i:
            scratch_at = k.mul(i, k.index(self.columns))
            c_at, *others_at = (
                k.add(start, k.mul(i, stride[-1]))
                for start, stride in zip(at[2:], self.lines[2:], strict=True)
            )
            with k.loop(count, parallel=True) as j:
                value = k.load(self.scratch, k.add(scratch_at, j))
                x = k.add(column, j)
                operands = [
                    k.load(buffer, k.add(start, k.mul(x, stride)))
                    for buffer, start, stride in zip(self.others, others_at, strides, strict=True)
                ]
                k.store(self._finish(value, operands), self.result, k.add(c_at, x))

    def _finish(self, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        s = self.kernel.scalars
        if self.product.epilogue is not None:
            return self.product.epilogue(s, value, operands)
        target = buffer_element(self.product.result_type)
        return value if value.type == target else s.float_to(value, target)

    def _ceil(self, value: Scalar, step: Scalar) -> Scalar:
        return self.kernel.scalars.emit(arith.CeilDivSIOp(value, step))


def gemm_tile_op(tile: GemmTile, element: Attribute, args: Sequence[SSAValue]) -> loom.MicrokernelOp:
    """The `gemm_tile` op with its scalar reference.

    `args`: buffers A, B, C; A: offset, row stride, K stride; B: offset, row stride; C: offset, row
    stride; K, rows, columns.
    """
    reference = KernelBody("reference", [element, element], [element], len(args) - 3)
    a, b = reference.ins
    (c,) = reference.outs
    a_at, a_row, a_k, b_at, b_row, c_at, c_row, depth, rows, columns = reference.sizes
    k, s = reference, reference.scalars
    with k.loop(rows) as i, k.loop(columns) as j:
        line = k.add(a_at, k.mul(i, a_row))
        column = k.add(b_at, j)

        def step(t: Scalar, sums: Sequence[Scalar]) -> Sequence[Scalar]:
            left = k.load(a, k.add(line, k.mul(t, a_k)))
            return [s.add(sums[0], s.mul(left, k.load(b, k.add(column, k.mul(t, b_row)))))]

        (total,) = k.reduce(depth, [s.const(0.0, element)], step)
        k.store(total, c, k.add(k.add(c_at, k.mul(i, c_row)), j))
    region = reference.end().detach_region(0)
    params = {"rows": tile.rows, "vectors": tile.vectors, "lanes": tile.lanes}
    return loom.MicrokernelOp.create(
        operands=args,
        properties={
            "kind": StringAttr("gemm_tile"),
            "params": DictionaryAttr({name: IntegerAttr(value, i64) for name, value in params.items()}),
        },
        regions=[region],
    )
