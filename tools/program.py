"""How does a program of ours end? With one of few exit codes, and one line on stderr per warning or error."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Generator

from onnxloom.tools.failures import EXIT_OK, close_broken_pipe, describe, one_line, report
from onnxloom.tools.streams import complain, standard_streams


def run_program(name: str, command: Callable[[], int], *, every_warning: bool = False) -> int:
    """Runs `command` and gives the exit code of the program called `name`.

    Args:
        every_warning: whether equal warnings of one place are shown each time.
    """
    try:
        with standard_streams(), _warnings_as_lines(name, every_warning):
            return command()
    except BrokenPipeError as error:
        return close_broken_pipe() if error.filename is None else report(name, describe(error), error)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else EXIT_OK
    except (Exception, KeyboardInterrupt) as error:
        return report(name, describe(error), error)


@contextlib.contextmanager
def _warnings_as_lines(name: str, every: bool) -> Generator[None]:
    def show(message: Warning | str, *_: object) -> None:
        complain(f"{name}: warning: {one_line(message)}")

    with warnings.catch_warnings():
        if every:
            warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
