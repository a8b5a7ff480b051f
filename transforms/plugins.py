"""What have users plugged in?

A plug-in is a Python file, or the folder of a package, that defines any of: fusion kinds (subclasses of
`FusionOpKindHelper`), their lowerings, rewrite patterns (subclasses of `PatternOptimization`), passes
(subclasses of xDSL's `ModulePass`) and custom ops (objects of `CustomOp`). It is loaded from a path, from
the paths in `ONNXLOOM_PLUGINS` (separated like `PATH`), or through the entry-point group
`onnxloom.plugins`. What is loaded for a block of code takes the place of what is installed, by name.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final, TypeVar

from onnxloom.dialects.custom_ops import CustomOp, ops_of_module, use_custom_ops
from onnxloom.errors import PassError

ENTRY_POINT_GROUPS: Final = ("onnxloom.plugins", "onnxloom.fusion_kinds")
"""The second is older and means the same."""

ENVIRONMENT_VARIABLE: Final = "ONNXLOOM_PLUGINS"

T = TypeVar("T")


@dataclass(frozen=True)
class Plugins:
    """Loaded plug-ins; immutable."""

    levels: tuple[tuple[ModuleType, ...], ...] = ()
    """Those of each level, the most local last. Names are unique within a level."""

    @property
    def modules(self) -> tuple[ModuleType, ...]:
        return tuple(module for level in self.levels for module in level)

    @property
    def fingerprint(self) -> str:
        """Changes with the text of any plug-in; "" without plug-ins. Part of the key of what is cached."""
        return fingerprint_of(self.modules)

    @property
    def custom_ops(self) -> list[CustomOp]:
        """Ops that functions of plug-ins run."""
        return [op for module in self.modules for op in ops_of_module(module)]

    def with_level(self, modules: Iterable[ModuleType]) -> Plugins:
        return Plugins((*self.levels, tuple(modules)))


def fingerprint_of(modules: Iterable[ModuleType]) -> str:
    """A digest of the source of modules; "" for none."""
    digest, count = hashlib.sha256(), 0
    for module in modules:
        count += 1
        for file in _source_files(module):
            digest.update(file.read_bytes())
    return digest.hexdigest() if count else ""


def _source_files(module: ModuleType) -> list[Path]:
    if module.__file__ is None:
        return []
    file = Path(module.__file__)
    return sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]


def defined_in(module: ModuleType, base: type[T]) -> list[type[T]]:
    """The complete subclasses of `base` that a module or package defines itself, in order of definition."""
    return [
        value
        for value in dict.fromkeys(filter(inspect.isclass, vars(module).values()))
        if issubclass(value, base)
        and value is not base
        and not getattr(value, "is_abstract", False)
        and not inspect.isabstract(value)
        and f"{value.__module__}.".startswith(f"{module.__name__}.")
    ]


# Which plug-ins are in use


@lru_cache(maxsize=4)
def _installed(paths: str) -> Plugins:
    modules = [_load_entry_point(point) for point in _entry_points()]
    modules += _load_all(path for path in paths.split(os.pathsep) if path)
    return Plugins((tuple(modules),)) if modules else Plugins()


_current: ContextVar[Plugins | None] = ContextVar("onnxloom_plugins", default=None)


def current_plugins() -> Plugins:
    """Those in use: of `use_plugins`, of entry points and of `ONNXLOOM_PLUGINS`.

    Raises:
        PassError: a plug-in cannot be loaded.
    """
    return _current.get() or _installed(os.environ.get(ENVIRONMENT_VARIABLE, ""))


def has_installed_plugins() -> bool:
    """Whether there are any without `use_plugins`; loads none."""
    return bool(os.environ.get(ENVIRONMENT_VARIABLE)) or bool(_entry_points())


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    """To look for them takes milliseconds."""
    return tuple(point for group in ENTRY_POINT_GROUPS for point in sorted(entry_points(group=group)))


@contextmanager
def use_plugins(paths: Iterable[str | Path]) -> Generator[Plugins]:
    """Loads plug-ins on top of what is in use, for this thread and a block of code.

    Raises:
        PassError: a plug-in cannot be loaded, or defines what is there already.
    """
    with use_modules(_load_all(paths)) as plugins:
        yield plugins


@contextmanager
def use_modules(modules: Iterable[ModuleType]) -> Generator[Plugins]:
    """The same for plug-ins that are loaded."""
    plugins = current_plugins().with_level(modules)
    token = _current.set(plugins)
    try:
        _check_names(plugins)
        with use_custom_ops(plugins.custom_ops):
            yield plugins
    finally:
        _current.reset(token)


def _check_names(plugins: Plugins) -> None:
    """What clashes is said when it is plugged in, not when it is first looked for."""
    from onnxloom.transforms.fusion.plugins import current_registry
    from onnxloom.transforms.plugin_passes import plugin_passes
    from onnxloom.transforms.rewriting.pattern import PatternOptimization

    current_registry()
    plugin_passes()
    if any(defined_in(module, PatternOptimization) for module in plugins.levels[-1]):
        from onnxloom.transforms.rewriting.registry import current_patterns

        current_patterns()


# Loading


def _load_all(paths: Iterable[str | Path]) -> list[ModuleType]:
    """One module per file, however often it is named."""
    named = {Path(path).resolve(): path for path in paths}
    return [load_plugin(path) for path in named.values()]


class _SourceAsItIs(SourceFileLoader):
    """Never reads bytecode that is cached: it is told by second and size, an edit may change neither."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def load_plugin(path: str | Path) -> ModuleType:
    """Runs the plug-in at `path`, a Python file or the folder of a package.

    Raises:
        PassError: there is no such file, it raises, or it defines nothing that a plug-in can give.
    """
    path = Path(path)
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise PassError(f"plug-in {path}: there is no such Python file or package")
    digest = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]
    name = f"onnxloom_plugin_{path.resolve().stem.replace('.', '_')}_{digest}"
    locations = [str(path)] if path.is_dir() else None
    spec = importlib.util.spec_from_file_location(
        name, file, loader=_SourceAsItIs(name, str(file)), submodule_search_locations=locations
    )
    if spec is None or spec.loader is None or file.suffix != ".py":
        raise PassError(f"plug-in {path}: is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and annotations look their module up by name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PassError(f"plug-in {path}: {one_line(error, file)}") from error
    for misplaced in _op_lowerings(module):
        del sys.modules[name]
        raise PassError(
            f"plug-in {path}: {misplaced} lowers a single op, which only onnxloom's own files can"
        )
    if not any(_contributions(module)):
        del sys.modules[name]
        kinds = "fusion kind, lowering, rewrite pattern, pass or custom op"
        raise PassError(f"plug-in {path}: defines no {kinds}{_incomplete(module)}")
    return module


def _incomplete(module: ModuleType) -> str:
    """The classes of a module that cannot be made, and the methods they lack."""
    classes: list[Any] = [value for value in vars(module).values() if inspect.isabstract(value)]
    own = [value for value in classes if value.__module__ == module.__name__]
    return "".join(f"; {one.__name__} has no {', '.join(sorted(one.__abstractmethods__))}" for one in own)


def _load_entry_point(point: EntryPoint) -> ModuleType:
    try:
        loaded: Any = point.load()
        return loaded if isinstance(loaded, ModuleType) else sys.modules[loaded.__module__]
    except Exception as error:
        raise PassError(f"plug-in {point.name} ({point.value}): {one_line(error, None)}") from error


def _op_lowerings(module: ModuleType) -> list[str]:
    """The names of functions marked `@lowering` that a module defines itself."""
    # Told by what they hold: their class belongs to the conversion, which is a later room.
    found = (
        (name, getattr(v, "lower", None)) for name, v in vars(module).items() if hasattr(v, "op_classes")
    )
    return [name for name, function in found if getattr(function, "__module__", None) == module.__name__]


def _contributions(module: ModuleType) -> Iterator[object]:
    from xdsl.passes import ModulePass

    from onnxloom.transforms.fusion.helper import FusionOpKindHelper
    from onnxloom.transforms.rewriting.pattern import PatternOptimization

    for base in (FusionOpKindHelper, PatternOptimization, ModulePass):
        yield from defined_in(module, base)
    yield from ops_of_module(module)
    # A lowering is told by its method: its base class belongs to the conversion, which is a later room.
    yield from (v for v in vars(module).values() if inspect.isclass(v) and hasattr(v, "lower_verified"))


# Errors


@contextmanager
def blaming_plugin(author: type) -> Generator[None]:
    """Makes an exception from the code of `author`, if that is not part of onnxloom, a PassError naming it.

    Exceptions that are ours say already what they mean.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        if is_ours(author) or type(error).__module__.startswith("onnxloom."):
            raise
        module = sys.modules.get(author.__module__)
        file = Path(getattr(module, "__file__", None) or author.__module__)
        raise PassError(f"plug-in {file}: {author.__name__}: {one_line(error, file)}") from error


def is_ours(author: type) -> bool:
    """Whether a class is part of onnxloom."""
    return f"{author.__module__}.".startswith("onnxloom.")


def is_plugged_in(author: type) -> bool:
    """Whether a class comes from a plug-in in use."""
    return any(f"{author.__module__}.".startswith(f"{m.__name__}.") for m in current_plugins().modules)


def one_line(error: BaseException, file: Path | None) -> str:
    """`NameError: name 'x' is not defined (line 3)`."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    if isinstance(error, SyntaxError):
        return text
    line = None if file is None else _last_line(error, file)
    return text if line is None else f"{text} (line {line})"


def place_in_source(error: BaseException, author: type) -> str:
    """` (file.py, line 3)`: where the code of a class was when it raised; nothing if that is not known."""
    file = getattr(sys.modules.get(author.__module__), "__file__", None)
    line = None if file is None else _last_line(error, Path(file))
    return "" if file is None or line is None else f" ({file}, line {line})"


def _last_line(error: BaseException, file: Path) -> int | None:
    """The innermost line of a file that an exception passed through."""
    path = file.resolve()
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == path]
    return lines[-1] if lines else None
