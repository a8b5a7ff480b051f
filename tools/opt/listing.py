"""What do `--list-passes`, `--print-pipeline` and `--version` print?"""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Mapping
from importlib.metadata import version

from xdsl.passes import ModulePass

from onnxloom import universe
from onnxloom.tools.failures import UsageError
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


def print_pipeline(level: str, skip: Collection[str]) -> None:
    """The passes of `O0` to `O3`, without some."""
    from onnxloom.transforms.pass_manager.pass_text import passes_text
    from onnxloom.transforms.pass_manager.skipping import leave_out
    from onnxloom.transforms.pipelines import OPT_LEVELS, pipeline

    levels = {f"O{number}": number for number in OPT_LEVELS}
    number = levels.get(level.upper())
    if number is None:
        raise UsageError(f"there is no pipeline '{level}'; expected one of {', '.join(levels)}")
    print(passes_text(leave_out(pipeline(number), skip)))


def versions() -> str:
    """One line with the versions that matter in a report."""
    names = ("onnxloom", "xdsl", "onnx", "numba", "llvmlite", "numpy")
    return " ".join(f"{name} {version(name)}" for name in names) + f" python {platform.python_version()}"
