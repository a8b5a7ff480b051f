"""Which passes are to be left out? Those named by the caller and by the environment."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from xdsl.passes import ModulePass

from onnxloom.errors import PassError
from onnxloom.transforms.pass_manager.environment import SKIP, skipped_by_environment, split_names
from onnxloom.transforms.pass_manager.fixed_point import FixedPointPass
from onnxloom.transforms.pass_manager.pass_table import pass_names, suggestion
from onnxloom.transforms.pass_manager.pass_text import passes_text


def passes_to_skip(named: Iterable[str], known: Collection[str] | None = None) -> frozenset[str]:
    """The names given and those of the environment. Raises PassError for one that no pass has."""
    asked, by_environment = split_names(named), skipped_by_environment()
    if asked or by_environment:
        known = pass_names() if known is None else known
        for name in asked:
            _check(name, known, "")
        for name in by_environment:
            _check(name, known, f"{SKIP}: ")
    return frozenset([*asked, *by_environment])


def leave_out(passes: Iterable[ModulePass], names: Collection[str]) -> list[ModulePass]:
    """The passes without those of these names, in groups too."""
    kept: list[ModulePass] = []
    for step in passes:
        if step.name in names:
            continue
        if isinstance(step, FixedPointPass):
            inner = leave_out(step.passes, names)
            if inner:
                kept.append(FixedPointPass(passes_text(inner), step.max_sweeps))
        else:
            kept.append(step)
    return kept


def _check(name: str, known: Collection[str], where: str) -> None:
    if name not in known:
        raise PassError(f"{where}there is no pass '{name}' to skip{suggestion(name, known)}")
