"""Which guards cannot be noticed? `equivalents.txt` names each one and proves it.

transforms/fusion/order.py: position is None
    Every op of a block has a position; the guard states it for the type checker.
"""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).parent / "equivalents.txt"


class EquivalentsError(Exception):
    """The file says something that cannot be."""


def read_equivalents(text: str) -> dict[str, str]:
    """Key of a guard -> proof. Raises EquivalentsError for an entry without a proof."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line[0].isspace():
            if line.rstrip() in found:
                raise EquivalentsError(f"line {number}: {line.rstrip()} is there already")
            current = found[line.rstrip()] = []
        elif current is None:
            raise EquivalentsError(f"line {number}: a proof of nothing")
        else:
            current.append(line.strip())
    without = [key for key, proof in found.items() if not proof]
    if without:
        raise EquivalentsError(f"{without[0]} has no proof")
    return {key: " ".join(proof) for key, proof in found.items()}
