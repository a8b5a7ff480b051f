"""Which fusion kinds are there? Those of the folder `kinds`, and those of plug-ins."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from onnxloom.errors import PassError
from onnxloom.transforms import plugins
from onnxloom.transforms.fusion import kinds as own_kinds
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.plugins import blaming_plugin, defined_in, fingerprint_of, load_plugin

__all__ = [
    "KindRegistry",
    "blaming_plugin",
    "current_registry",
    "kinds_in",
    "load_plugin",
    "own_registry",
    "use_plugins",
    "use_registry",
]

Helper: TypeAlias = type[FusionOpKindHelper]


@dataclass(frozen=True)
class KindRegistry:
    """A set of kinds; immutable."""

    helpers: tuple[Helper, ...]
    """One per kind string."""

    plugins: tuple[ModuleType, ...] = ()
    """Modules of plug-ins, in which the conversion looks for lowerings."""

    @property
    def fingerprint(self) -> str:
        """Changes with the text of any plug-in; "" without plug-ins. Part of the key of what is cached."""
        return fingerprint_of(self.plugins)

    def with_plugins(self, modules: Iterable[ModuleType]) -> KindRegistry:
        """A registry that knows these plug-ins too; a kind string they define again is theirs.

        Raises:
            PassError: a plug-in defines a kind of onnxloom's own without saying `replaces_builtin`.
        """
        helpers = {helper.kind: helper for helper in self.helpers}
        builtin = {helper.kind for helper in own_registry().helpers}
        plugins = list(self.plugins)
        for module in modules:
            for helper in kinds_in(module):
                if helper.kind in builtin and not helper.replaces_builtin:
                    raise PassError(
                        f"plug-in {module.__file__}: {helper.__name__}.kind is {helper.kind!r}, which "
                        "onnxloom has already; choose another, or write "
                        f"class {helper.__name__}(FusionOpKindHelper, replaces_builtin=True)"
                    )
                helpers[helper.kind] = helper
            plugins.append(module)
        return KindRegistry(tuple(helpers.values()), tuple(plugins))

    def select(self, kinds: Sequence[str] | None = None, disable: Sequence[str] = ()) -> tuple[Helper, ...]:
        """The helpers of `kinds` (default: all) without those of `disable`.

        Raises:
            PassError: a name is not a kind.
        """
        known = {helper.kind: helper for helper in self.helpers}
        for name in (*(kinds or ()), *disable):
            if name not in known:
                raise PassError(f"fuse-ops: unknown fusion kind {name!r}; known: {', '.join(sorted(known))}")
        names = known if kinds is None else dict.fromkeys(kinds)
        return tuple(known[name] for name in names if name not in disable)


def kinds_in(module: ModuleType) -> list[Helper]:
    """The complete kinds a module or package defines itself, in order of definition."""
    return defined_in(module, FusionOpKindHelper)


@cache
def own_registry() -> KindRegistry:
    """The kinds of the folder `kinds`: adding a file there adds a kind."""
    names = sorted(info.name for info in pkgutil.iter_modules(own_kinds.__path__))
    modules = [importlib.import_module(f"{own_kinds.__name__}.{name}") for name in names]
    return KindRegistry(tuple(helper for module in modules for helper in kinds_in(module)))


@lru_cache(maxsize=8)
def _registry_of(levels: tuple[tuple[ModuleType, ...], ...]) -> KindRegistry:
    registry = own_registry()
    for modules in levels:
        registry = registry.with_plugins(modules)
    return registry


_current: ContextVar[KindRegistry | None] = ContextVar("onnxloom_fusion_kinds", default=None)


def current_registry() -> KindRegistry:
    """The registry in use: that of `use_registry`, else our own kinds and those of plug-ins.

    Raises:
        PassError: a plug-in cannot be loaded.
    """
    return _current.get() or _registry_of(plugins.current_plugins().levels)


@contextmanager
def use_registry(registry: KindRegistry) -> Generator[KindRegistry]:
    """Makes `registry` the one in use, in this thread and this block of code."""
    token = _current.set(registry)
    try:
        yield registry
    finally:
        _current.reset(token)


@contextmanager
def use_plugins(paths: Iterable[str | Path]) -> Generator[KindRegistry]:
    """Loads plug-ins on top of what is in use, for a block of code; gives the kinds there are then."""
    chosen = _current.get()
    with plugins.use_plugins(paths) as loaded:
        if chosen is None:
            yield current_registry()
            return
        with use_registry(chosen.with_plugins(loaded.levels[-1])) as registry:
            yield registry
