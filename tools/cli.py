"""The command line for people who run models: `onnxloom COMMAND model.onnx`.

Results go to stdout, everything else to stderr. Exit codes: 0 ok, 1 the input is at fault, 2 the command
line is at fault, 3 onnxloom is at fault.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from onnxloom.tools.failures import EXIT_OK, CommandLineError
from onnxloom.tools.program import run_program

PROGRAM = "onnxloom"


def main(args: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    return run_program(PROGRAM, lambda: _run(args))


def commands() -> list[str]:
    """Names of the commands: the files of `commands/`."""
    folder = Path(__file__).parent / "commands"
    return sorted(path.stem.rstrip("_") for path in folder.glob("*.py") if not path.stem.startswith("_"))


class _Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        raise CommandLineError(f"{message} (see {self.prog} --help)")


def _run(args: Sequence[str] | None) -> int:
    parser = _Parser(prog=PROGRAM, description="Compiles ONNX models to loop kernels and runs them.")
    parser.add_argument("-v", "--version", action="store_true", help="print versions, and stop")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for name in commands():
        module = _module(name)
        command_parser = subparsers.add_parser(name, help=module.HELP, description=module.__doc__)
        command_parser.formatter_class = argparse.RawDescriptionHelpFormatter
        module.add_arguments(command_parser)
    parsed, unknown = parser.parse_known_args(args)
    if unknown:
        where = PROGRAM if parsed.command is None else f"{PROGRAM} {parsed.command}"
        raise CommandLineError(f"unrecognized arguments: {' '.join(unknown)} (see {where} --help)")
    if parsed.version:
        from onnxloom.tools.opt.listing import versions

        print(versions())
        return EXIT_OK
    if parsed.command is None:
        raise CommandLineError(f"which command? one of {', '.join(commands())} (see {PROGRAM} --help)")
    command = _module(parsed.command)
    if not getattr(parsed, "load_plugin", None):
        return command.run(parsed)
    from onnxloom.transforms.plugins import use_plugins

    with use_plugins(parsed.load_plugin):
        return command.run(parsed)


def _module(command: str) -> Any:
    """`import` is a Python keyword, so its file is `import_.py`."""
    file = command + "_" if command == "import" else command
    return import_module(f"onnxloom.tools.commands.{file}")


if __name__ == "__main__":
    sys.exit(main())
