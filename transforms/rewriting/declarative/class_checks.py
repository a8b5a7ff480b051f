"""Is a declarative pattern complete? What is wrong with a class is said when the class is made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from onnxloom.transforms.rewriting.declarative.config import MatcherConfig
from onnxloom.transforms.rewriting.declarative.expressions import PatternFunction
from onnxloom.transforms.rewriting.declarative.pattern_graph import PatternGraph, graph_of


def compiled(cls: type, functions: Mapping[str, PatternFunction]) -> tuple[PatternGraph, ...]:
    """What the pattern functions of a class describe; each alternative has the same inputs and outputs.

    Raises:
        TypeError, ValueError: with what to write instead.
    """
    name = cls.__name__
    if not functions:
        raise TypeError(f"{name}: has no pattern; expected a function marked @pattern in the class")
    graphs = tuple(graph_of(name, key, function) for key, function in functions.items())
    first = graphs[0]
    for other in graphs[1:]:
        if _parameters(other) != _parameters(first):
            raise ValueError(
                f"{other.name}: has the parameters ({_shown(other)}); expected those of {first.name}, "
                f"({_shown(first)}): one replacement serves both"
            )
        if len(other.outputs) != len(first.outputs):
            raise ValueError(
                f"{other.name}: returns {len(other.outputs)} values; expected {len(first.outputs)} "
                f"as {first.name}: one replacement serves both"
            )
    return graphs


def _parameters(graph: PatternGraph) -> Sequence[object]:
    return [(parameter.name, parameter.accepts, parameter.may_be_absent) for parameter in graph.parameters]


def _shown(graph: PatternGraph) -> str:
    return ", ".join(
        f"{p.name}: {p.accepts.__name__}{' | None' if p.may_be_absent else ''}" for p in graph.parameters
    )


def check_hook(cls: type, base: type, name: str, parameters: Sequence[str], is_required: bool) -> None:
    """Raises TypeError when a method is missing or takes something else."""
    hook: Callable[..., Any] = getattr(cls, name)
    signature = f"{name}({', '.join(parameters)})"
    if hook is getattr(base, name):
        if is_required:
            raise TypeError(f"{cls.__name__}: has no {name}; expected a method {signature}")
        return
    found = inspect.signature(hook).parameters.values()
    if len(found) != len(parameters) or any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in found):
        given = ", ".join(str(p).split(":")[0] for p in found)
        raise TypeError(f"{cls.__name__}.{name}({given}): expected {signature}")


def check_config(cls: type) -> None:
    """Raises TypeError when `config` is something else."""
    config = cast(object, getattr(cls, "config", None))
    if not isinstance(config, MatcherConfig):
        raise TypeError(f"{cls.__name__}.config is {config!r}; expected MatcherConfig(...)")


def check_start_ops(cls: type, follows_from: str) -> None:
    """Raises TypeError when the author names start ops that are known already."""
    if "start_ops" in cls.__dict__:
        raise TypeError(f"{cls.__name__}.start_ops follows from {follows_from}; leave it out")
