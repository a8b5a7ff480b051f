"""What does the driver read, and where in it does each op stand?

Text is parsed with the line of every op remembered, so that an error of the verifier or of a pass can
name `file:line:col` and be matched by `expected-error`. ONNX models are told by extension or first byte.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError

from onnxloom.dialects.onnx.text import OnnxParser
from onnxloom.errors import ModelError
from onnxloom.tools.failures import one_line

STDIN = "<stdin>"
_SEPARATOR = re.compile(rb"^// -----.*$", re.MULTILINE)
_ONNX_FIRST_BYTES = (b"\x08", b"\x0a", b"\x12", b"\x3a")
"""Tags of the first fields of a ModelProto; none of them starts a text anybody writes (0x0a is tested
together with a byte that is no text)."""


@dataclass(frozen=True)
class Chunk:
    """One piece of the input, processed on its own."""

    name: str
    path: Path | None = None
    """The file, when the chunk is a whole file: it is read only as text, a model is mapped."""
    piece: bytes = b""
    """The bytes, when there is no file."""
    first_line: int = 1

    @property
    def data(self) -> bytes:
        return self.piece if self.path is None else self.path.read_bytes()

    def head(self, size: int) -> bytes:
        """The first bytes."""
        if self.path is None:
            return self.piece[:size]
        with self.path.open("rb") as file:
            return file.read(size)

    @property
    def text(self) -> str:
        data = self.data
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = self.first_line + data.count(b"\n", 0, error.start)
            raise ModelError(f"line {line} is not UTF-8 text") from None


@dataclass
class Places:
    """Line and column of each op that was parsed from text."""

    of_op: dict[Operation, tuple[int, int]] = field(default_factory=dict[Operation, tuple[int, int]])

    def find(self, op: Operation | None) -> tuple[int, int] | None:
        """The place of an op, or of the nearest op around it that has one."""
        while op is not None:
            if op in self.of_op:
                return self.of_op[op]
            op = op.parent_op()
        return None


class SourceError(Exception):
    """The text does not parse; carries the place."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def read(file: str | None, *, split: bool) -> list[Chunk]:
    """The whole input, or its pieces between `// -----` lines."""
    if file is None or file == "-":
        whole = Chunk(STDIN, piece=sys.stdin.buffer.read())
    else:
        path = Path(file)
        # A pipe (`<(command)`) can be read once only.
        whole = Chunk(file, path) if path.is_file() else Chunk(file, piece=path.read_bytes())
    return list(_pieces(whole.data, whole.name)) if split else [whole]


def is_onnx(chunk: Chunk) -> bool:
    """Whether the chunk holds a binary ONNX model rather than text."""
    if chunk.path is not None and chunk.path.suffix == ".onnx":
        return True
    head = chunk.head(64)
    return head[:1] in _ONNX_FIRST_BYTES and any(byte < 9 or 13 < byte < 32 for byte in head)


def parse(chunk: Chunk, context: Context, *, implicit_module: bool = True) -> tuple[ModuleOp, Places]:
    """The module that the text of a chunk spells. Raises SourceError."""
    places = Places()
    # Blank lines in front keep line numbers those of the file.
    text = "\n" * (chunk.first_line - 1) + chunk.text
    parser = _LocatingParser(context, text, chunk.name, places=places)
    try:
        return parser.parse_module(implicit_module), places
    except ParseError as error:
        location = error.span.get_location()
        raise SourceError(one_line(error.msg), location.line, location.col) from None
    except RecursionError:
        raise ModelError("regions or types nest too deeply to be parsed") from None


class _LocatingParser(OnnxParser):
    """A parser that remembers where each op starts."""

    def __init__(self, context: Context, text: str, name: str, *, places: Places) -> None:
        super().__init__(context, text, name)
        self._places = places
        self._lines = _LineCounter(text)

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        op = super().parse_operation()
        self._places.of_op[op] = self._lines.at(start)
        return op


class _LineCounter:
    """Line and column of a position."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, position: int) -> tuple[int, int]:
        from bisect import bisect_right

        line = bisect_right(self._starts, position)
        return line, position - self._starts[line - 1] + 1


def _pieces(data: bytes, name: str) -> Iterator[Chunk]:
    start = 0
    for separator in [*_SEPARATOR.finditer(data), None]:
        end = separator.start() if separator is not None else len(data)
        yield Chunk(name, piece=data[start:end], first_line=1 + data.count(b"\n", 0, start))
        start = separator.end() if separator is not None else end
