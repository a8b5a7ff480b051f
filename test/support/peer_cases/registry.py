"""Which ops are compared with onnxruntime, and how closely? `OPS`, filled by the files of `generators/`."""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from peer_cases.case import Case
from peer_cases.draw import Draw


@dataclass(frozen=True)
class Limit:
    """How far results may be from those of onnxruntime."""

    relative: float = 2e-5
    """Error of a float in units of the largest finite element (of 1, where that is less)."""
    quanta: int = 0
    """Error of an integer."""
    share: float = 1.0
    """Share of the integers that may be off at all; one of them always may."""
    half: float = 2e-3
    """`relative` of 16-bit floats."""


@dataclass(frozen=True)
class PeerOp:
    """An op and the generator of its cases."""

    domain: str
    op: str
    generate: Callable[[Draw], Case]
    limit: Limit
    reason: str
    """Why the limit is what it is."""

    def case(self, seed: int) -> Case:
        """Case number `seed`; the same on every machine."""
        draw = Draw(zlib.crc32(f"{self.domain}:{self.op}".encode()), seed)
        case = self.generate(draw)
        return replace(case, op=case.op or self.op, domain=self.domain)

    def __str__(self) -> str:
        return f"{self.domain}:{self.op}" if self.domain else self.op


OPS: dict[str, PeerOp] = {}


def cases_of(
    op: str, domain: str = "com.microsoft", limit: Limit | None = None, reason: str = "rounding of f32 sums"
) -> Callable[[Callable[[Draw], Case]], Callable[[Draw], Case]]:
    """Registers a function that draws a case of an op."""

    def register(generate: Callable[[Draw], Case]) -> Callable[[Draw], Case]:
        entry = PeerOp(domain, op, generate, limit or Limit(), reason)
        OPS[str(entry)] = entry
        return generate

    return register


def peer_ops(part: str = "") -> list[PeerOp]:
    """All ops whose name contains `part`, by name."""
    from peer_cases import generators

    for module in pkgutil.iter_modules(generators.__path__):
        importlib.import_module(f"{generators.__name__}.{module.name}")
    return [OPS[name] for name in sorted(OPS) if part in name]
