"""Which fusion kinds are there? Those of the folder `kinds`, and those of plug-ins.

A plug-in is a Python file or package that subclasses `FusionOpKindHelper` (and, if it likes, the
conversion's `FusedOpKindLowering`). It is loaded from a path, from the paths in `ONNXLOOM_PLUGINS`
(separated like `PATH`), or through the entry-point group `onnxloom.fusion_kinds`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import traceback
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Final, TypeAlias

from onnxloom.errors import PassError
from onnxloom.transforms.fusion import kinds as own_kinds
from onnxloom.transforms.fusion.helper import FusionOpKindHelper

ENTRY_POINT_GROUP: Final = "onnxloom.fusion_kinds"
ENVIRONMENT_VARIABLE: Final = "ONNXLOOM_PLUGINS"

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
        if not self.plugins:
            return ""
        digest = hashlib.sha256()
        for module in self.plugins:
            for file in _source_files(module):
                digest.update(file.read_bytes())
        return digest.hexdigest()

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


def _source_files(module: ModuleType) -> list[Path]:
    if module.__file__ is None:
        return []
    file = Path(module.__file__)
    return sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]


def kinds_in(module: ModuleType) -> list[Helper]:
    """The complete kinds a module or package defines itself, in order of definition."""
    return [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, FusionOpKindHelper)
        and not value.is_abstract
        and (value.__module__ == module.__name__ or value.__module__.startswith(f"{module.__name__}."))
    ]


@cache
def own_registry() -> KindRegistry:
    """The kinds of the folder `kinds`: adding a file there adds a kind."""
    names = sorted(info.name for info in pkgutil.iter_modules(own_kinds.__path__))
    modules = [importlib.import_module(f"{own_kinds.__name__}.{name}") for name in names]
    return KindRegistry(tuple(helper for module in modules for helper in kinds_in(module)))


@cache
def _installed_registry(paths: str) -> KindRegistry:
    modules = [_load_entry_point(point) for point in sorted(entry_points(group=ENTRY_POINT_GROUP))]
    modules += [load_plugin(path) for path in paths.split(os.pathsep) if path]
    return own_registry().with_plugins(modules) if modules else own_registry()


_current: ContextVar[KindRegistry | None] = ContextVar("onnxloom_fusion_kinds", default=None)


def current_registry() -> KindRegistry:
    """The registry in use: that of `use_registry`, else own kinds, entry points and `ONNXLOOM_PLUGINS`.

    Raises:
        PassError: a plug-in cannot be loaded.
    """
    return _current.get() or _installed_registry(os.environ.get(ENVIRONMENT_VARIABLE, ""))


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
    """Loads plug-ins on top of what is in use, for a block of code."""
    registry = current_registry().with_plugins([load_plugin(path) for path in paths])
    with use_registry(registry):
        yield registry


def load_plugin(path: str | Path) -> ModuleType:
    """Runs the plug-in at `path`, a Python file or the folder of a package.

    Raises:
        PassError: there is no such file, it raises, or it defines neither a kind nor a lowering.
    """
    path = Path(path)
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise PassError(f"plug-in {path}: there is no such Python file or package")
    digest = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]
    name = f"onnxloom_plugin_{path.resolve().stem.replace('.', '_')}_{digest}"
    locations = [str(path)] if path.is_dir() else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=locations)
    if spec is None or spec.loader is None:
        raise PassError(f"plug-in {path}: is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and annotations look their module up by name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PassError(f"plug-in {path}: {_one_line(error, file)}") from error
    if not kinds_in(module) and not _has_lowering(module):
        del sys.modules[name]
        raise PassError(f"plug-in {path}: defines no fusion kind (a subclass of FusionOpKindHelper)")
    return module


@contextmanager
def blaming_plugin(author: type) -> Generator[None]:
    """Makes an exception from the code of `author`, if that is not part of onnxloom, a PassError naming it.

    Exceptions that are ours say already what they mean.
    """
    try:
        yield
    except Exception as error:
        if f"{author.__module__}.".startswith("onnxloom.") or type(error).__module__.startswith("onnxloom."):
            raise
        module = sys.modules.get(author.__module__)
        file = Path(getattr(module, "__file__", None) or author.__module__)
        raise PassError(f"plug-in {file}: {author.__name__}: {_one_line(error, file)}") from error


def _load_entry_point(point: object) -> ModuleType:
    from importlib.metadata import EntryPoint

    assert isinstance(point, EntryPoint)
    try:
        loaded = point.load()
        if isinstance(loaded, ModuleType):
            return loaded
        return sys.modules[loaded.__module__]
    except Exception as error:
        raise PassError(f"plug-in {point.name} ({point.value}): {_one_line(error, None)}") from error


def _has_lowering(module: ModuleType) -> bool:
    """By its method: the base class belongs to the conversion, which is a later room."""
    return any(inspect.isclass(v) and hasattr(v, "lower_verified") for v in vars(module).values())


def _one_line(error: BaseException, file: Path | None) -> str:
    """`NameError: name 'x' is not defined (line 3)`."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    if isinstance(error, SyntaxError):
        return text
    frames = traceback.extract_tb(error.__traceback__)
    file = None if file is None else file.resolve()
    lines = [frame.lineno for frame in frames if file is not None and Path(frame.filename).resolve() == file]
    return f"{text} (line {lines[-1]})" if lines else text
