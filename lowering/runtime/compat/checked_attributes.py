"""What do option classes have in common? Attributes of fixed names and types, as in onnxruntime."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, ClassVar


class CheckedAttributes:
    """Setting an attribute that is not there is an AttributeError, a value of another type a TypeError."""

    attribute_types: ClassVar[Mapping[str, type]] = {}
    """Name -> type. Integers take what Python takes as an index, booleans take 0 and 1."""

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self.attribute_types.get(name)
        if kind is None and not name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        object.__setattr__(self, name, value if kind is None else self._fit(name, kind, value))

    def _fit(self, name: str, kind: type, value: Any) -> Any:
        try:
            if kind is bool and operator.index(value) in (0, 1):
                return bool(value)
            if issubclass(kind, int) and kind is not bool:
                return kind(operator.index(value))
        except (TypeError, ValueError):
            pass
        if isinstance(value, kind) or (kind is str and hasattr(value, "__fspath__")):
            return value
        raise TypeError(f"{type(self).__name__}.{name} is {value!r}; expected {kind.__name__}")
