"""How do the differences between two sets of values look as a table, the worst first?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxloom.errors import escaped
from onnxloom.testing.difference import difference
from onnxloom.testing.tolerance import Tolerance
from onnxloom.tools.numerics.figures import Figures, figures

_HEAD = ("max abs", "rel to range", "max ulp", "NaN", "inf", "out of tolerance")


@dataclass(frozen=True)
class Row:
    """One value: what it is called, its errors, and what is wrong with it ("" when nothing is)."""

    title: str
    figures: Figures
    wrong: str

    @property
    def badness(self) -> tuple[float, float]:
        return self.figures.excess, self.figures.to_range


def row_of(title: str, want: Any, got: Any, tolerance: Tolerance) -> Row:
    """The row of one value."""
    found = difference(title, want, got, tolerance)
    if found is not None and not found.comparable:
        return Row(title, Figures(excess=np.inf), found.reason)
    return Row(title, figures(want, got, tolerance), "" if found is None else found.reason)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of the table."""
    ordered = sorted(rows, key=lambda row: row.badness, reverse=True)
    cells = [_HEAD, *(_cells(row.figures) for row in ordered)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    titles = ["value", *(row.title for row in ordered)]
    for title, line in zip(titles, cells, strict=True):
        columns = "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        yield f"  {columns}  {escaped(title)}"


def complaints(rows: Sequence[Row]) -> Iterator[str]:
    """One line per value that is out of tolerance, the worst first."""
    for row in sorted(rows, key=lambda row: row.badness, reverse=True):
        if row.wrong:
            yield f"{escaped(row.title)}: {escaped(row.wrong)}"


def _cells(found: Figures) -> tuple[str, ...]:
    if not found.size and np.isinf(found.excess):
        return ("-", "-", "-", "-", "-", "another type or shape")
    numbers = (f"{found.absolute:.3g}", f"{found.to_range:.3g}", f"{found.ulp:.0f}")
    return (*numbers, str(found.nan), str(found.infinite), f"{found.wrong} of {found.size}")
