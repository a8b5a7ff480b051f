"""Which dialects, passes, targets and front ends does onnxloom bring, and how does plain `xdsl-opt` see them?

Everything is named here and imported when used: a driver that runs one pass imports one pass.
xDSL itself has a pass `shape-inference` and a target `llvm`; a name must be unique among installed
universes, so `xdsl-opt` sees ours under the names of `XDSL_OPT_NAMES`. `onnxloom-opt` uses the plain
names and lets them shadow xDSL's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.frontend import Frontend
from xdsl.utils.target import Target

from onnxloom.transforms.pass_manager.pass_table import TRANSFORM_PASSES

_DIALECTS = {
    "onnx": "onnxloom.dialects.onnx:ONNX",
    "loom": "onnxloom.dialects.loom:LOOM",
}
_PASSES = {
    **TRANSFORM_PASSES,
    "convert-onnx-to-loom": "onnxloom.conversion.onnx_to_loom.convert:ConvertOnnxToLoomPass",
    "expand-math": "onnxloom.lowering.expand_math:ExpandMathPass",
}
_TARGETS = {
    "onnx": "onnxloom.conversion.onnx_export.target:OnnxTarget",
    "numba": "onnxloom.lowering.targets:NumbaTarget",
    "llvm": "onnxloom.lowering.targets:LLVMTarget",
}
_FRONTENDS = {"onnx": "onnxloom.conversion.onnx_import.frontend:OnnxFrontend"}

XDSL_OPT_NAMES = {"shape-inference": "onnx-shape-inference", "llvm": "loom-llvm"}
"""Names that clash with xDSL's own, and what `xdsl-opt` calls ours instead."""


def _load(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def _factories(paths: Mapping[str, str]) -> dict[str, Callable[[], Any]]:
    # xDSL takes a callable with parameters for something else than a factory.
    return {name: partial(_load, path) for name, path in paths.items()}


def dialects() -> dict[str, Callable[[], Dialect]]:
    """Our dialects by name."""
    return _factories(_DIALECTS)


def passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Our passes by the names `onnxloom-opt` uses."""
    return _factories(_PASSES)


def targets() -> dict[str, Callable[[], type[Target]]]:
    """Our targets by the names `onnxloom-opt` uses."""
    return _factories(_TARGETS)


def frontends() -> dict[str, Callable[[], type[Frontend]]]:
    """Our front ends by file extension."""
    return _factories(_FRONTENDS)


def _renamed(factories: Mapping[str, Callable[[], Any]]) -> dict[str, Callable[[], Any]]:
    """The same factories under the names of `XDSL_OPT_NAMES`."""

    def under(name: str, factory: Callable[[], Any]) -> Callable[[], Any]:
        def build() -> Any:
            original = factory()
            return type(original.__name__, (original,), {"name": name, "__doc__": original.__doc__})

        return build

    return {
        XDSL_OPT_NAMES.get(name, name): under(XDSL_OPT_NAMES[name], factory)
        if name in XDSL_OPT_NAMES
        else factory
        for name, factory in factories.items()
    }


ONNXLOOM_UNIVERSE = Universe(
    all_dialects=dialects(),
    all_passes=_renamed(passes()),
    all_targets=_renamed(targets()),
    all_frontends=frontends(),
)
