"""What came of each guard so far? One JSON line each, so that a run that was stopped goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from onnxloom.tools.testing.mutation.guards import Guard


@dataclass(frozen=True)
class Result:
    """One guard, and what its tests said without it."""

    key: str
    stamp: str
    """Of the source and its tests when this was found out."""
    outcome: str
    """`noticed`, `unnoticed`, or why that is not known."""
    seconds: float = 0.0


def stamp_of(source: Path, tests: Iterable[Path]) -> str:
    """Changes when the file or one of its tests does."""
    digest = hashlib.sha256()
    for path in (source, *tests):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def load(path: Path) -> dict[str, Result]:
    """The last result of each guard."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    results = (Result(**json.loads(line)) for line in lines if line)
    return {result.key: result for result in results}


def append(path: Path, guard: Guard, stamp: str, outcome: str, seconds: float) -> None:
    """Adds a line; several processes may do so at once."""
    line = json.dumps({"key": guard.key, "stamp": stamp, "outcome": outcome, "seconds": round(seconds, 2)})
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
