"""What did the conformance suite show of each op? How many cases ran it compiled, how many in Python."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

OpName: TypeAlias = tuple[str, str]
"""Domain, "" for ai.onnx, and name."""


@dataclass
class Seen:
    """The cases that an op is part of and that pass."""

    compiled: int = 0
    host: int = 0
    reasons: Counter[str] = field(default_factory=Counter[str])
    """Why it ran in Python, with the number of cases."""


Evidence: TypeAlias = dict[OpName, Seen]


def collect(cases: Iterable[tuple[Iterable[OpName], Mapping[OpName, str]]]) -> Evidence:
    """Evidence of cases: the ops of each, and those that ran in Python with the reason."""
    evidence: Evidence = defaultdict(Seen)
    for ops, host in cases:
        for name in {*ops, *host}:
            seen = evidence[name]
            if name in host:
                seen.host += 1
                seen.reasons[_of_any_shape(host[name])] += 1
            else:
                seen.compiled += 1
    return dict(evidence)


def _of_any_shape(reason: str) -> str:
    """A reason with element types in place of the tensor types of one case."""
    return re.sub(r"tensor<(?:[\d?*]+x)*(\w+)>", r"\1", reason)


def write(path: Path, evidence: Evidence) -> None:
    """One line per op: domain, name, cases compiled, cases in Python, reasons."""
    lines = ["# domain\top\tcompiled\tin Python\twhy, with the number of cases"]
    for (domain, name), seen in sorted(evidence.items()):
        reasons = "; ".join(f"{reason} ({count})" for reason, count in sorted(seen.reasons.items()))
        lines.append(f"{domain or 'ai.onnx'}\t{name}\t{seen.compiled}\t{seen.host}\t{reasons}".rstrip())
    path.write_text("\n".join(lines) + "\n")


def read(path: Path) -> dict[OpName, tuple[int, int, str]]:
    """(domain, name) -> cases compiled, cases in Python, reasons as text."""
    found: dict[OpName, tuple[int, int, str]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        domain, name, compiled, host, *reasons = line.split("\t")
        key = ("" if domain == "ai.onnx" else domain, name)
        found[key] = (int(compiled), int(host), "".join(reasons))
    return found
