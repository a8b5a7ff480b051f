"""Which patterns are there? Those defined below `transforms/patterns`, by name."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from onnxloom.errors import PassError
from onnxloom.transforms import patterns as folder
from onnxloom.transforms.rewriting.pattern import Numerics, PatternOptimization, Stage

_ORDER = tuple(Numerics)


class PatternRegistry:
    """Patterns by name."""

    def __init__(self, patterns: dict[str, PatternOptimization]):
        self._patterns = patterns

    def select(
        self,
        patterns: Sequence[str] | None = None,
        skip: Sequence[str] = (),
        *,
        stage: Stage | None = None,
        numerics: Numerics = Numerics.EXACT,
    ) -> list[PatternOptimization]:
        """The patterns of these names or globs; all default ones, of this stage and numerics, without."""
        for glob in (*(patterns or ()), *skip):
            if not any(fnmatchcase(name, glob) for name in self._patterns):
                raise PassError(f"no rewrite pattern is called {glob!r}")
        return [
            pattern
            for name, pattern in sorted(self._patterns.items())
            if not any(fnmatchcase(name, glob) for glob in skip)
            and self._is_chosen(name, pattern, patterns, stage, numerics)
        ]

    def _is_chosen(
        self,
        name: str,
        pattern: PatternOptimization,
        globs: Sequence[str] | None,
        stage: Stage | None,
        numerics: Numerics,
    ) -> bool:
        if globs is not None and name in globs:
            return True
        if globs is not None and not any(fnmatchcase(name, glob) for glob in globs):
            return False
        is_allowed = _ORDER.index(pattern.numerics) <= _ORDER.index(numerics)
        return pattern.default and is_allowed and stage in (None, pattern.stage)


@cache
def current_patterns() -> PatternRegistry:
    found: dict[str, PatternOptimization] = {}
    for info in walk_packages(folder.__path__, folder.__name__ + "."):
        module = import_module(info.name)
        for candidate in vars(module).values():
            if not isinstance(candidate, type) or not issubclass(candidate, PatternOptimization):
                continue
            if not candidate.is_abstract and candidate.__module__ == module.__name__:
                found[candidate.name] = candidate()
    return PatternRegistry(found)
