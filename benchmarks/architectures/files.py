"""How does a built architecture become files: the model, and inputs for it?"""

from __future__ import annotations

import numpy as np
import onnx

from benchmarks import architectures
from benchmarks.architectures.feeds import feeds_of

PAST = 256
"""Tokens in the cache of a decoder's inputs."""


def names() -> tuple[str, ...]:
    """All architectures that can be built."""
    return (*architectures.NAMES, *getattr(architectures, "QUANTIZED", ()))


def write_model(name: str, path: str, inputs: str | None = None, past: int = PAST) -> None:
    """Builds one at full size; `inputs` is an .npz file."""
    model = architectures.builder(name)()
    onnx.save(model, path)  # pyright: ignore[reportUnknownMemberType]
    if inputs is not None:
        np.savez(inputs, **feeds_of(model, past))  # pyright: ignore[reportArgumentType]
