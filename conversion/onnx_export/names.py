"""What is each value called in the exported graph?"""

from __future__ import annotations

from xdsl.ir import SSAValue

from onnxloom.dialects.onnx.access import is_none


class Names:
    """Gives each value one name; no two values share one, and reserved names stay free."""

    def __init__(self, prefix: str = "v") -> None:
        self.prefix = prefix
        self._names: dict[SSAValue, str] = {}
        self._taken: set[str] = set()
        self._next = 0

    def reserve(self, name: str) -> None:
        self._taken.add(name)

    def bind(self, value: SSAValue, name: str) -> None:
        """Makes `name` the value's name."""
        self._names[value] = name
        self._taken.add(name)

    def wish(self, value: SSAValue, name: str) -> str:
        """The value's name from here on: `name` when nothing else has it."""
        if name and name not in self._taken:
            self.bind(value, name)
        return self.of(value)

    def of(self, value: SSAValue) -> str:
        """The value's name; empty for a value that is left out."""
        if is_none(value):
            return ""
        found = self._names.get(value)
        if found is None:
            found = self.fresh()
            self._names[value] = found
        return found

    def fresh(self) -> str:
        while True:
            name = f"{self.prefix}{self._next}"
            self._next += 1
            if name not in self._taken:
                self._taken.add(name)
                return name

    def knows(self, value: SSAValue) -> bool:
        return value in self._names
