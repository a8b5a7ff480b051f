"""How does a process run with a guard taken away? The code of the function around it is exchanged.

So is that of the functions it has made: closures and methods of local classes.
"""

from __future__ import annotations

import ast
import gc
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final, TypeAlias

from onnxloom.tools.testing.mutation.guards import Guard, find_guards, without

_INSIDE: Final = ".<locals>"

Place: TypeAlias = tuple[str, int, tuple[str, ...]]
"""Where code stands in its file: qualified name and line; and the names that it reads from around it."""


class NotLoaded(Exception):
    """No function of this process comes from the place of the guard."""


def take_away(guard: Guard, root: Path) -> None:
    """From here on this process runs without the guard. Raises NotLoaded."""
    path = root / guard.path
    source = path.read_text(encoding="utf-8")
    number = [found.key for found in find_guards(source, guard.path)].index(guard.key)
    fresh = codes_of(compile_without(source, number, path), {guard.function})
    functions = list(functions_of(path, fresh))
    if not functions:
        raise NotLoaded(f"{guard}: {guard.function} is not loaded")
    for function, code in functions:
        function.__code__ = code


def compile_without(source: str, number: int, path: Path) -> CodeType:
    """The code of the module without the guard."""
    tree: ast.Module = without(source, number)
    return compile(tree, str(path), "exec", dont_inherit=True)


def codes_of(module: CodeType, names: set[str]) -> Mapping[Place, CodeType]:
    """The code of functions of a module, and of those made inside of them, by their place."""
    found = {_place(code): code for code in _codes(module) if code.co_qualname.split(_INSIDE)[0] in names}
    missing = names - {code.co_qualname for code in found.values()}
    if missing:
        raise NotLoaded(f"the module has no function {', '.join(sorted(missing))}")
    return found


def functions_of(path: Path, fresh: Mapping[Place, CodeType]) -> Iterator[tuple[FunctionType, CodeType]]:
    """Every function made from one of these places, whoever holds it, and its new code."""
    own = os.path.realpath(path)
    for value in gc.get_objects():
        if type(value) is not FunctionType:  # isinstance would ask weak proxies of what is gone
            continue
        code = fresh.get(_place(value.__code__))
        if code is not None and os.path.realpath(value.__code__.co_filename) == own:
            yield value, code


def _place(code: CodeType) -> Place:
    return code.co_qualname, code.co_firstlineno, code.co_freevars


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
