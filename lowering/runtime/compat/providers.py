"""Who runs a model? The CPU: other execution providers are noted, once each, and left out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

from onnxloom.errors import InputError, UnsupportedFeatureError, caller_level

CPU: Final = "CPUExecutionProvider"

_noted: set[str] = set()


class ProviderWarning(UserWarning):
    """An execution provider was asked for that is not there."""


def get_available_providers() -> list[str]:
    return [CPU]


def get_all_providers() -> list[str]:
    return [CPU]


def note_providers(providers: Any, provider_options: Any = None) -> None:
    """Warns of each provider that is not there, the first time in this process that it is named.

    Raises:
        InputError: what is given are no providers: names, or pairs of a name and a dict.
    """
    if providers is None:
        return
    if not isinstance(providers, Sequence) or isinstance(providers, str):
        raise InputError(f"providers is {providers!r}; expected a list of names")
    names = [_name(provider) for provider in providers]  # pyright: ignore[reportUnknownVariableType]
    if provider_options is not None and (
        not isinstance(provider_options, Sequence)
        or len(provider_options) != len(names)  # pyright: ignore[reportUnknownArgumentType]
        or not all(isinstance(options, Mapping) for options in provider_options)  # pyright: ignore[reportUnknownVariableType]
    ):
        raise InputError(f"provider_options is {provider_options!r}; expected one dict for each provider")
    for name in names:
        if name != CPU and name not in _noted:
            _noted.add(name)
            warnings.warn(
                f"{name} is not there: onnxloom runs models on the CPU (said once)",
                ProviderWarning,
                stacklevel=caller_level(),
            )


def register_execution_provider_library(registration_name: str, library_path: Any = None) -> None:
    """Raises UnsupportedFeatureError."""
    raise UnsupportedFeatureError(f"execution provider {registration_name!r}: libraries are not loaded")


def unregister_execution_provider_library(registration_name: str) -> None:
    """Raises UnsupportedFeatureError."""
    raise UnsupportedFeatureError(f"execution provider {registration_name!r}: libraries are not loaded")


def _name(provider: Any) -> str:
    pair: Any = provider
    if isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Mapping):  # pyright: ignore[reportUnknownArgumentType]
        pair = pair[0]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(pair, str):
        raise InputError(f"a provider is {provider!r}; expected a name, or a name with a dict of options")
    return pair
