"""Pass `rewrite-patterns`: applies the patterns of the registry, all default ones or those asked for.

What it did and declined goes to the report of `use_report`, what it changed to the recorder in use.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from onnxloom.transforms.folding.evaluator import current_evaluator
from onnxloom.transforms.pass_manager.pass_text import listed
from onnxloom.transforms.rewriting.driver import optimize
from onnxloom.transforms.rewriting.options import RewriteOptions
from onnxloom.transforms.rewriting.pattern import Numerics, Stage
from onnxloom.transforms.rewriting.recording import current_recorder
from onnxloom.transforms.rewriting.registry import current_patterns
from onnxloom.transforms.rewriting.report import current_report

_WordT = TypeVar("_WordT", bound=Enum)


@dataclass(frozen=True)
class RewritePatternsPass(ModulePass):
    """Rewrites by patterns: those that are named, or a stage's that change no more than `numerics` allows."""

    name = "rewrite-patterns"

    patterns: tuple[str, ...] | None = None
    """Only these, by name or glob, one string for several with commas; all default ones when left out."""

    skip: tuple[str, ...] | None = None
    """Not these."""

    stage: str = "after_shape_inference"
    """Only patterns of this stage; `all` for those of every stage."""

    numerics: str = "exact"
    """The most a pattern may change: `exact`, `tolerance` or `lowers`."""

    max_iterations: int | None = None
    stop_after: int | None = None
    """At most so many rewrites."""

    opset: int | None = None
    """Version of the default domain that results may use; the newest when left out."""

    fold_added: bool = True
    """Whether ops that a rewrite introduces are computed at once when they read constants only."""

    def __post_init__(self) -> None:
        self._options()
        self._word(Numerics, "numerics", self.numerics)
        if self.stage != "all":
            self._word(Stage, "stage", self.stage)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        stage = None if self.stage == "all" else self._word(Stage, "stage", self.stage)
        chosen = current_patterns().select(
            listed(self.patterns),
            listed(self.skip) or (),
            stage=stage,
            numerics=self._word(Numerics, "numerics", self.numerics),
        )
        if not chosen:
            return  # few stages have patterns of their own, and looking at the dims of a module takes time
        optimize(op, chosen, self._options(), current_report(), current_recorder())

    def _options(self) -> RewriteOptions:
        try:
            return RewriteOptions(
                max_iterations=self.max_iterations,
                stop_after=self.stop_after,
                opset=self.opset,
                fold=current_evaluator() if self.fold_added else None,
            )
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None

    def _word(self, kind: type[_WordT], option: str, word: str) -> _WordT:
        try:
            return kind(word)
        except ValueError:
            choices = ", ".join([str(member.value) for member in kind] + ["all"] * (kind is Stage))
            raise ValueError(f"{self.name}: {option} is {word!r}; expected one of {choices}") from None
