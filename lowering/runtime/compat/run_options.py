"""What can be said about one call of `InferenceSession.run`?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.errors import UnsupportedFeatureError, UsageError
from onnxloom.lowering.runtime.compat.checked_attributes import CheckedAttributes


class RunOptions(CheckedAttributes):
    """Options of a run. `terminate` ends the runs it is given to; all others are kept and have no effect."""

    attribute_types: ClassVar[Mapping[str, type]] = {
        "log_severity_level": int,
        "log_verbosity_level": int,
        "logid": str,
        "only_execute_path_to_fetches": bool,
        "terminate": bool,
    }

    def __init__(self) -> None:
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self.terminate = False
        """Set from another thread, it ends a run between two steps or slices of work."""
        self._entries: dict[str, str] = {}

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Keeps the entry; no key has an effect."""
        for text in (key, value):
            if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"a configuration entry is {text!r}; expected str")
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        """Raises UsageError."""
        if key not in self._entries:
            raise UsageError(f"RunOptions does not have configuration with key: {key}")
        return self._entries[key]

    def add_active_adapter(self, adapter: Any) -> None:
        """Raises UnsupportedFeatureError."""
        raise UnsupportedFeatureError("RunOptions.add_active_adapter: LoRA adapters are not supported")
