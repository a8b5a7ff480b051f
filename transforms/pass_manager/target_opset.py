"""How is a pipeline kept from using ops that the opset of the result does not have?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from xdsl.passes import ModulePass

from onnxloom.transforms.pass_manager.fixed_point import FixedPointPass
from onnxloom.transforms.pass_manager.pass_text import passes_text
from onnxloom.transforms.rewriting.rewrite_pass import RewritePatternsPass


def with_opset(passes: Iterable[ModulePass], opset: int) -> list[ModulePass]:
    """The passes, where those that rewrite by patterns and say no opset keep to this one; in groups too."""
    return [_with_opset(step, opset) for step in passes]


def _with_opset(step: ModulePass, opset: int) -> ModulePass:
    if isinstance(step, RewritePatternsPass) and step.opset is None:
        return replace(step, opset=opset)
    if isinstance(step, FixedPointPass):
        return FixedPointPass(passes_text(with_opset(step.passes, opset)), step.max_sweeps)
    return step
