"""Which loops compute scaled dot-product attention? `write_attention`: a block of queries at a time.

The scores of a block of queries against all keys stay in the cache: two products with register tiles, and
the softmax of each row between them. Keys are packed once per key head; values are read where they are
when their rows fill whole vectors and are neighbours: rows that lie a power of two apart would share few
sets of the cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import UnitAttr, f32, i1
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import reassociated
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.transpose_tiles import Matrix, write_transposed
from onnxloom.conversion.onnx_to_loom.products.product_loops import gemm_tile_op
from onnxloom.conversion.onnx_to_loom.reductions.softmax_rows import SoftmaxRow, softmax_row_op
from onnxloom.dialects.loom.target import GemmTile
from onnxloom.dialects.onnx.semantics.quick_ops import binary
from onnxloom.dialects.onnx.semantics.scalars import Scalar

TILES_PER_BLOCK = 4
"""Row tiles per block of queries: 32 rows of 384 f32 scores are 48 KiB."""

FEW_QUERIES = 2
"""Up to this many queries are multiplied with the keys where they are: packing them would cost more."""


@dataclass(frozen=True)
class AttentionForm:
    """What an attention kernel is specialised on."""

    element: Attribute
    tile: GemmTile
    scale: float
    softcap: float
    mask: Attribute | None
    """Element type of the mask: i1 for truth values, else that of the scores; None without a mask."""
    is_causal: bool
    value_vectors: int | None
    """Vectors per row of values; None where rows do not fill whole ones."""
    has_distant_values: bool = False
    """Whether the rows of values of one head are no neighbours."""

    @property
    def packs_values(self) -> bool:
        """Whether values are packed where there are more than a few queries."""
        return self.value_vectors is None or self.has_distant_values

    @property
    def value_columns(self) -> int:
        """Columns of values that one tile computes: the tile's own, or fewer in panels of like width.

        Also the width of a panel of packed values.
        """
        if self.value_vectors is None:
            return self.tile.columns
        panels = -(-self.value_vectors // self.tile.vectors)
        return self.tile.lanes * -(-self.value_vectors // max(panels, 1))


@dataclass(frozen=True)
class Line:
    """Offsets of a `[batch, head, row, column]` tensor with contiguous columns."""

    batch: Scalar
    head: Scalar
    row: Scalar

    def at(self, k: KernelBody, batch: Scalar, head: Scalar, row: Scalar | None = None) -> Scalar:
        base = k.add(k.mul(batch, self.batch), k.mul(head, self.head))
        return base if row is None else k.add(base, k.mul(row, self.row))


SIZES = 8 + 4 * 3
"""batch, key heads, queries per key head, queries, keys, width of keys, width of values, first query's
position; batch, head and row strides of Q, K, V, Y. With a mask there are further ones: its batch, head and
row strides, and how many keys it covers."""


class AttentionLoops:
    """Writes the loop nest; the kernel's buffers are Q, K, V, mask if any; Y, scores, packed keys, packed
    values if needed."""

    def __init__(self, kernel: KernelBody, form: AttentionForm):
        self.k, self.form = kernel, form
        self.q, self.keys, self.values, *rest = kernel.ins
        self.mask: SSAValue | None = rest[0] if rest else None
        self.y, self.scores, self.packed_keys, *more = kernel.outs
        self.packed_values: SSAValue | None = more[0] if more else None
        sizes = list(kernel.sizes)
        self.batch, self.kv_heads, self.group, self.s, self.t, self.d, self.dv, self.offset = sizes[:8]
        self.lines = [Line(*sizes[i : i + 3]) for i in range(8, SIZES, 3)]
        self.mask_line = Line(*sizes[SIZES : SIZES + 3]) if rest else None
        self.width = kernel.index(form.tile.columns)
        self.panel = kernel.index(form.value_columns)
        self.height = kernel.index(form.tile.rows)
        self.t_limit = kernel.scalars.minimum(self.t, sizes[SIZES + 3]) if rest else self.t
        self.line = kernel.mul(self._ceil(self.t, self.width), self.width)
        """Elements per row of scores."""

    def write(self) -> None:
        k = self.k
        block = k.index(TILES_PER_BLOCK * self.form.tile.rows)
        self.inverse = k.scratch(self.form.element, TILES_PER_BLOCK * self.form.tile.rows)
        few = k.scalars.cmp("le", self.s, k.index(FEW_QUERIES))
        with k.task_nest(self.batch, self.kv_heads) as (b, kv):
            self._find_private()
            key_at = self.lines[1].at(k, b, kv)
            value_at = self.lines[2].at(k, b, kv)
            with k.branch(few) as (_, many), k.inside(many):
                self._pack_keys(key_at)
                if self.form.value_vectors is not None and self.form.packs_values:
                    self._pack_values(value_at)
            if self.form.value_vectors is None:
                self._pack_values(value_at)
            with k.loop(self.group) as g, k.loop(self._ceil(self.s, block)) as index:
                head = k.add(k.mul(kv, self.group), g)
                first = k.mul(index, block)
                rows = k.scalars.minimum(block, k.sub(self.s, first))
                limit = self._limit(k.add(first, k.sub(rows, k.index(1))))
                query_at = self.lines[0].at(k, b, head, first)
                with k.branch(few) as (then, many):
                    with k.inside(then):
                        self._dot_scores(query_at, key_at, rows, limit)
                    with k.inside(many):
                        self._tile_scores(query_at, rows, limit)
                self._softmax(b, head, first, rows, limit)
                self._all_values(few, self.lines[3].at(k, b, head, first), value_at, rows, limit)

    def _find_private(self) -> None:
        """Where this thread's scores, keys and values begin in their buffers."""
        k = self.k
        rows = k.index(TILES_PER_BLOCK * self.form.tile.rows)
        columns = k.mul(self._ceil(self.dv, self.panel), self.panel)
        self.scores_at = k.private(k.mul(rows, self.line))
        self.keys_at = k.private(k.mul(self.line, self.d))
        self.values_at = k.private(k.mul(self.t, columns))

    def _ceil(self, value: Scalar, step: Scalar) -> Scalar:
        return self.k.scalars.emit(binary(arith.CeilDivSIOp, value, step))

    def _limit(self, row: Scalar) -> Scalar:
        """How many keys the query at `row` may see."""
        k, s = self.k, self.k.scalars
        if not self.form.is_causal:
            return self.t_limit
        seen = k.add(k.add(row, self.offset), k.index(1))
        return s.minimum(s.maximum(seen, k.index(0)), self.t_limit)

    # Scores

    def _pack_keys(self, key_at: Scalar) -> None:
        """Panels of `width` keys, one row per column of a key; zeros beyond the last key."""
        k = self.k
        with k.loop(self._ceil(self.t, self.width)) as panel:
            first = k.mul(panel, self.width)
            count = k.scalars.minimum(self.width, k.sub(self.t, first))
            target = k.add(self.keys_at, k.mul(first, self.d))
            source = k.add(key_at, k.mul(first, self.lines[1].row))
            write_transposed(
                k,
                Matrix(self.keys, source, self.lines[1].row),
                Matrix(self.packed_keys, target, self.width),
                count,
                self.d,
                self.form.tile.lanes,
            )
            with k.loop(self.d) as c, k.loop(self.width, start=count, parallel=True) as j:
                place = k.add(k.add(target, k.mul(c, self.width)), j)
                k.store(k.scalars.const(0.0, self.form.element), self.packed_keys, place)

    def _scores_of(self, row: Scalar) -> Scalar:
        """Where the scores of a query of the block begin."""
        return self.k.add(self.scores_at, self.k.mul(row, self.line))

    def _tile_scores(self, query_at: Scalar, rows: Scalar, limit: Scalar) -> None:
        k, one = self.k, self.k.index(1)
        with k.loop(self._ceil(limit, self.width)) as panel:
            first = k.mul(panel, self.width)
            count = k.scalars.minimum(self.width, k.sub(self.t, first))
            with k.loop(self._ceil(rows, self.height)) as tile:
                row = k.mul(tile, self.height)
                height = k.scalars.minimum(self.height, k.sub(rows, row))
                left = [k.add(query_at, k.mul(row, self.lines[0].row)), self.lines[0].row, one]
                right = [k.add(self.keys_at, k.mul(first, self.d)), self.width]
                target = [k.add(self._scores_of(row), first), self.line]
                buffers = [self.q, self.packed_keys, self.scores]
                self._tile([*buffers, *left, *right, *target, self.d, height, count])

    def _dot_scores(self, query_at: Scalar, key_at: Scalar, rows: Scalar, limit: Scalar) -> None:
        k, s = self.k, self.k.scalars
        with k.loop(rows) as row, k.loop(limit) as t:
            left = k.add(query_at, k.mul(row, self.lines[0].row))
            right = k.add(key_at, k.mul(t, self.lines[1].row))

            def step(c: Scalar, acc: Sequence[Scalar], left: Scalar = left, right: Scalar = right):
                product = s.mul(k.load(self.q, k.add(left, c)), k.load(self.keys, k.add(right, c)))
                return [reassociated(s.add(acc[0], product))]

            (total,) = k.reduce(self.d, [s.const(0.0, self.form.element)], step)
            k.store(total, self.scores, k.add(self._scores_of(row), t))

    def _tile(self, args: Sequence[SSAValue]) -> None:
        self.k.builder.insert(gemm_tile_op(self.form.tile, self.form.element, args))

    # Softmax

    def _softmax(self, b: Scalar, head: Scalar, first: Scalar, rows: Scalar, limit: Scalar) -> None:
        """exp(score - largest) in place, 0 for keys that are not seen; the inverse of the sum aside.

        A row that sees no key is all 0.
        """
        k = self.k
        tuned = self._tuned_row()
        if tuned is None:
            self._softmax_by_loops(b, head, first, rows, limit)
            return
        if not self.form.is_causal:
            self._tuned_softmax(tuned, b, head, first, k.index(0), rows, limit)
            return
        with k.loop(rows) as r:
            seen = self._limit(k.add(first, r))
            self._tuned_softmax(tuned, b, head, k.add(first, r), r, k.index(1), seen)
            self._hide(self._scores_of(r), seen, limit)

    def _tuned_row(self) -> SoftmaxRow | None:
        """The tuned softmax of these scores, None where there is none."""
        form = self.form
        if form.element != f32 or form.softcap > 0:
            return None
        kind = "none" if form.mask is None else "truth" if form.mask == i1 else "added"
        return SoftmaxRow(form.tile.lanes, form.scale, kind, normalized=False, hidden=True)

    def _tuned_softmax(
        self, row: SoftmaxRow, b: Scalar, head: Scalar, query: Scalar, at: Scalar, rows: Scalar, seen: Scalar
    ) -> None:
        """`rows` rows from row `at` of the block on, which is of `query`."""
        k = self.k
        start = self._scores_of(at)
        ins, places, strides = [self.scores], [start], [self.line]
        if self.mask is not None and self.mask_line is not None:
            ins.append(self.mask)
            places.append(self.mask_line.at(k, b, head, query))
            strides.append(self.mask_line.row)
        args = [*ins, self.scores, self.inverse, *places, start, at, *strides, self.line, k.index(1)]
        k.builder.insert(softmax_row_op(row, [*args, rows, seen]))

    def _hide(self, at: Scalar, seen: Scalar, limit: Scalar) -> None:
        """0 for the keys of a row that are not seen."""
        k = self.k
        with k.loop(limit, start=seen, parallel=True) as j:
            k.store(k.scalars.const(0.0, self.form.element), self.scores, k.add(at, j))

    def _softmax_by_loops(self, b: Scalar, head: Scalar, first: Scalar, rows: Scalar, limit: Scalar) -> None:
        k, s, element = self.k, self.k.scalars, self.form.element
        with k.loop(rows) as r:
            row = k.add(first, r)
            at = self._scores_of(r)
            seen = self._limit(row)
            mask_at = None if self.mask_line is None else self.mask_line.at(k, b, head, row)

            def larger(j: Scalar, acc: Sequence[Scalar], at: Scalar = at, mask_at: Scalar | None = mask_at):
                return [s.maximum(acc[0], self._score(at, mask_at, j))]

            lowest = s.const(-math.inf, element)
            (largest,) = k.reduce(seen, [lowest], larger, parallel=True)
            shift = s.select(s.cmp("eq", largest, lowest), s.const(0.0, element), largest)

            def add(
                j: Scalar,
                acc: Sequence[Scalar],
                at: Scalar = at,
                mask_at: Scalar | None = mask_at,
                shift: Scalar = shift,
            ):
                place = k.add(at, j)
                value = s.unary(xmath.ExpOp, s.sub(self._score(at, mask_at, j), shift))
                if isinstance(value.owner, xmath.ExpOp):
                    value.owner.attributes["loom.nonpositive"] = UnitAttr()  # nothing exceeds the maximum
                k.store(value, self.scores, place)
                return [reassociated(s.add(acc[0], value))]

            (total,) = k.reduce(seen, [s.const(0.0, element)], add, parallel=True)
            self._hide(at, seen, limit)
            empty = s.cmp("eq", total, s.const(0.0, element))
            one = s.const(1.0, element)
            k.store(s.select(empty, one, s.divf(one, total)), self.inverse, r)

    def _score(self, at: Scalar, mask_at: Scalar | None, j: Scalar) -> Scalar:
        """The score of one key: cheaper to compute twice than to store."""
        s, form = self.k.scalars, self.form
        score = s.mul_const(self.k.load(self.scores, self.k.add(at, j)), form.scale)
        if form.softcap > 0:
            capped = s.unary(xmath.TanhOp, s.mul_const(score, 1.0 / form.softcap))
            score = s.mul_const(capped, form.softcap)
        if self.mask is None or mask_at is None:
            return score
        bias = self.k.load(self.mask, self.k.add(mask_at, j))
        if form.mask != i1:
            return s.add(score, bias)
        attends = bias if bias.type == i1 else s.cmp("ne", bias, s.const(0, bias.type))
        return s.select(attends, score, s.const(-math.inf, form.element))

    # Values

    def _pack_values(self, value_at: Scalar) -> None:
        """Panels of a tile's columns, zeros beyond the last."""
        assert self.packed_values is not None
        k = self.k
        with k.loop(self._ceil(self.dv, self.panel)) as panel:
            first = k.mul(panel, self.panel)
            count = k.scalars.minimum(self.panel, k.sub(self.dv, first))
            with k.loop(self.t) as t:
                source = k.add(k.add(value_at, k.mul(t, self.lines[2].row)), first)
                target = k.add(self.values_at, k.mul(k.add(k.mul(panel, self.t), t), self.panel))
                with k.loop(count, parallel=True) as j:
                    value = k.load(self.values, k.add(source, j))
                    k.store(value, self.packed_values, k.add(target, j))
                with k.loop(self.panel, start=count, parallel=True) as j:
                    zero = k.scalars.const(0.0, self.form.element)
                    k.store(zero, self.packed_values, k.add(target, j))

    def _all_values(self, few: Scalar, y_at: Scalar, value_at: Scalar, rows: Scalar, limit: Scalar) -> None:
        """The weighted values, from the packed ones where there are any."""
        k, form = self.k, self.form
        if form.value_vectors is None or not form.packs_values:
            self._weighted_values(y_at, value_at, rows, limit, packed=form.packs_values)
            return
        with k.branch(few) as branches:
            for block, packed in zip(branches, (False, True), strict=True):
                with k.inside(block):
                    self._weighted_values(y_at, value_at, rows, limit, packed=packed)

    def _weighted_values(
        self, y_at: Scalar, value_at: Scalar, rows: Scalar, limit: Scalar, *, packed: bool
    ) -> None:
        k, s, one = self.k, self.k.scalars, self.k.index(1)
        y_row = self.lines[3].row
        source = self.packed_values if packed else self.values
        assert source is not None
        with k.loop(self._ceil(self.dv, self.panel)) as panel:
            first = k.mul(panel, self.panel)
            count = s.minimum(self.panel, k.sub(self.dv, first))
            right = [k.add(value_at, first), self.lines[2].row]
            if packed:
                right = [k.add(self.values_at, k.mul(k.mul(panel, self.t), self.panel)), self.panel]
            with k.loop(self._ceil(rows, self.height)) as tile:
                row = k.mul(tile, self.height)
                height = s.minimum(self.height, k.sub(rows, row))
                left = [self._scores_of(row), self.line, one]
                target = [k.add(k.add(y_at, k.mul(row, y_row)), first), y_row]
                self._tile([self.scores, source, self.y, *left, *right, *target, limit, height, count])
        with k.loop(rows) as r:
            factor = k.load(self.inverse, r)
            at = k.add(y_at, k.mul(r, y_row))
            with k.loop(self.dv, parallel=True) as c:
                place = k.add(at, c)
                k.store(s.mul(k.load(self.y, place), factor), self.y, place)
