"""Which passes do plug-ins bring? Those they define, by the names the classes give."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.passes import ModulePass

from onnxloom.errors import PassError
from onnxloom.transforms.pass_manager.pass_table import TRANSFORM_PASSES
from onnxloom.transforms.plugins import current_plugins, defined_in


def plugin_passes() -> Mapping[str, type[ModulePass]]:
    """Name -> class. Of two plug-ins the more local one has a name.

    Raises:
        PassError: a name is one of onnxloom's own, or two plug-ins of one level have the same.
    """
    passes: dict[str, type[ModulePass]] = {}
    for modules in current_plugins().levels:
        level: dict[str, type[ModulePass]] = {}
        for module in modules:
            for cls in defined_in(module, ModulePass):
                _check(cls, level, str(module.__file__))
                level[cls.name] = cls
        passes.update(level)
    return passes


def _check(cls: type[ModulePass], level: Mapping[str, type[ModulePass]], file: str) -> None:
    name: object = getattr(cls, "name", None)
    if not isinstance(name, str) or not name:
        raise PassError(f"plug-in {file}: {cls.__name__}.name is {name!r}; expected the name of the pass")
    if name in TRANSFORM_PASSES:
        raise PassError(f"plug-in {file}: pass {name!r} is one of onnxloom's own; choose another name")
    if name in level:
        raise PassError(f"plug-in {file}: another plug-in has a pass {name!r} too ({level[name].__module__})")
