"""Where do the values of a loop lie, iteration by iteration?

A body whose plan is one stretch runs again and again on one table, of which a few addresses move: slices and
rows of scan outputs by a stride, carried values between two buffers. What a kernel writes is written where it
belongs; only what no kernel writes (an input that is a result as well) is copied.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onnxloom.lowering.loop_code import HEADER_WORDS
from onnxloom.lowering.plan.memory import address_of
from onnxloom.lowering.plan.node import Fetch, Node, ReturnEnd
from onnxloom.lowering.plan.program import Array, is_array
from onnxloom.lowering.runtime.recycling import fresh_array


@dataclass(frozen=True)
class Place:
    """An address that depends on the number of the iteration: `even` or `odd`, and so many strides."""

    even: int
    odd: int
    stride: int = 0

    def at(self, iteration: int) -> int:
        return (self.odd if iteration & 1 else self.even) + iteration * self.stride

    def moved(self, offset: int) -> Place:
        return Place(self.even + offset, self.odd + offset, self.stride)

    @property
    def before(self) -> Place:
        """Where the iteration before has it."""
        return Place(self.odd - self.stride, self.even - self.stride, self.stride)

    @property
    def words(self) -> tuple[int, int, int]:
        return self.even, self.odd, self.stride


def fixed(array: Array) -> Place:
    """The place of an array that stays where it is."""
    address = address_of(array)
    return Place(address, address)


@dataclass(frozen=True)
class BodyLayout:
    """What the cells of a body's arguments, and its results, are to the loop.

    Results: the condition, if there is one, then the carried values, then the rows of the scan outputs.
    """

    carried: int
    """Number of carried values."""
    first_carried: int
    counter: int = -1
    """Cell of the iteration number; -1 if the body is not given it."""
    condition: int = -1
    """Cell of the condition; -1 for loops that have none."""
    slices: tuple[int, ...] = ()
    """Cells that are given slice after slice."""

    @property
    def results_before(self) -> int:
        return 1 if self.condition >= 0 else 0


def is_movable(node: Node, args: Sequence[Any], layout: BodyLayout) -> bool:
    """Whether iterations that begin with arguments like `args` can run on one table."""
    # Checked stretches are looked at after each record, in Python.
    if node.checked is not None or node.late or not isinstance(node.end, ReturnEnd):
        return False
    if not all(type(a) is int or _is_plain(a) for a in args):
        return False
    results = node.end.results
    # What kernels write, and what is an argument, is plain.
    if not all(f.cell >= 0 or _is_plain(f.known) for f in results):
        return False
    # One that is not one element is an error, which the loop that goes step by step knows of.
    if layout.results_before and math.prod(signature_of(results[0])[0]) != 1:
        return False
    carried = results[layout.results_before :][: layout.carried]
    given = args[layout.first_carried :][: layout.carried]
    return all(signature_of(f) == (a.shape, a.dtype) for f, a in zip(carried, given, strict=True))


def signature_of(result: Fetch) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and element type of a result."""
    if result.cell < 0:
        return result.known.shape, result.known.dtype
    assert result.dtype is not None
    return result.shape, result.dtype


def _is_plain(value: Any) -> bool:
    return is_array(value) and not value.dtype.hasobject


def _nbytes(result: Fetch) -> int:
    shape, dtype = signature_of(result)
    return math.prod(shape) * dtype.itemsize


