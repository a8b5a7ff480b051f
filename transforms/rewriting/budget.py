"""How many more rewrites may be done? Asked before each one, by every pass.

With a limit of n the first n rewrites are those of a run without a limit: nothing else may depend on
the answer. Finding the first rewrite that breaks a model is a search for the smallest such n.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from xdsl.ir import Operation

from onnxloom.transforms.describe import describe


@dataclass
class RewriteLog:
    """The rewrites that were granted while a limit was in force."""

    limit: int | None
    """None: all are granted and written down."""

    taken: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """(pass, what), in order."""

    refused: bool = False
    """Whether anybody was turned away."""

    def grant(self, pass_name: str, what: str) -> bool:
        if self.limit is not None and len(self.taken) >= self.limit:
            self.refused = True
            return False
        self.taken.append((pass_name, what))
        return True


_current: ContextVar[RewriteLog | None] = ContextVar("onnxloom_rewrite_log", default=None)


def may_rewrite(pass_name: str, what: str | Callable[[], str], op: Operation | None = None) -> bool:
    """Whether to do one more rewrite; when not, this one and all later ones are left alone.

    Args:
        pass_name: the pass that asks.
        what: the rewrite, such as the name of a pattern or a kind.
        op: where; its description is added to `what`.
    """
    log = _current.get()
    if log is None:
        return True
    text = what if isinstance(what, str) else what()
    if op is not None:
        text = f"{text} at {describe(op)}"
    return log.grant(pass_name, text)


@contextmanager
def limit_rewrites(limit: int | None) -> Generator[RewriteLog]:
    """Within this at most `limit` rewrites are done; the log says which."""
    if limit is not None and limit < 0:
        raise ValueError(f"a limit of {limit} rewrites; expected 0 or more, or None")
    log = RewriteLog(limit)
    token = _current.set(log)
    try:
        yield log
    finally:
        _current.reset(token)
