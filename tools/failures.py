"""What does a program of ours say, and which code does it return, when something goes wrong?

One line on stderr and one of four codes. A traceback appears only with ONNXLOOM_TRACEBACK=1.
"""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass

from onnxloom.errors import KernelFault, OnnxloomError, escaped
from onnxloom.tools.streams import complain, forget_stdout

EXIT_OK = 0
EXIT_INPUT = 1
"""The input is at fault."""
EXIT_USAGE = 2
"""The command line is at fault: an unknown option, pass or target."""
EXIT_INTERNAL = 3
"""onnxloom is at fault."""
EXIT_INTERRUPTED = 130


class CommandLineError(OnnxloomError):
    """The command line asks for something that does not exist or does not fit together."""


@dataclass(frozen=True)
class Failure:
    """One error, ready to print."""

    message: str
    code: int
    line: int | None = None
    """Line of the input file, from 1, when known."""
    column: int | None = None
    file: str | None = None
    kind: str = "error"
    """`error` or `warning`."""

    def __str__(self) -> str:
        place = escaped(self.file or "")
        if place and self.line is not None:
            place += f":{self.line}" + (f":{self.column}" if self.column is not None else "")
        return f"{place}: {self.kind}: {self.message}" if place else f"{self.kind}: {self.message}"


def one_line(text: object) -> str:
    """The text with all line breaks and runs of blanks folded to single blanks, the rest escaped."""
    return escaped(" ".join(str(text).split()))


def describe(error: BaseException) -> Failure:
    """The message and exit code of an exception; whatever nobody planned for is an internal error."""
    match error:
        case CommandLineError():
            return Failure(one_line(error), EXIT_USAGE)
        case KernelFault():
            return Failure(one_line(error), EXIT_INTERNAL)
        case OnnxloomError():
            return Failure(one_line(error), EXIT_INPUT)
        case KeyboardInterrupt():
            return Failure("interrupted", EXIT_INTERRUPTED)
        case MemoryError():
            return Failure("out of memory", EXIT_INPUT)
        case OSError() if error.filename is not None:
            return Failure(one_line(error.strerror), EXIT_INPUT, file=str(error.filename) or "''")
        case _:
            return internal(error)


def internal(error: BaseException, where: str = "") -> Failure:
    """An exception that only a bug of ours can cause."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return Failure(
        f"internal error{where}: {type(error).__name__}: {_shortened(one_line(error))}{at}; "
        "please report it with the input and what ONNXLOOM_TRACEBACK=1 prints",
        EXIT_INTERNAL,
    )


def report(program: str, failure: Failure, error: BaseException | None = None) -> int:
    """Print a failure on stderr (after the traceback, when asked for) and return its exit code."""
    if error is not None and os.environ.get("ONNXLOOM_TRACEBACK"):
        traceback.print_exception(error)
    complain(failure if failure.file else f"{program}: {failure}")
    return failure.code


def close_broken_pipe() -> int:
    """Nobody reads our output any more (`onnxloom-opt ... | head`): leave without a word."""
    forget_stdout()
    return EXIT_OK


def _shortened(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else text[:limit] + "..."
