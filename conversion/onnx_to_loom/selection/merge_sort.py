"""How are items sorted inside a kernel? By merging runs, without a branch on what is compared.

Items are i64 words: places of elements, or keys and places in one word. The sort is stable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.onnx.semantics.scalars import Scalar

Less = Callable[[Scalar, Scalar], Scalar]
"""Whether one item comes before another, as an i1."""


def merge_sort(
    k: KernelBody, items: SSAValue, begin: Scalar, count: Scalar, capacity: Scalar, less: Less
) -> Scalar:
    """Sorts `count` items that stand at `begin`; gives where they stand sorted.

    The buffer has room for two times `capacity` items from `first` on, where `begin` is `first`, and the
    result is `first` or `first + capacity`.
    """
    s = k.scalars
    one, two = k.index(1), k.index(2)

    def is_unsorted(acc: Sequence[Scalar]) -> Scalar:
        return s.cmp("lt", acc[0], count)

    def merge_runs(acc: Sequence[Scalar]) -> Sequence[Scalar]:
        width, source, target = acc
        pair = k.mul(width, two)
        pairs = _ceil_div(k, count, pair)
        with k.loop(pairs) as p:
            low = k.mul(p, pair)
            middle = s.minimum(k.add(low, width), count)
            high = s.minimum(k.add(low, pair), count)
            _merge(k, items, (source, target), (low, middle, high), less)
        return [pair, target, source]

    other = k.add(begin, capacity)
    _, found, _ = k.repeat([one, begin, other], is_unsorted, merge_runs)
    return found


def _ceil_div(k: KernelBody, a: Scalar, b: Scalar) -> Scalar:
    return k.split(k.add(a, k.sub(b, k.index(1))), [k.index(1), b])[0]


def _merge(
    k: KernelBody,
    items: SSAValue,
    bases: tuple[Scalar, Scalar],
    bounds: tuple[Scalar, Scalar, Scalar],
    less: Less,
) -> None:
    """Merges the runs [low, middle) and [middle, high) of one half of the buffer into the other."""
    s, one = k.scalars, k.index(1)
    (source, target), (low, middle, high) = bases, bounds
    # A run that is used up offers its last item again, which is not taken.
    last_left, last_right = k.sub(middle, one), k.sub(high, one)

    def step(at: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
        i, j = acc
        left = k.load(items, k.add(source, s.minimum(i, last_left)))
        right = k.load(items, k.add(source, s.minimum(j, last_right)))
        right_first = s.and_(less(right, left), s.cmp("lt", j, high))
        takes_right = s.or_(right_first, s.cmp("ge", i, middle))
        k.store(s.select(takes_right, right, left), items, k.add(target, at))
        moved = s.select(takes_right, one, k.index(0))
        return [k.add(i, k.sub(one, moved)), k.add(j, moved)]

    k.reduce(high, [low, middle], step, start=low)
