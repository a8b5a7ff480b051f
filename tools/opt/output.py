"""Where does the result go, and in which form is IR printed?"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from typing import Protocol, runtime_checkable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.text import OnnxPrinter
from onnxloom.dialects.onnx.weights import WeightsAttr, weights_attr
from onnxloom.dialects.onnx.weights_file import WeightsWriter
from onnxloom.dialects.onnx.weights_source import find_file
from onnxloom.dialects.output_file import OutputFile
from onnxloom.errors import ModelError
from onnxloom.tools.failures import CommandLineError


def check_weights_out(weights_out: str | None, source: str | None, output: str | None) -> None:
    """Weights may not be written over what is read, nor over the result. Raises CommandLineError."""
    if weights_out is None:
        return
    if not weights_out:
        raise CommandLineError("--weights-out needs the name of a file")
    with suppress(OSError):
        if source is not None and os.path.samefile(weights_out, source):
            raise CommandLineError(f"--weights-out {weights_out} is the input; expected another file")
    if output is not None and os.path.realpath(weights_out) == os.path.realpath(output):
        raise CommandLineError(f"--weights-out {weights_out} is the output too; expected another file")


def check_weights_read(weights_out: str | None, module: ModuleOp) -> None:
    """Nor over a file that keys in the text name: other texts may name it too. Raises CommandLineError."""
    if weights_out is None or not os.path.exists(weights_out):
        return
    for op in module.walk():
        for attr in (*op.properties.values(), *op.attributes.values()):
            if not isinstance(attr, WeightsAttr) or attr.place is None or attr.place.folders is None:
                continue
            with suppress(ModelError, OSError):
                if find_file(attr.place).samefile(weights_out):
                    raise CommandLineError(
                        f"--weights-out {weights_out} holds weights of the input; expected another file"
                    )


@runtime_checkable
class BinaryTarget(Protocol):
    """A target whose proper result is bytes; its `emit` gives a readable form of the same."""

    def emit_bytes(self, ctx: Context, module: ModuleOp) -> bytes: ...


class Output:
    """stdout, or a file that is written only when all went well."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._parts: list[bytes] = []
        self._chunks = 0

    def text(self, text: str) -> None:
        """Add the result of one chunk, set apart from the one before as in the input."""
        if self._chunks:
            text = "// -----\n" + text
        self._chunks += 1
        if self._path is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            self._parts.append(text.encode())

    def binary(self, data: bytes) -> None:
        """Add a binary result: a file, or a pipe, but no terminal."""
        if self._chunks:
            raise CommandLineError("a binary result cannot be split: run without --split-input-file")
        self._chunks += 1
        if self._path is not None:
            self._parts.append(data)
        elif sys.stdout.isatty():
            raise CommandLineError("the result is binary: write it to a file with -o")
        else:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def finish(self) -> None:
        if self._path is not None:
            with OutputFile(self._path) as file:
                for part in self._parts:
                    file.write(part)


@dataclass(frozen=True)
class TextForm:
    """How IR is printed."""

    generic: bool = False
    properties_as_attributes: bool = False
    debuginfo: bool = False
    elide_weights: bool = False
    weights_out: WeightsWriter | None = None
    """Where the data of weights go that no file holds."""
    copy_weights: bool = False
    """Put the weights that a file holds there too."""

    def text(self, module: ModuleOp) -> str:
        stream = StringIO()
        printer_class = _CopyingPrinter if self.copy_weights else OnnxPrinter
        printer = printer_class(
            stream,
            print_generic_format=self.generic,
            print_properties_as_attributes=self.properties_as_attributes,
            print_debuginfo=self.debuginfo,
        )
        printer.elide_weights = self.elide_weights
        printer.weights_out = self.weights_out
        printer.print_op(module)
        stream.write("\n")
        return stream.getvalue()


class _CopyingPrinter(OnnxPrinter):
    """Prints weights as if no file held them."""

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, WeightsAttr) and not self.elide_weights:
            attribute = weights_attr(attribute.array(), tensor_type=attribute.tensor_type)
        super().print_attribute(attribute)
