"""How do probabilities of two classes each become those of all classes? By the fixed point of a sweep.

The second method of Wu, Lin and Weng ("Probability estimates for multi-class classification by pairwise
coupling"): `p` minimizes `p Q p` where its sum is 1. Runtimes stop far from convergence, so the sweeps and
where they end are those of LIBSVM, in f32, as in onnxruntime.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.onnx.semantics.scalars import Scalar

_ROUNDS = 100
_TOLERANCE = 0.005


def coupling_size(classes: int) -> int:
    """Elements of f32 that a coupling works in."""
    return 2 * classes * classes + classes


@dataclass(frozen=True)
class Coupling:
    """The coupling of one row: works in a buffer from `begin` on, and writes `p` from `target` on."""

    k: KernelBody
    work: SSAValue
    begin: Scalar
    classes: int
    p: SSAValue
    target: Scalar

    def set_pair(self, i: Scalar, j: Scalar, likely: Scalar) -> None:
        """How likely class i is, if it is i or j."""
        k, s = self.k, self.k.scalars
        k.store(likely, self.work, self._pair(i, j))
        k.store(s.sub(s.const(1.0, f32), likely), self.work, self._pair(j, i))

    def solve(self) -> None:
        """Writes the probabilities, once all pairs are set."""
        k = self.k
        self._write_matrix()
        with k.loop(k.index(self.classes)) as t:
            k.store(k.scalars.const(1 / self.classes, f32), self.p, k.add(self.target, t))
        last = k.index(_ROUNDS)
        k.repeat(
            [k.index(0)],
            lambda acc: k.scalars.cmp("lt", acc[0], last),
            lambda acc: self._round(acc[0], last),
        )

    def _write_matrix(self) -> None:
        """Q: `-r[j, t] r[t, j]`, and on its diagonal the sums of the squares of `r[j, t]`."""
        k, s, count = self.k, self.k.scalars, self.k.index(self.classes)
        with k.loop(count) as t:

            def step(j: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
                here, there = k.load(self.work, self._pair(j, t)), k.load(self.work, self._pair(t, j))
                k.store(s.neg(s.mul(here, there)), self.work, self._q(t, j))
                squared = s.add(acc[0], s.mul(here, here))
                return [s.select(s.cmp("eq", j, t), acc[0], squared)]

            # A class is in no pair with itself: what is read there is not used.
            k.store(s.const(0.0, f32), self.work, self._pair(t, t))
            (total,) = k.reduce(count, [s.const(0.0, f32)], step)
            k.store(total, self.work, self._q(t, t))

    def _round(self, number: Scalar, last: Scalar) -> Sequence[Scalar]:
        k, s, count = self.k, self.k.scalars, self.k.index(self.classes)
        zero = s.const(0.0, f32)

        def products(t: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            def step(j: Scalar, inner: Sequence[Scalar]) -> Sequence[Scalar]:
                return [s.add(inner[0], s.mul(k.load(self.work, self._q(t, j)), self._load_p(j)))]

            (qp,) = k.reduce(count, [zero], step)
            k.store(qp, self.work, self._qp(t))
            return [s.add(acc[0], s.mul(self._load_p(t), qp))]

        def largest(t: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
            error = s.abs(s.sub(k.load(self.work, self._qp(t)), pqp))
            # NaN is no error: rows of NaN end as they began.
            return [s.select(s.cmp("gt", error, acc[0]), error, acc[0])]

        (pqp,) = k.reduce(count, [zero], products)
        (error,) = k.reduce(count, [zero], largest)

        def sweep() -> Sequence[Scalar]:
            k.reduce(count, [pqp], lambda t, acc: [self._move(t, acc[0])])
            return [k.add(number, k.index(1))]

        return k.when(s.cmp("ge", error, s.const(_TOLERANCE / self.classes, f32)), sweep, [last])

    def _move(self, t: Scalar, pqp: Scalar) -> Scalar:
        """Moves `p[t]` to the minimum, and scales to the sum 1; gives `p Q p`."""
        k, s = self.k, self.k.scalars
        diagonal, qp = k.load(self.work, self._q(t, t)), k.load(self.work, self._qp(t))
        diff = s.divf(s.sub(pqp, qp), diagonal)
        total = s.add_const(diff, 1.0)
        k.store(s.add(self._load_p(t), diff), self.p, k.add(self.target, t))
        grown = s.add(pqp, s.mul(diff, s.add(s.mul(diff, diagonal), s.mul_const(qp, 2.0))))
        with k.loop(k.index(self.classes)) as j:
            moved = s.add(k.load(self.work, self._qp(j)), s.mul(diff, k.load(self.work, self._q(t, j))))
            k.store(s.divf(moved, total), self.work, self._qp(j))
            k.store(s.divf(self._load_p(j), total), self.p, k.add(self.target, j))
        return s.divf(s.divf(grown, total), total)

    def _load_p(self, t: Scalar) -> Scalar:
        return self.k.load(self.p, self.k.add(self.target, t))

    def _pair(self, i: Scalar, j: Scalar) -> Scalar:
        return self.k.add(self.begin, self.k.at(i, self.k.index(self.classes), j))

    def _q(self, i: Scalar, j: Scalar) -> Scalar:
        return self.k.add(self._pair(i, j), self.k.index(self.classes**2))

    def _qp(self, t: Scalar) -> Scalar:
        return self.k.add(self.k.add(self.begin, t), self.k.index(2 * self.classes**2))
