"""How is a module read from text and written to it?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.utils.exceptions import ParseError, VerifyException

from onnxloom.dialects.onnx.attributes import decode
from onnxloom.dialects.onnx.parser import OnnxParser
from onnxloom.dialects.onnx.printer import OnnxPrinter
from onnxloom.dialects.onnx.weights_file import WeightsWriter
from onnxloom.dialects.onnx.weights_source import weights_source
from onnxloom.dialects.verify_module import verify_module
from onnxloom.errors import ModelError

__all__ = [
    "OnnxParser",
    "OnnxPrinter",
    "load_module",
    "make_context",
    "one_line",
    "parse_module",
    "print_module",
]


def make_context() -> Context:
    """A context that knows the onnx and loom dialects and all of xDSL's, loaded when first used."""
    context = Context()
    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)
    context.register_dialect("onnx", _onnx)
    context.register_dialect("loom", _loom)
    return context


def _onnx() -> Dialect:
    from onnxloom.dialects.onnx import ONNX

    return ONNX


def _loom() -> Dialect:
    from onnxloom.dialects.loom import LOOM

    return LOOM


def parse_module(source: str | Path, ctx: Context | None = None, *, filename: str | None = None) -> ModuleOp:
    """A module from text, or from the file at a `Path`.

    Raises ModelError in one line with file, line and column where the text is not valid.
    """
    if isinstance(source, Path):
        filename = filename or str(source)
        source = source.read_text(encoding="utf-8", errors="surrogateescape")
    try:
        return OnnxParser(ctx or make_context(), source, filename or "<string>").parse_module()
    except ParseError as error:
        raise ModelError(one_line(error)) from None
    except VerifyException as error:  # of an attribute or type, as it is made
        raise ModelError(f"{filename or '<string>'}: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ModelError(f"{filename or '<string>'}: regions or types nest too deeply") from None


def load_module(path: Path, weights_dirs: Sequence[str | Path] = ()) -> ModuleOp:
    """The module in a file, checked to be valid. Raises ModelError in one line that names the file.

    Its weights may lie in its own folder and in `weights_dirs`.
    """
    try:
        data = path.read_bytes()
        text = data.decode()
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = 1 + error.object.count(b"\n", 0, error.start)
        raise ModelError(f"{path}:{line}: is not UTF-8 text; expected IR") from None
    if not text.strip():
        raise ModelError(f"{path}: is empty; expected IR")
    with weights_source(*weights_dirs):
        module = parse_module(text, filename=str(path))
    try:
        verify_module(module)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    return module


def one_line(error: ParseError) -> str:
    """`file.mlir:3:7: what is wrong`."""
    span = error.span
    content = span.input.content
    before = content[: span.start] if isinstance(content, str) else decode(content[: span.start])
    line = before.count("\n") + 1
    column = span.start - (before.rfind("\n") + 1) + 1
    return f"{span.input.name}:{line}:{column}: {' '.join(error.msg.split())}"


def print_module(
    module: ModuleOp,
    stream: TextIO | None = None,
    *,
    elide_weights: bool = False,
    locations: bool = False,
    weights_out: WeightsWriter | None = None,
) -> None:
    """Writes a module so that `parse_module` gives it back bit for bit.

    Weights of a file are printed as keys into it. Others go into `weights_out`, or inline. With
    `elide_weights` no data are printed.
    """
    out = sys.stdout if stream is None else stream
    printer = OnnxPrinter(stream=out, print_debuginfo=locations)
    printer.elide_weights = elide_weights
    printer.weights_out = weights_out
    printer.print_op(module)
    out.write("\n")
