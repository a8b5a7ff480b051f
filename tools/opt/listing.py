"""What do `--list-passes`, `--print-pipeline` and `--version` print?"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Collection, Mapping
from importlib.metadata import version

from xdsl.passes import ModulePass

from onnxloom import universe
from onnxloom.tools.failures import CommandLineError
from onnxloom.tools.opt.pass_specs import option_help
from onnxloom.transforms.plugin_passes import plugin_passes
from onnxloom.transforms.rewriting.pattern import Numerics, PatternOptimization
from onnxloom.transforms.rewriting.registry import current_patterns


def list_passes(available: Mapping[str, Callable[[], type[ModulePass]]]) -> None:
    """Our passes with options and first sentence, then the names of xDSL's."""
    ours = universe.passes()
    print("onnxloom:")
    _print_passes({name: factory() for name, factory in ours.items()})
    plugged_in = plugin_passes()
    if plugged_in:
        print("plug-ins:")
        _print_passes(plugged_in)
    print("xDSL and other installed packages:")
    for name in sorted(set(available) - set(ours) - set(plugged_in)):
        print(f"  {name}")


def _print_passes(passes: Mapping[str, type[ModulePass]]) -> None:
    for name, cls in passes.items():
        print(f"  {name}{option_help(cls)}")
        _print_summary(cls)


def list_patterns() -> None:
    """All rewrite patterns in use with what selects them, by where they come from."""
    registry = current_patterns()
    for origin in dict.fromkeys(registry.origins[pattern.name] for pattern in registry.patterns):
        print(f"{origin}:")
        for pattern in registry.patterns:
            if registry.origins[pattern.name] == origin:
                print(f"  {pattern.name}  ({_traits(pattern)})")
                _print_summary(pattern, _rewrite(pattern))


def _rewrite(pattern: type[PatternOptimization]) -> str:
    """`A -> B`: the first line of the file, where that is what it says."""
    text = getattr(sys.modules.get(pattern.__module__), "__doc__", None) or ""
    first = text.strip().partition("\n")[0]
    return first if "->" in first else ""


def _traits(pattern: type[PatternOptimization]) -> str:
    traits = [pattern.numerics.value, pattern.stage.value, f"priority {pattern.priority}"]
    if pattern.min_opset > 1:
        traits.append(f"opset {pattern.min_opset}")
    if not pattern.default or pattern.numerics is Numerics.LOWERS:
        traits.append("by name only")
    return ", ".join(traits)


def _print_summary(cls: type, otherwise: str = "") -> None:
    # A dataclass without a docstring has its signature for one.
    summary = (cls.__dict__.get("__doc__") or "").strip().split("\n\n")[0]
    if not summary or summary.startswith(f"{cls.__name__}("):
        summary = otherwise
    if summary:
        print("      " + " ".join(summary.split()))


def print_pipeline(level: str, skip: Collection[str]) -> None:
    """The passes of `O0` to `O3`, without some."""
    from onnxloom.transforms.pass_manager.pass_text import passes_text
    from onnxloom.transforms.pass_manager.skipping import leave_out
    from onnxloom.transforms.pipelines import OPT_LEVELS, pipeline

    levels = {f"O{number}": number for number in OPT_LEVELS}
    number = levels.get(level.upper())
    if number is None:
        raise CommandLineError(f"there is no pipeline '{level}'; expected one of {', '.join(levels)}")
    print(passes_text(leave_out(pipeline(number), skip)))


def versions() -> str:
    """One line with the versions that matter in a report."""
    names = ("onnxloom", "xdsl", "onnx", "numba", "llvmlite", "numpy")
    return " ".join(f"{name} {version(name)}" for name in names) + f" python {platform.python_version()}"
