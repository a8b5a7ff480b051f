"""How do rows of texts become aligned lines?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxloom.errors import escaped


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = (), indent: str = "  ") -> Iterator[str]:
    """Lines of columns as wide as their longest text; columns in `left` are flush left, others right."""
    rows = [[escaped(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield (indent + "  ".join(cells)).rstrip()


def si(value: float, unit: str = "") -> str:
    """Three digits and a decimal prefix: `1.53 M`."""
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}".rstrip()


def micros(seconds: float) -> str:
    """Microseconds with as many decimals as mean something."""
    value = seconds * 1e6
    return f"{value:.1f}" if value < 1000 else f"{value:,.0f}"
