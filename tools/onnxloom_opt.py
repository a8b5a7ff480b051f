"""The opt-style driver: reads `.mlir` text or an ONNX model, runs passes, prints IR or generated code.

stdout carries the result and nothing else; errors are one line on stderr. Exit codes: 0 ok, 1 the
input is at fault, 2 the command line is at fault, 3 onnxloom is at fault.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from onnxloom.tools.failures import EXIT_OK, close_broken_pipe, describe, one_line, report
from onnxloom.tools.streams import complain, standard_streams

if TYPE_CHECKING:
    from onnxloom.tools.opt.driver import OnnxloomOpt

PROGRAM = "onnxloom-opt"


def main(args: Sequence[str] | None = None) -> int:
    """Run the driver with command-line arguments and return its exit code."""
    try:
        with standard_streams(), _warnings_as_lines():
            return _run(args)
    except BrokenPipeError as error:
        return close_broken_pipe() if error.filename is None else report(PROGRAM, describe(error), error)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else EXIT_OK
    except (Exception, KeyboardInterrupt) as error:
        return report(PROGRAM, describe(error), error)


def _run(args: Sequence[str] | None) -> int:
    from onnxloom.tools.opt.driver import OnnxloomOpt

    driver: OnnxloomOpt = OnnxloomOpt(list(args) if args is not None else None)
    return driver.execute()


@contextlib.contextmanager
def _warnings_as_lines() -> Generator[None]:
    """Warnings of passes are one line on stderr each, and each is shown."""

    def show(message: Warning | str, *_args: Any, **_kwargs: Any) -> None:
        complain(f"{PROGRAM}: warning: {one_line(message)}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


if __name__ == "__main__":
    sys.exit(main())
