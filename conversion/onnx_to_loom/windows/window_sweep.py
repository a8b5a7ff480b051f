"""How does a kernel slide a window of few taps over rows? In whole vectors of neighbouring outputs.

A vector may reach past the end of a result row: what it writes there is written again by the next row.
Only the last elements of a group of planes, which one thread computes, are computed one by one. The rows
windows are read from must hold the elements such a vector reads; padded images do.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects import arith

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.semantics.scalars import Scalar

MAX_TAPS = 49
"""Taps of the largest window swept: every tap is an operation of the kernel."""


PLANES = 16
"""Planes that are a task at most."""

ENOUGH_TASKS = 32
"""Fewer tasks than this have fewer planes each."""


@contextmanager
def plane_tasks(k: KernelBody, planes: Scalar) -> Generator[tuple[Scalar, Scalar]]:
    """A loop over planes, groups of which are tasks; gives the plane and the end of its group.

    What a vector writes past the end of a plane is written again by the next one only inside of a group.
    """
    s = k.scalars
    share = s.minimum(s.emit(arith.DivSIOp(planes, k.index(ENOUGH_TASKS))), k.index(PLANES))
    share = s.maximum(share, k.index(1))
    with k.tasks(s.emit(arith.CeilDivSIOp(planes, share))) as group:
        first = k.mul(group, share)
        last = s.minimum(k.add(first, share), planes)
        with k.loop(last, start=first) as plane:
            yield plane, last


@dataclass(frozen=True)
class Lane:
    """One output of a sweep."""

    taps: Sequence[Scalar]
    """Offsets of the elements under the window, in row-major order of the window."""
    index: Sequence[Scalar]
    """Place of the output along each spatial dim."""
    point: Scalar
    """The same, row-major over all spatial dims."""
    literal: bool
    """Whether this is the version of whole vectors."""


@dataclass(frozen=True)
class WindowSweep:
    """A sweep of one plane; all sizes are index arguments of the kernel."""

    kernel: KernelBody
    window: Window
    places: Sequence[Scalar]
    """Result dims."""
    strides: Sequence[Scalar]
    """Element strides of the leading dims of the plane that is read."""
    lanes: int
    """Outputs per vector."""

    def write(
        self,
        source: Scalar,
        room: Scalar,
        body: Callable[[Lane], None],
        *,
        before: Callable[[], None] = lambda: None,
        whole: Scalar | None = None,
    ) -> None:
        """Sweeps the plane at offset `source`.

        Args:
            room: elements of the result from this plane's first one to the end of all planes of the task.
            body: computes and stores one output.
            before: called where the loop over the lanes of a vector starts.
            whole: further condition for whole vectors.
        """
        self._rows([], source, self.kernel.index(0), room, body, before, whole)

    def _rows(
        self,
        index: list[Scalar],
        source: Scalar,
        row: Scalar,
        room: Scalar,
        body: Callable[[Lane], None],
        before: Callable[[], None],
        whole: Scalar | None,
    ) -> None:
        k, depth = self.kernel, len(index)
        if depth < self.window.rank - 1:
            with k.loop(self.places[depth]) as i:
                step = k.mul(k.index(self.window.strides[depth]), self.strides[depth])
                at = k.add(k.mul(row, self.places[depth]), i)
                self._rows([*index, i], k.add(source, k.mul(i, step)), at, room, body, before, whole)
            return
        lanes, width = k.index(self.lanes), self.places[-1]
        taps = [k.add(source, self._tap(tap)) for tap in itertools.product(*map(range, self.window.kernel))]
        with k.loop(k.scalars.emit(arith.CeilDivSIOp(width, lanes))) as vector:
            column = k.mul(vector, lanes)
            point = k.add(k.mul(row, width), column)
            fits = k.scalars.cmp("le", k.add(point, lanes), room)
            with k.branch(fits if whole is None else k.scalars.and_(fits, whole)) as (vectors, edge):
                for block, literal in ((vectors, True), (edge, False)):
                    with k.inside(block):
                        count = lanes if literal else k.scalars.minimum(lanes, k.sub(width, column))
                        before()
                        self._vector(count, index, column, point, taps, body, literal)

    def _vector(
        self,
        count: Scalar,
        index: list[Scalar],
        column: Scalar,
        point: Scalar,
        taps: Sequence[Scalar],
        body: Callable[[Lane], None],
        literal: bool,
    ) -> None:
        k = self.kernel
        with k.loop(count, parallel=True) as lane:
            place = k.add(column, lane)
            x = k.mul(place, k.index(self.window.strides[-1]))
            body(Lane([k.add(tap, x) for tap in taps], [*index, place], k.add(point, lane), literal))

    def _tap(self, tap: Sequence[int]) -> Scalar:
        """Offset of a tap from its window's first element."""
        k, window = self.kernel, self.window
        offset = k.index(0)
        for i, stride, dilation in zip(tap[:-1], self.strides, window.dilations[:-1], strict=True):
            offset = k.add(offset, k.mul(k.index(i * dilation), stride))
        return k.add(offset, k.index(tap[-1] * window.dilations[-1]))


def has_few_taps(window: Window) -> bool:
    """Whether a window is small enough to be swept."""
    return math.prod(window.kernel) <= MAX_TAPS
