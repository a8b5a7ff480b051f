"""What became channels-last, at which price, and what stays as it was, and why?"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation

from onnxloom.transforms.describe import describe
from onnxloom.transforms.miss import Miss


@dataclass(frozen=True)
class Converted:
    """The channels-last ops of one block."""

    products: int
    """Convolutions and pools."""

    others: int
    saved: float
    """Nanoseconds, by the estimate."""

    conversions: int
    """Transposes at the border."""

    spent: float
    """Nanoseconds that they take, by the estimate."""

    def __str__(self) -> str:
        return (
            f"{self.products} convolutions and pools and {self.others} other ops work channels-last: saves"
            f" about {self.saved / 1e3:.0f} us, {self.conversions} conversions take about"
            f" {self.spent / 1e3:.0f} us"
        )


@dataclass
class LayoutReport:
    """What the last run did."""

    converted: list[Converted] = field(default_factory=list[Converted])
    declined: list[tuple[str, Miss]] = field(default_factory=list[tuple[str, Miss]])
    """Op, and why it stays channels-first."""

    def clear(self) -> None:
        self.converted.clear()
        self.declined.clear()

    def decline(self, op: Operation, miss: Miss) -> None:
        self.declined.append((describe(op), miss))

    def __str__(self) -> str:
        lines = [*map(str, self.converted), *(f"{op} stays: {miss}" for op, miss in self.declined)]
        return "\n".join(lines) or "nothing has a layout"