@dataclass
class Places:
    """The places of one loop, for as many iterations as its scan outputs have rows."""

    node: Node
    layout: BodyLayout
    args: Sequence[Any]
    slices: Sequence[Place]
    outputs: Sequence[Array]
    """The scan outputs, `[rows, ...]`."""
    reverse: Sequence[bool]
    buffers: dict[int, tuple[Array, Array]] = field(default_factory=dict[int, tuple[Array, Array]])
    """Where carried values lie that are no rows of a scan output, by number of the carried value or, negated
    and less one, of the cell; kept when the places are worked out again for more rows."""

    def __post_init__(self) -> None:
        assert isinstance(self.node.end, ReturnEnd)
        results = self.node.end.results
        begin = self.layout.results_before
        self.condition = results[0] if begin else None
        self.carried = results[begin : begin + self.layout.carried]
        self.rows = results[begin + self.layout.carried :]
        self._allocated = {cell: (shape, dtype, nbytes) for cell, shape, dtype, nbytes in self.node.allocate}
        self._written: dict[int, Place] = {}
        self._copies: list[tuple[Fetch, Place]] = []
        for row, output, reverse in zip(self.rows, self.outputs, self.reverse, strict=True):
            self._place_row(row, output, reverse)
        self.after = [self._place_carried(i, f) for i, f in enumerate(self.carried)]
        for cell in self._allocated:
            if cell not in self._written:
                self._written[cell] = self._buffer(-1 - cell, self._allocated[cell], 1)

    def _place_row(self, row: Fetch, output: Array, reverse: bool) -> None:
        nbytes, address = _nbytes(row), address_of(output)
        stride = -nbytes if reverse else nbytes
        start = address + (len(output) - 1) * nbytes if reverse else address
        place = Place(start, start, stride)
        free = row.cell in self._allocated and row.cell not in self._written
        if free and not row.offset and nbytes == self._allocated[row.cell][2]:
            self._written[row.cell] = place
        else:
            self._copies.append((row, place))

    def _place_carried(self, number: int, result: Fetch) -> Place | None:
        """Where a carried value is after an iteration; None if it never changes."""
        own = self.layout.first_carried + number
        if result.cell < 0:
            return fixed(result.known)
        if result.cell in self._allocated:
            if result.cell not in self._written:
                self._written[result.cell] = self._buffer(-1 - result.cell, self._allocated[result.cell], 2)
            return self._written[result.cell].moved(result.offset)
        if result.cell == own and not result.offset:
            return None
        place = self._buffer(number, (*signature_of(result), _nbytes(result)), 2)
        self._copies.append((result, place))
        return place

    def _buffer(self, name: int, like: tuple[tuple[int, ...], np.dtype[Any], int], count: int) -> Place:
        if name not in self.buffers:
            first = fresh_array(*like)
            self.buffers[name] = (first, fresh_array(*like) if count > 1 else first)
        even, odd = self.buffers[name]
        return Place(address_of(even), address_of(odd))

    def of_cell(self, cell: int, first: bool) -> Place:
        """Where a cell is, in the first iteration or in those that follow."""
        layout = self.layout
        if cell in self._written:
            return self._written[cell]
        if cell in layout.slices:
            return self.slices[layout.slices.index(cell)]
        number = cell - layout.first_carried
        if not first and 0 <= number < layout.carried:
            after = self.after[number]
            if after is not None:
                return after.before
        return fixed(self.args[cell])

    def of_result(self, result: Fetch, first: bool) -> Place:
        if result.cell < 0:
            return fixed(result.known)
        return self.of_cell(result.cell, first).moved(result.offset)

    def moves(self, first: bool, statuses: Sequence[int]) -> Array:
        """What native code is told (`loop_code`) of the first iteration, or of those that follow."""
        layout = self.layout
        condition = Place(0, 0)
        if self.condition is not None and self.condition.cell not in (-1, layout.condition):
            condition = self.of_result(self.condition, first)
        counter = address_of(self.args[layout.counter]) if layout.counter >= 0 else 0
        addresses = list(self._addresses(first))
        words = [counter, *condition.words, len(addresses), len(statuses), len(self._copies)]
        assert len(words) == HEADER_WORDS
        for position, place in addresses:
            words += (position, *place.words)
        words += statuses
        for result, target in self._copies:
            words += (*self.of_result(result, first).words, *target.words, _nbytes(result))
        return np.array(words, np.int64)

    def _addresses(self, first: bool) -> Iterator[tuple[int, Place]]:
        for cell, positions in self.node.cells_at:
            place = self.of_cell(cell, first)
            for position, offset in positions:
                yield position, place.moved(offset)

    def final(self, number: int, iterations: int) -> Array:
        """A carried value once so many iterations have run, in memory that no other result has."""
        result, after = self.carried[number], self.after[number]
        if after is None or result.cell < 0:
            known = result.known if result.cell < 0 else self.args[self.layout.first_carried + number]
            return np.array(known, order="C")
        shape, dtype = signature_of(result)
        for name in (number, -1 - result.cell):
            pair = self.buffers.get(name)
            array = None if pair is None else pair[(iterations - 1) & 1]
            if array is not None and array.shape == shape and address_of(array) == after.at(iterations - 1):
                del self.buffers[name]
                return array
        # Part of a row of a scan output, or of what another carried value is.
        copied = fresh_array(shape, dtype, _nbytes(result))
        ctypes.memmove(address_of(copied), after.at(iterations - 1), copied.nbytes)
        return copied
