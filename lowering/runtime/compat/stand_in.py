"""How does code that imports onnxruntime get onnxloom? `as_onnxruntime` registers it under that name."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from onnxloom.errors import UsageError
from onnxloom.lowering.runtime.compat.environment import FOLLOWED

_NAME: Final = "onnxruntime"
_SUBMODULES: Final = (
    "capi",
    "capi._pybind_state",
    "capi.onnxruntime_inference_collection",
    "capi.onnxruntime_pybind11_state",
    "capi.onnxruntime_validation",
)


class _StandIn(ModuleType):
    """A module that has what onnxloom has, but says it is the version whose interface that follows."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("onnxloom"), name)

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module("onnxloom"))


def as_onnxruntime() -> ModuleType:
    """Makes `import onnxruntime` (and its `capi` modules) mean onnxloom in this process from now on.

    `sys.modules["onnxruntime"] = onnxloom` does as well for most code; here `onnxruntime.__version__` is that
    of onnxruntime. Gives the module; calling it twice is no mistake.

    Raises:
        UsageError: onnxruntime itself was imported before.
    """
    present = sys.modules.get(_NAME)
    if isinstance(present, _StandIn):
        return present
    if present is not None and present.__name__ == _NAME:
        raise UsageError("onnxruntime is imported already; as_onnxruntime comes before anything that uses it")
    package = importlib.import_module("onnxloom")
    module = _StandIn(_NAME, package.__doc__)
    module.__dict__["__version__"] = module.__dict__["version"] = FOLLOWED
    module.__path__ = list(package.__path__)
    module.__spec__ = ModuleSpec(_NAME, None, is_package=True)
    module.__spec__.submodule_search_locations = module.__path__
    sys.modules[_NAME] = module
    for name in _SUBMODULES:
        sys.modules[f"{_NAME}.{name}"] = importlib.import_module(f"onnxloom.{name}")
    return module
