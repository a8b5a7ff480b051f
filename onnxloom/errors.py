"""Every error onnxloom raises on bad input: one readable sentence that names the culprit.

An exception that is not one of these is a bug of onnxloom itself (exit code 3 of the programs).
"""

from __future__ import annotations

import re
import sys

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def escaped(text: str) -> str:
    """The text with line breaks, other control characters and what is no character written as in Python."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def caller_level() -> int:
    """The `stacklevel` with which a warning points at the code that called onnxloom."""
    level, frame = 1, sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith("onnxloom."):
        level, frame = level + 1, frame.f_back
    return level


class OnnxloomError(Exception):
    """Base of all typed errors; `str()` of each is one line."""

    def __str__(self) -> str:
        return escaped(super().__str__())  # names in models may hold anything


class ModelError(OnnxloomError):
    """The model or IR text is damaged, invalid, or refers to something that is not there."""


class ArtifactError(ModelError):
    """The file of a compiled model is damaged, or made for another processor or version."""


class UnsupportedOpError(ModelError):
    """The model uses an op nobody here can run; names domain, op, opset and node."""


class InputError(OnnxloomError, ValueError):
    """An array given to `run` does not fit the model: name, dtype, rank, or a dim."""


class KernelFault(OnnxloomError):
    """A checked kernel would have touched memory that is not its own; names kernel, op, buffer and offset."""


class PassError(OnnxloomError):
    """A pass could not do its work on valid IR; names the pass and the op."""
