"""Which steps may a random graph take? Every function `add_...` of the files in `families/`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from random_graphs.builder import GraphBuilder, Refused

Step = Callable[[GraphBuilder], None]


@cache
def families() -> dict[str, tuple[Step, ...]]:
    """The steps of each family, by the name of its file; `WEIGHT` in the file says how often one is taken."""
    package = importlib.import_module("random_graphs.families")
    found: dict[str, tuple[Step, ...]] = {}
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        found[info.name] = tuple(
            step
            for name, step in vars(module).items()
            if name.startswith("add_") and step.__module__ == module.__name__
        )
    return found


@cache
def _weighted() -> tuple[str, ...]:
    package = "random_graphs.families"
    return tuple(
        name for name in families() for _ in range(importlib.import_module(f"{package}.{name}").WEIGHT)
    )


def grow(graph: GraphBuilder, steps: int) -> None:
    """Takes as many steps; one that does not fit the graph is left out."""
    source, all_families, names = graph.source, families(), _weighted()
    for _ in range(steps):
        step = source.choice(all_families[source.choice(names)])
        try:
            step(graph)
        except Refused:
            continue
