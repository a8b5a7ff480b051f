"""Where does a source file decline, and what is it without one of its guards?"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

DECLINING_CALLS: Final = frozenset({"Miss", "no_match", "no_match_at", "decline"})
"""Functions and methods whose call, returned or alone, is a decline."""

DECLINING_ERRORS: Final = frozenset({"Declined", "CannotFold", "CannotEvaluate"})
"""Exceptions that mean: not this one, the rest goes on."""

QUIET_FOLDERS: Final = tuple(
    f"transforms/{name}/" for name in ("patterns", "folding", "control_flow", "ordering", "rewriting/cleanup")
)
"""Where an `if` that only answers nothing (`return None`, `return False`, `continue`) declines as well."""


@dataclass(frozen=True)
class Guard:
    """One place that declines."""

    path: str
    """Of the file, from the root of the repository."""
    line: int
    text: str
    """The condition, as source; with a number where the file has it several times."""
    function: str
    """Qualified name of the outermost function around it."""
    is_quiet: bool = False
    """Whether it answers nothing, without a reason."""

    @property
    def key(self) -> str:
        """What identifies it while lines move."""
        return f"{self.path}: {self.text}"

    @property
    def counts(self) -> bool:
        """Whether it declines: what a quiet one means depends on where it stands."""
        return not self.is_quiet or self.path.startswith(QUIET_FOLDERS)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@dataclass(frozen=True)
class _Place:
    node: ast.AST
    text: str
    function: str
    is_quiet: bool


def find_guards(source: str, path: str) -> list[Guard]:
    """All guards of a file, quiet ones anywhere, in order."""
    seen: Counter[str] = Counter()
    found: list[Guard] = []
    for place in _places(ast.parse(source)):
        seen[place.text] += 1
        count = seen[place.text]
        text = place.text if count == 1 else f"{place.text} #{count}"
        found.append(Guard(path, _line(place.node), text, place.function, place.is_quiet))
    return found


def _line(node: ast.AST) -> int:
    return node.pattern.lineno if isinstance(node, ast.match_case) else cast(ast.expr, node).lineno


def without(source: str, number: int) -> ast.Module:
    """The file with guard `number` (in the order of `find_guards`) taken away; lines stay what they are."""
    tree = ast.parse(source)
    place = list(_places(tree))[number]
    changed = _Without(place.node).visit(tree)
    return ast.fix_missing_locations(cast(ast.Module, changed))


def noting(source: str, path: str, name: str) -> ast.Module:
    """The file with a call of `name` with its key wherever a guard declines."""
    tree = ast.parse(source)
    places = list(_places(tree))
    keys = [guard.key for guard in find_guards(source, path)]
    changed = _Noting({place.node: key for place, key in zip(places, keys, strict=True)}, name).visit(tree)
    return ast.fix_missing_locations(cast(ast.Module, changed))


class _Noting(ast.NodeTransformer):
    def __init__(self, keys: dict[ast.AST, str], name: str):
        self._keys = keys
        self._name = name

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        key = self._keys.get(node)
        if key is None:
            return node
        note = ast.Call(ast.Name(self._name, ast.Load()), [ast.Constant(key)], [])
        match node:
            case ast.IfExp() if _is_decline(node.body):
                node.body = _after(note, node.body)
            case ast.IfExp():
                node.orelse = _after(note, node.orelse)
            case ast.If() | ast.match_case() | ast.ExceptHandler():
                node.body.insert(0, ast.Expr(note))
            case _:
                raise AssertionError(node)
        return node


def _after(note: ast.expr, value: ast.expr) -> ast.expr:
    pair = ast.Tuple([note, value], ast.Load())
    return ast.Subscript(pair, ast.Constant(1), ast.Load())


class _Without(ast.NodeTransformer):
    def __init__(self, target: ast.AST):
        self._target = target

    def visit(self, node: ast.AST) -> ast.AST:
        if node is not self._target:
            return self.generic_visit(node)
        match node:
            case ast.If():
                # The condition is still evaluated: it may bind a name.
                node.test = ast.BoolOp(ast.And(), [node.test, ast.Constant(False)])
            case ast.IfExp():
                return node.orelse if _is_decline(node.body) else node.body
            case ast.match_case():
                node.guard = ast.Constant(False)
            case ast.ExceptHandler():
                node.body = [ast.Raise()]
            case _:
                raise AssertionError(node)
        return node


def _places(tree: ast.Module) -> Iterator[_Place]:
    yield from _walk(tree, (), "")


def _walk(node: ast.AST, names: tuple[str, ...], function: str) -> Iterator[_Place]:
    for child in ast.iter_child_nodes(node):
        inner, within = names, function
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = (*names, child.name)
            if not isinstance(child, ast.ClassDef) and not function:
                within = ".".join(inner)
        text = _guard_text(child) if within else None
        if text is not None:
            yield _Place(child, text, within, is_quiet=False)
        elif within and isinstance(child, ast.If) and _is_quiet(child.body):
            text = f"{ast.unparse(child.test)}: {ast.unparse(child.body[0])}"
            yield _Place(child, text, within, is_quiet=True)
        yield from _walk(child, inner, within)


def _guard_text(node: ast.AST) -> str | None:
    """What a guard tests; None for other code."""
    match node:
        case ast.If(test=test, body=body) if _declines(body):
            return ast.unparse(test)
        case ast.IfExp(test=test, body=body, orelse=orelse) if _is_decline(body) != _is_decline(orelse):
            return ast.unparse(test) if _is_decline(body) else f"not ({ast.unparse(test)})"
        case ast.match_case(pattern=pattern, body=body) if _declines(body) and not _is_wildcard(pattern):
            return f"case {ast.unparse(pattern)}"
        case ast.ExceptHandler(type=type_, body=body) if _declines(body):
            return f"except {'' if type_ is None else ast.unparse(type_)}".rstrip()
        case _:
            return None


def _declines(body: Sequence[ast.stmt]) -> bool:
    """Whether a body declines and does nothing else."""
    *before, last = body
    if isinstance(last, ast.Continue | ast.Return) and before and _statement_declines(before[-1]):
        before.pop()
    elif not _statement_declines(last):
        return False
    return all(isinstance(statement, ast.Assign) for statement in before)


def _is_quiet(body: Sequence[ast.stmt]) -> bool:
    """Whether a body is `return`, `return None`, `return False` or `continue`."""
    match body:
        case [ast.Continue() | ast.Return(value=None)]:
            return True
        case [ast.Return(value=ast.Constant(value=value))]:
            return value is None or value is False
        case _:
            return False


def _statement_declines(statement: ast.stmt) -> bool:
    match statement:
        case ast.Return(value=ast.expr() as value) | ast.Expr(value=value):
            return _is_decline(value)
        case ast.Raise(exc=ast.Call(func=function)):
            return _last_name(function) in DECLINING_ERRORS
        case _:
            return False


def _is_decline(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _last_name(value.func) in DECLINING_CALLS


def _last_name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _is_wildcard(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None
