"""Which ops are evaluated by functions of our own? Those that modules of `replacements/` register."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

Function: TypeAlias = Callable[..., Sequence[Any]]
"""(attributes, *inputs) -> outputs. Omitted inputs are None; trailing ones may be missing."""

_FUNCTIONS: dict[tuple[str, str], Function] = {}
_PLAIN: set[tuple[str, str]] = set()


@dataclass(frozen=True)
class Attributes:
    """A node's attributes as Python values, and the number of its outputs."""

    values: dict[str, Any]
    outputs: int
    """Outputs the node lists, omitted ones included."""
    wanted: tuple[bool, ...]
    made: dict[str, Any] = field(default_factory=dict[str, Any], compare=False)
    """Where a function may keep what it makes of the attributes."""

    @staticmethod
    def of(node: Any) -> Attributes:
        from onnx.helper import get_attribute_value

        def plain(value: Any) -> Any:
            if isinstance(value, bytes):
                return value.decode("utf-8", "surrogateescape")
            return [plain(v) for v in value] if isinstance(value, list | tuple) else value  # pyright: ignore[reportUnknownVariableType]

        values = {a.name: plain(get_attribute_value(a)) for a in node.attribute}
        return Attributes(values, len(node.output), tuple(bool(o) for o in node.output))

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)


def replaces(*ops: str, domain: str = "", plain: bool = False) -> Callable[[Function], Function]:
    """Registers a function for ops of a domain.

    One that is `plain` neither calculates nor writes to its inputs: nothing guards against its warnings.
    """

    def register(function: Function) -> Function:
        for op in ops:
            _FUNCTIONS[domain, op] = function
            if plain:
                _PLAIN.add((domain, op))
        return function

    return register


@cache
def _load() -> None:
    from onnxloom.lowering.runtime.host_ops import replacements

    for module in pkgutil.iter_modules(replacements.__path__):
        importlib.import_module(f"{replacements.__name__}.{module.name}")


def replacement(domain: str, op: str) -> Function | None:
    """The function registered for an op."""
    _load()
    return _FUNCTIONS.get(("" if domain == "ai.onnx" else domain, op))


def replaced_ops() -> frozenset[tuple[str, str]]:
    """(domain, name) of each op that has a function of ours; the default domain is ""."""
    _load()
    return frozenset(_FUNCTIONS)


def is_plain(domain: str, op: str) -> bool:
    """Whether an op's function was registered as plain."""
    _load()
    return ("" if domain == "ai.onnx" else domain, op) in _PLAIN
