"""The opt-style driver: reads `.mlir` text or an ONNX model, runs passes, prints IR or generated code.

stdout carries the result and nothing else; errors are one line on stderr. Exit codes: 0 ok, 1 the
input is at fault, 2 the command line is at fault, 3 onnxloom is at fault.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnxloom.tools.program import run_program

if TYPE_CHECKING:
    from onnxloom.tools.opt.driver import OnnxloomOpt

PROGRAM = "onnxloom-opt"


def main(args: Sequence[str] | None = None) -> int:
    """Run the driver with command-line arguments and return its exit code."""
    return run_program(PROGRAM, lambda: _run(args), every_warning=True)


def _run(args: Sequence[str] | None) -> int:
    from onnxloom.tools.opt.driver import OnnxloomOpt

    driver: OnnxloomOpt = OnnxloomOpt(list(args) if args is not None else None)
    return driver.execute()


if __name__ == "__main__":
    sys.exit(main())
