"""Which rewrite patterns are there, and which of them are to run?

Our own are the files of `transforms/patterns/`; further ones come from plug-ins, from `register` and, for one
call or block of code, from `use_patterns`. Where names are equal the most local one counts: a call's own,
then registered ones, then those of plug-ins, then ours. A plug-in's or registered one takes the place of ours
only if it says so: `class Mine(PatternOptimization, replaces_builtin=True)`.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import sys
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from types import ModuleType
from typing import Final, TypeAlias

from onnxloom.errors import PassError
from onnxloom.transforms import patterns as own_folder
from onnxloom.transforms.plugins import current_plugins, defined_in, fingerprint_of
from onnxloom.transforms.rewriting.pattern import Numerics, PatternOptimization, Stage

Pattern: TypeAlias = type[PatternOptimization]

_RANK: Final = {Numerics.EXACT: 0, Numerics.TOLERANCE: 1, Numerics.LOWERS: 2}

OWN: Final = "onnxloom"
REGISTERED: Final = "registered"
CALL: Final = "this call"


@dataclass(frozen=True)
class PatternRegistry:
    """A set of patterns, one per name, ours first; immutable."""

    patterns: tuple[Pattern, ...]
    origins: Mapping[str, str]
    """Name -> where it comes from: `onnxloom`, `registered`, `this call`, or the file of a plug-in."""

    def select(
        self,
        patterns: Sequence[str] | None = None,
        skip: Sequence[str] = (),
        *,
        stage: Stage | None = None,
        numerics: Numerics = Numerics.TOLERANCE,
    ) -> tuple[Pattern, ...]:
        """The patterns of a stage (default: any) that change values no more than `numerics`.

        `patterns` and `skip` hold names and globs; None stands for `*`. A pattern that is no default one, or
        that lowers precision, is selected by its name only, not by a glob; a name selects it whatever
        `numerics` says.

        Raises:
            PassError: a name or glob stands for no pattern.
        """
        names = [pattern.name for pattern in self.patterns]
        for wanted in (*(patterns or ()), *skip):
            if not any(fnmatchcase(name, wanted) for name in names):
                near = difflib.get_close_matches(wanted, names, n=3)
                hint = f" (did you mean {' or '.join(near)}?)" if near else ""
                raise PassError(
                    f"there is no rewrite pattern {wanted!r}{hint}; onnxloom-opt --list-patterns shows all"
                )
        return tuple(
            pattern
            for pattern in self.patterns
            if (stage is None or pattern.stage is stage)
            and _is_wanted(pattern, ("*",) if patterns is None else patterns, numerics)
            and not any(fnmatchcase(pattern.name, glob) for glob in skip)
        )

    def replaced_by(self, level: Mapping[str, Pattern], origin: str) -> PatternRegistry:
        """The registry with further patterns, which have their names from then on."""
        merged = {pattern.name: pattern for pattern in self.patterns} | dict(level)
        return PatternRegistry(tuple(merged.values()), {**self.origins, **dict.fromkeys(level, origin)})


def _is_wanted(pattern: Pattern, wanted: Sequence[str], numerics: Numerics) -> bool:
    if pattern.name in wanted:
        return True
    is_on = pattern.default and pattern.numerics is not Numerics.LOWERS
    fits = _RANK[pattern.numerics] <= _RANK[numerics]
    return is_on and fits and any(fnmatchcase(pattern.name, glob) for glob in wanted)


# Where patterns come from


@cache
def own_patterns() -> PatternRegistry:
    """Those of the folder `patterns` and its families: adding a file there adds a pattern."""
    prefix = f"{own_folder.__name__}."
    files = sorted(info.name for info in pkgutil.walk_packages(own_folder.__path__, prefix) if not info.ispkg)
    modules = [importlib.import_module(name) for name in files]
    found = _unique((pattern for module in modules for pattern in patterns_in(module)), {})
    return PatternRegistry((), {}).replaced_by(found, OWN)


def patterns_in(module: ModuleType) -> list[Pattern]:
    """The complete patterns a module or package defines itself, in order of definition."""
    return defined_in(module, PatternOptimization)


_lock: Final = threading.Lock()
_registered: Final[dict[str, Pattern]] = {}
"""Of `register`, for the whole process."""

_of_call: ContextVar[tuple[tuple[Pattern, ...], ...]] = ContextVar("onnxloom_patterns", default=())


def register(pattern: Pattern) -> Pattern:
    """Adds a pattern for the whole process; a class decorator.

    Raises:
        PassError: another pattern has that name, or `pattern` is none.
    """
    _refuse_replacing_own([_class_of(pattern)], "")
    with _lock:
        _registered.update(_unique([pattern], _registered))
    return pattern


def unregister(pattern: Pattern) -> None:
    """Takes a registered pattern back; nothing happens if it is not registered."""
    with _lock:
        if _registered.get(pattern.name) is pattern:
            del _registered[pattern.name]


@contextmanager
def use_patterns(patterns: Iterable[Pattern | PatternOptimization]) -> Generator[PatternRegistry]:
    """Adds patterns in this thread for a block of code.

    Raises:
        PassError: two different ones have one name, or something is no pattern.
    """
    level = tuple(_unique(map(_class_of, patterns), {}).values())
    token = _of_call.set((*_of_call.get(), level))
    try:
        yield current_patterns()
    finally:
        _of_call.reset(token)


def current_patterns() -> PatternRegistry:
    """All patterns in use.

    Raises:
        PassError: two have one name, or a plug-in cannot be loaded.
    """
    registry = own_patterns()
    for modules in current_plugins().levels:
        _unique((pattern for module in modules for pattern in patterns_in(module)), {})
        for module in modules:
            _refuse_replacing_own(patterns_in(module), f"plug-in {module.__file__}: ")
            given = {pattern.name: pattern for pattern in patterns_in(module)}
            registry = registry.replaced_by(given, str(module.__file__))
    with _lock:
        registered = dict(_registered)
    registry = registry.replaced_by(registered, REGISTERED)
    for call in _of_call.get():
        registry = registry.replaced_by({pattern.name: pattern for pattern in call}, CALL)
    return registry


def patterns_fingerprint() -> str | None:
    """Changes with the source of registered patterns and those of `use_patterns`; "" where there are none.

    None where the source does not tell: one is made by a function, or has no file.
    """
    with _lock:
        classes = [*_registered.values(), *(pattern for call in _of_call.get() for pattern in call)]
    modules = [sys.modules.get(cls.__module__) for cls in classes]
    if any(module is None or getattr(module, "__file__", None) is None for module in modules):
        return None
    if any("<locals>" in cls.__qualname__ for cls in classes):
        return None  # what it was made from is not in the text
    names = " ".join(f"{cls.__module__}.{cls.__qualname__}" for cls in classes)
    return names + fingerprint_of(dict.fromkeys(module for module in modules if module is not None))


def _class_of(pattern: object) -> Pattern:
    cls = pattern if isinstance(pattern, type) else type(pattern)
    if not issubclass(cls, PatternOptimization) or cls.is_abstract:
        raise PassError(f"{pattern!r:.80} is no rewrite pattern; expected a subclass of PatternOptimization")
    return cls


def _unique(patterns: Iterable[Pattern], known: Mapping[str, Pattern]) -> dict[str, Pattern]:
    """The patterns by name. Raises PassError where two different ones have the same."""
    found = dict(known)
    for pattern in patterns:
        other = found.setdefault(pattern.name, pattern)
        if other is not pattern:
            raise PassError(
                f"two rewrite patterns are called {pattern.name!r}: {_home(other)} and {_home(pattern)}"
            )
    return found


def _refuse_replacing_own(patterns: Iterable[Pattern], where: str) -> None:
    for pattern in patterns:
        if not pattern.replaces_builtin and pattern.name in own_patterns().origins:
            raise PassError(
                f"{where}{pattern.__name__}.name is {pattern.name!r}, which onnxloom has already; choose "
                f"another, or write class {pattern.__name__}(..., replaces_builtin=True)"
            )


def _home(pattern: Pattern) -> str:
    return f"{pattern.__module__}.{pattern.__qualname__}"
