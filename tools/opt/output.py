"""Where does the result go, and in which form is IR printed?"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Protocol, runtime_checkable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects.onnx.text import OnnxPrinter
from onnxloom.dialects.onnx.weights_file import WeightsWriter
from onnxloom.tools.failures import UsageError


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
            raise UsageError("a binary result cannot be split: run without --split-input-file")
        self._chunks += 1
        if self._path is not None:
            self._parts.append(data)
        elif sys.stdout.isatty():
            raise UsageError("the result is binary: write it to a file with -o")
        else:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def finish(self) -> None:
        if self._path is not None:
            Path(self._path).write_bytes(b"".join(self._parts))


@dataclass(frozen=True)
class TextForm:
    """How IR is printed."""

    generic: bool = False
    properties_as_attributes: bool = False
    debuginfo: bool = False
    highlight: bool = False
    elide_weights: bool = False
    weights_out: Path | None = None

    def text(self, module: ModuleOp) -> str:
        stream = StringIO()
        self.write(module, stream)
        return stream.getvalue()

    def write(self, module: ModuleOp, stream: StringIO) -> None:
        if self.highlight:
            from xdsl.syntax_printer import SyntaxPrinter as printer_class
        else:
            printer_class = OnnxPrinter
        printer = printer_class(
            stream=stream,
            print_generic_format=self.generic,
            print_properties_as_attributes=self.properties_as_attributes,
            print_debuginfo=self.debuginfo,
        )
        with ExitStack() as stack:
            if isinstance(printer, OnnxPrinter):
                printer.elide_weights = self.elide_weights
                if self.weights_out is not None:
                    printer.weights_out = stack.enter_context(WeightsWriter(self.weights_out))
            printer.print_op(module)
        stream.write("\n")
