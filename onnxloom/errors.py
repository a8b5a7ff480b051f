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


# The exceptions of onnxruntime: code that catches them by these names catches ours.


class Fail(Exception):
    """Something went wrong for which there is no other class."""


class InvalidArgument(Exception):
    """A model, an option or an input that cannot be used."""


class InvalidGraph(Exception):
    """The graph of a model breaks a rule of the standard."""


class InvalidProtobuf(Exception):
    """The data are no model."""


class NoSuchFile(Exception):
    """There is no file of that name."""


class NotImplemented(Exception):
    """An op, or a way to use one, that is not there."""


class RuntimeException(Exception):
    """A run failed."""


class EPFail(Exception):
    """An execution provider failed; never raised."""


class NoModel(Exception):
    """No model was loaded; never raised."""


class EngineError(Exception):
    """Never raised."""


class ModelLoaded(Exception):
    """Never raised."""


class NotFound(Exception):
    """Never raised."""


class ModelLoadCanceled(Exception):
    """`SessionOptions.set_load_cancellation_flag` was set."""


class ModelRequiresCompilation(Exception):
    """Never raised."""


class DeviceReset(Exception):
    """Never raised."""


# Ours.


class ModelError(OnnxloomError, InvalidGraph, InvalidArgument, Fail):
    """The model or IR text is damaged, invalid, or refers to something that is not there."""


class NoSuchModelError(ModelError, NoSuchFile):
    """There is no file of that name."""


class DamagedModelError(ModelError, InvalidProtobuf):
    """The data are not those of a model."""


class ArtifactError(ModelError):
    """The file of a compiled model is damaged, or made for another processor or version."""


class UnsupportedOpError(ModelError, NotImplemented):
    """The model uses an op nobody here can run; names domain, op, opset and node."""


class CustomOpError(ModelError, RuntimeException):
    """A function that was registered for an op failed, or gave something that does not fit."""


class InputError(OnnxloomError, InvalidArgument, ValueError):
    """An array given to `run` does not fit the model: name, dtype, rank, or a dim."""


class UsageError(InputError, RuntimeError):
    """A binding, an entry or a value that is not there or does not fit; a RuntimeError in onnxruntime."""


class UnsupportedFeatureError(OnnxloomError, NotImplemented, RuntimeError):
    """A part of onnxruntime's interface that is not there."""


class TerminatedError(OnnxloomError, Fail):
    """A run ended because `RunOptions.terminate` was set."""


class KernelFault(OnnxloomError):
    """A checked kernel would have touched memory that is not its own; names kernel, op, buffer and offset."""


class PassError(OnnxloomError):
    """A pass could not do its work on valid IR; names the pass and the op."""
