"""How does a process run with a guard taken away? The code of the function around it is exchanged."""

from __future__ import annotations

import ast
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType

from onnxloom.tools.testing.mutation.guards import Guard, find_guards, without


class NotLoaded(Exception):
    """No function of this process comes from the place of the guard."""


def take_away(guard: Guard, root: Path) -> None:
    """From here on this process runs without the guard. Raises NotLoaded."""
    path = root / guard.path
    source = path.read_text(encoding="utf-8")
    number = [found.key for found in find_guards(source, guard.path)].index(guard.key)
    changed = _code_of(compile_without(source, number, path), guard.function)
    functions = list(_functions(os.path.realpath(path), changed))
    if not functions:
        raise NotLoaded(f"{guard}: {guard.function} is not loaded")
    for function in functions:
        function.__code__ = changed


def compile_without(source: str, number: int, path: Path) -> CodeType:
    """The code of the module without the guard."""
    tree: ast.Module = without(source, number)
    return compile(tree, str(path), "exec", dont_inherit=True)


def _code_of(module: CodeType, qualified: str) -> CodeType:
    for code in codes(module):
        if code.co_qualname == qualified:
            return code
    raise NotLoaded(f"the module has no function {qualified}")


def codes(code: CodeType) -> Iterator[CodeType]:
    """What a code object holds, functions in functions too."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes(constant)


def _functions(path: str, code: CodeType) -> Iterator[FunctionType]:
    """Every function made from this place, however it is decorated or who holds it."""
    for value in gc.get_objects():
        if not isinstance(value, FunctionType):
            continue
        own = value.__code__
        same = own.co_qualname == code.co_qualname and own.co_firstlineno == code.co_firstlineno
        if same and os.path.realpath(own.co_filename) == path:
            yield value
