"""What do `--list-passes` and `--version` print?"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version

from xdsl.passes import ModulePass

from onnxloom import universe
from onnxloom.tools.opt.pass_specs import option_help


def list_passes(available: Mapping[str, Callable[[], type[ModulePass]]]) -> None:
    """Our passes with options and first sentence, then the names of xDSL's."""
    ours = universe.passes()
    print("onnxloom:")
    for name, factory in ours.items():
        cls = factory()
        print(f"  {name}{option_help(cls)}")
        summary = (cls.__doc__ or "").strip().split("\n\n")[0]
        if summary:
            print("      " + " ".join(summary.split()))
    print("xDSL and other installed packages:")
    for name in sorted(set(available) - set(ours)):
        print(f"  {name}")


def versions() -> str:
    """One line with the versions that matter in a report."""
    names = ("onnxloom", "xdsl", "onnx", "numba", "llvmlite", "numpy")
    return " ".join(f"{name} {version(name)}" for name in names) + f" python {platform.python_version()}"
