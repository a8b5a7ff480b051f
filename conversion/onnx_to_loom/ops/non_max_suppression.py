"""NonMaxSuppression: of each class the best boxes that do not overlap a better one too much, best first.

Each class of each batch entry is a task: its boxes are taken from a heap, best first, and compared with all
that were kept, many at once. What was kept is counted, and gathered into a result of that size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i64
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, rank_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.selection.box_corners import BLOCK, ROWS, Boxes, box_corners
from onnxloom.conversion.onnx_to_loom.selection.heap import Heap
from onnxloom.conversion.onnx_to_loom.selection.ordered_keys import ordered_key, packed_item, place_of_item
from onnxloom.conversion.onnx_to_loom.value_checks import read_sizes, refuse_other_count, refuse_where
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar


@lowering(onnx.NonMaxSuppressionOp)
def lower_non_max_suppression(
    op: onnx.NonMaxSuppressionOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """`[selected, 3]`: batch entry, class, box."""
    boxes, scores, limit, overlap, least = [*inputs, None, None, None][:5]
    assert boxes is not None and scores is not None
    if rank_of(boxes) != 3 or rank_of(scores) != 3:
        raise Declined("boxes or scores that are not of rank 3 have no kernel")
    batches, count, edges = builder.dims(boxes)
    classes = builder.dim(scores, 1)
    refuse_where(builder, edges, "ne", builder.index(4), "a box does not have 4 numbers")
    refuse_where(builder, builder.dim(scores, 0), "ne", batches, "the batch sizes of boxes and scores differ")
    refuse_where(builder, builder.dim(scores, 2), "ne", count, "there is not one score for each box")
    for threshold, what in ((overlap, "iou_threshold"), (least, "score_threshold")):
        if threshold is not None:
            refuse_other_count(builder, threshold, 1, what)
    wanted = builder.index(0) if limit is None else read_sizes(builder, limit, 1, "the limit")[0]
    wanted = builder.insert(arith.MinSIOp(wanted, count)).results[0]
    wanted = builder.insert(arith.MaxSIOp(wanted, builder.index(0))).results[0]
    corners = box_corners(builder, boxes, int_attr(op, "center_point_box", 0) != 0)
    overlap = _checked(builder, overlap) if overlap is not None else builder.constant(np.zeros(1, np.float32))
    lists = builder.multiply([batches, classes])
    kept, counts = _suppress(builder, (corners, scores, overlap, least), (batches, classes, count, wanted))
    total = _total(builder, counts, lists)
    k = KernelBody("selected_boxes", [i64, i64], [i64], 3)
    three = k.index(3)

    def one_class(b: Scalar, c: Scalar, begin: Scalar) -> Scalar:
        at = k.at(b, k.sizes[1], c)
        found = k.to_index(k.load(k.ins[1], at))
        with k.loop(found) as j:
            row = k.mul(k.add(begin, j), three)
            words = k.from_index(b, i64), k.from_index(c, i64), k.load(k.ins[0], k.at(at, k.sizes[2], j))
            for column, word in enumerate(words):
                k.store(word, k.outs[0], k.add(row, k.index(column)))
        return k.add(begin, found)

    k.reduce(
        k.sizes[0],
        [k.index(0)],
        lambda b, acc: k.reduce(k.sizes[1], acc, lambda c, inner: [one_class(b, c, inner[0])]),
    )
    out = builder.empty(op.selected_indices.type, [total, builder.index(3)])
    return builder.launch(k, [kept, counts], [out], [batches, classes, wanted])


def _checked(builder: KernelBuilder, overlap: SSAValue) -> SSAValue:
    """The threshold of overlaps, which must be a part of a whole."""
    k = KernelBody("check_overlap", [f32], [i64], 0)
    s = k.scalars
    value = k.load(k.ins[0], k.index(0))
    inside = s.and_(s.cmp("ge", value, s.const(0.0, f32)), s.cmp("le", value, s.const(1.0, f32)))
    k.store(s.int_to_int(s.not_(inside), i64, True), k.outs[0], k.index(0))
    (status,) = builder.launch(k, [overlap], [_list(builder, builder.index(1), 1)], [])
    builder.insert(loom.CheckOp(status, "iou_threshold is out of range: expected 0 to 1"))
    return overlap


def _list(builder: KernelBuilder, size: SSAValue, static: int = DYNAMIC_INDEX) -> SSAValue:
    return builder.empty(TensorType(i64, [static]), [size])


def _total(builder: KernelBuilder, counts: SSAValue, lists: SSAValue) -> SSAValue:
    k = KernelBody("total", [i64], [i64], 1)
    (total,) = k.reduce(
        k.sizes[0], [k.scalars.const(0, i64)], lambda i, acc: [k.scalars.add(acc[0], k.load(k.ins[0], i))]
    )
    k.store(total, k.outs[0], k.index(0))
    (number,) = builder.launch(k, [counts], [_list(builder, builder.index(1), 1)], [lists])
    return builder.read(number, 0)


def _suppress(
    builder: KernelBuilder,
    tensors: tuple[SSAValue, SSAValue, SSAValue, SSAValue | None],
    dims: tuple[SSAValue, SSAValue, SSAValue, SSAValue],
) -> tuple[SSAValue, SSAValue]:
    """Per class of a batch entry the boxes that are kept, `[batches * classes, wanted]`, and how many."""
    batches, classes, count, wanted = dims
    ins = [value for value in tensors if value is not None]
    lists = builder.multiply([batches, classes])
    room = builder.insert(arith.AddiOp(wanted, builder.index(BLOCK))).results[0]
    items = builder.private(i64, count)
    near = builder.private(f32, builder.multiply([room, builder.index(ROWS)]))
    k = KernelBody("non_max_suppression", [f32] * len(ins), [i64, i64, i64, f32], 4)
    _Classes(k).write()
    outs = [_list(builder, builder.multiply([lists, wanted])), _list(builder, lists), items, near]
    return tuple(builder.launch(k, ins, outs, dims)[:2])  # pyright: ignore[reportReturnType]


class _Classes:
    """The kernel that chooses boxes."""

    def __init__(self, k: KernelBody):
        self.k = k
        self.corners, self.scores, self.overlap, *self.least = k.ins
        self.kept, self.counts, self.items, self.near = k.outs
        self.batches, self.classes, self.count, self.wanted = k.sizes

    def write(self) -> None:
        k = self.k
        room = k.add(self.wanted, k.index(BLOCK))
        with k.task_nest(self.batches, self.classes) as (b, c):
            row = k.at(b, self.classes, c)
            heap = Heap(k, self.items, k.private(self.count), lambda x, y: k.scalars.cmp("lt", x, y))
            found = self._candidates(heap, k.mul(row, self.count))
            heap.order(found)
            every = Boxes(k, self.corners, k.mul(k.mul(b, k.index(ROWS)), self.count), self.count)
            chosen = Boxes(k, self.near, k.private(k.mul(room, k.index(ROWS))), room)
            number = self._choose(heap, found, (every, chosen), k.mul(row, self.wanted))
            k.store(k.from_index(number, i64), self.counts, row)

    def _candidates(self, heap: Heap, begin: Scalar) -> Scalar:
        """Fills the heap with the boxes of a score above the least one; gives their number."""
        k, s = self.k, self.k.scalars
        least = [k.load(buffer, k.index(0)) for buffer in self.least]

        def look(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            score = k.load(self.scores, k.add(begin, i))
            key = s.not_(ordered_key(s, score, f32))
            heap.put(packed_item(s, key, k.from_index(i, i64)), acc[0])
            step = s.select(s.cmp("gt", score, least[0]), k.index(1), k.index(0)) if least else k.index(1)
            return [k.add(acc[0], step)]

        return k.reduce(self.count, [k.index(0)], look)[0]

    def _choose(self, heap: Heap, found: Scalar, boxes: tuple[Boxes, Boxes], begin: Scalar) -> Scalar:
        k, s, (every, chosen) = self.k, self.k.scalars, boxes
        threshold = k.load(self.overlap, k.index(0))

        def goes_on(acc: Sequence[Scalar]) -> Scalar:
            return s.and_(s.cmp("gt", acc[0], k.index(0)), s.cmp("lt", acc[1], self.wanted))

        def take(acc: Sequence[Scalar]) -> Sequence[Scalar]:
            left, number = k.sub(acc[0], k.index(1)), acc[1]
            place = place_of_item(s, heap.item(k.index(0)))
            heap.sink(heap.item(left), k.index(0), left)
            box = every.box(k.to_index(place))
            hidden = chosen.any_overlaps(box, number, threshold)

            def keep() -> Sequence[Scalar]:
                chosen.put(box, number)
                k.store(place, self.kept, k.add(begin, number))
                return [k.add(number, k.index(1))]

            return [left, *k.when(s.not_(hidden), keep, [number])]

        return k.repeat([found, k.index(0)], goes_on, take)[1]
