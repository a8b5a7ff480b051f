"""What kernels are shaped for: vector width and register count of the machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """The vector unit kernels are shaped for.

    The defaults describe AVX2-class machines (x86-64-v3) and are what tests on IR text see; a session
    passes the host's own.
    """

    vector_bytes: int = 32
    """Width of one vector register in bytes (16, 32 or 64)."""

    vector_registers: int = 16
    """Number of architectural vector registers."""

    dot_bytes: bool = False
    """Whether one instruction multiplies bytes four by four and adds each four products in 32 bits."""

    def lanes(self, element_bytes: int) -> int:
        """Elements of `element_bytes` bytes in one vector register."""
        return max(1, self.vector_bytes // element_bytes)


@dataclass(frozen=True)
class GemmTile:
    """Shape of a GEMM register tile: `rows` x (`vectors` * `lanes`) accumulators."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        """Elements in one tile row, the panel width of a packed right operand."""
        return self.vectors * self.lanes


def gemm_tile(target: Target, element_bytes: int) -> GemmTile:
    """The register tile for a GEMM on `target`.

    Accumulators, one row of the right operand and one broadcast must fit the register file:
    8 x 3 vectors of 32 registers, 4 x 3 of 16. Of tiles that were measured, taller ones spill, and narrower
    ones are bound by loads.
    """
    rows = 8 if target.vector_registers >= 32 else 4
    return GemmTile(rows=rows, vectors=3, lanes=target.lanes(element_bytes))
