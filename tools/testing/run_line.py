"""How is a simple `RUN:` line of a `.mlir` test executed without starting a process?

A line is simple when it is a pipeline of `onnxloom-opt` and `filecheck` commands, each with an optional
`not` in front, and behind it `2>&1`, `> file`, `2> file`, `2>/dev/null` or, for stderr alone,
`2>&1 >/dev/null`. Anything else makes `parse` return None, and lit's own runner takes the whole file. Both
ways give the same verdict; this one takes milliseconds where a process takes most of a second.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_DIRECTIVE = re.compile(
    r"^\s*(?://|#|;)\s*(RUN|XFAIL|REQUIRES|UNSUPPORTED|ALLOW_RETRIES|DEFINE|REDEFINE):(.*)$"
)
_SUBSTITUTION = re.compile(r"%%|%[a-zA-Z_{(]\w*")
_REDIRECTIONS = ("2>&1", "2>/dev/null", ">/dev/null", ">", "2>")
_SHELL_SYNTAX = re.compile(r"[;&`$()<*?\[\]{}~!]")


@dataclass(frozen=True)
class Command:
    """One command of a pipeline, with its redirections."""

    program: str
    arguments: tuple[str, ...]
    negated: bool = False
    stdout_file: str | None = None
    stderr_file: str | None = None
    merge_stderr: bool = False
    pipe_stderr: bool = False
    """Stderr goes where stdout would: `2>&1 >/dev/null`, in this order."""


@dataclass(frozen=True)
class Outcome:
    """What a pipeline did: `ok` decides the test, `log` explains it."""

    ok: bool
    log: str


def run_lines(text: str) -> list[str] | None:
    """The joined `RUN:` lines of a test file; None when it uses a directive only lit understands."""
    lines: list[str] = []
    continued = False
    for line in text.splitlines():
        match = _DIRECTIVE.match(line)
        if match is None:
            continue
        if match[1] != "RUN":
            return None
        part = match[2].strip()
        if continued:
            lines[-1] += " " + part.removesuffix("\\").strip()
        else:
            lines.append(part.removesuffix("\\").strip())
        continued = part.endswith("\\")
    return lines


def parse(line: str, path: Path, temporary: Path) -> list[Command] | None:
    """The pipeline of one `RUN:` line, or None when it is not simple."""
    substitutions = {"%%": "%", "%s": str(path), "%S": str(path.parent), "%t": str(temporary)}
    if any(found not in substitutions for found in _SUBSTITUTION.findall(line)):
        return None
    try:
        pieces = [list(_words(piece)) for piece in _split_pipes(line)]
    except ValueError:
        return None
    commands: list[Command] = []
    for words in pieces:
        command = _command([_SUBSTITUTION.sub(lambda m: substitutions[m[0]], word) for word in words])
        if command is None:
            return None
        commands.append(command)
    return commands


def run(commands: Sequence[Command]) -> Outcome:
    """Run a pipeline; every command must succeed (fail, after `not`), as under `set -o pipefail`."""
    data, log, ok = b"", "", True
    for command in commands:
        code, out, err = run_command(command, data)
        failed = (code == 0) if command.negated else (code != 0)
        if failed:
            ok = False
            wanted = "expected it to fail" if command.negated else "expected 0"
            log += f"$ {command.program} {shlex.join(command.arguments)}\nexit code {code} ({wanted})\n"
        if err.strip() and (failed or not ok):
            log += err.decode(errors="replace")
        data = out
    return Outcome(ok, log)


def _split_pipes(line: str) -> Iterator[str]:
    lexer = shlex.shlex(line, posix=False, punctuation_chars="|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    current: list[str] = []
    for token in lexer:
        if token == "|":
            yield " ".join(current)
            current = []
        elif set(token) == {"|"}:
            raise ValueError("only single pipes are simple")
        else:
            current.append(token)
    yield " ".join(current)


def _words(piece: str) -> Iterator[str]:
    """Words of one command; `ValueError` when an unquoted part needs a shell."""
    for token in shlex.split(piece, posix=False):
        bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", token)
        if token not in _REDIRECTIONS and (_SHELL_SYNTAX.search(bare) or ">" in bare):
            raise ValueError(f"{token} needs a shell")
        if '"' in token and ("$" in token or "`" in token or "\\" in token):
            raise ValueError(f"{token} needs a shell")
        yield from shlex.split(token) if token else ()


def _command(words: list[str]) -> Command | None:
    negated = bool(words) and words[0] == "not"
    words = words[1:] if negated else words
    if not words or words[0] not in _PROGRAMS:
        return None
    arguments: list[str] = []
    stdout_file = stderr_file = None
    merge = pipe_stderr = False
    rest = iter(words[1:])
    for word in rest:
        match word:
            case "2>&1":
                merge = True
            case "2>/dev/null":
                stderr_file = os.devnull
            case ">/dev/null" if merge:
                merge, pipe_stderr = False, True
            case ">":
                stdout_file = next(rest, None)
            case "2>":
                stderr_file = next(rest, None)
            case _:
                arguments.append(word)
    if merge and (stdout_file or stderr_file):
        return None  # the order of redirections matters then: a question for a shell
    if pipe_stderr and (merge or stdout_file or stderr_file):
        return None
    return Command(words[0], tuple(arguments), negated, stdout_file, stderr_file, merge, pipe_stderr)


def run_command(command: Command, data: bytes = b"") -> tuple[int, bytes, bytes]:
    """Exit code, stdout and stderr of one command that reads `data`."""
    out = io.BytesIO()
    err = out if command.merge_stderr else io.BytesIO()
    stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
    # One wrapper for both streams keeps the order of lines when stderr is merged.
    stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    stderr = stdout if err is out else io.TextIOWrapper(err, encoding="utf-8", write_through=True)
    saved = sys.stdin
    sys.stdin = stdin
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            code = _PROGRAMS[command.program](command.arguments)
    finally:
        sys.stdin = saved
    stdout.flush()
    stderr.flush()
    output, errors = out.getvalue(), b"" if err is out else err.getvalue()
    if command.stdout_file is not None:
        Path(command.stdout_file).write_bytes(output)
        output = b""
    if command.stderr_file is not None:
        Path(command.stderr_file).write_bytes(errors)
        errors = b""
    return (code, errors, b"") if command.pipe_stderr else (code, output, errors)


def _exit_code(call: Callable[[], object]) -> int:
    try:
        result = call()
    except SystemExit as error:
        result = error.code
    if result is None:
        return 0
    return result if isinstance(result, int) else 1


def _opt(arguments: Sequence[str]) -> int:
    from onnxloom.tools.onnxloom_opt import main

    return _exit_code(lambda: main(arguments))


def _filecheck(arguments: Sequence[str]) -> int:
    from filecheck.main import main

    return _exit_code(lambda: main(["filecheck", *arguments]))


_PROGRAMS: dict[str, Callable[[Sequence[str]], int]] = {"onnxloom-opt": _opt, "filecheck": _filecheck}
