"""Which passes over onnx IR are there, and where does each one live?

A pass is imported when it is used. `onnxloom.universe` adds those of the other rooms.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

TRANSFORM_PASSES: Final = {
    "shape-inference": "onnxloom.transforms.shape_inference:ShapeInferencePass",
    "print-dims": "onnxloom.transforms.print_dims:PrintDimsPass",
    "fixed-point": "onnxloom.transforms.pass_manager.fixed_point:FixedPointPass",
    "adjust-dimensions": "onnxloom.transforms.folding.adjust_dimensions:AdjustDimensionsPass",
    "fold-dimensions": "onnxloom.transforms.folding.fold_dimensions:FoldDimensionsPass",
    "replace-empty": "onnxloom.transforms.folding.replace_empty:ReplaceEmptyPass",
    "fold-constants": "onnxloom.transforms.folding.fold_constants:FoldConstantsPass",
    "decide-by-rank": "onnxloom.transforms.control_flow.decide_by_rank:DecideByRankPass",
    "inline-if": "onnxloom.transforms.control_flow.inline_if:InlineIfPass",
    "unroll-loops": "onnxloom.transforms.control_flow.unroll_loops:UnrollLoopsPass",
    "forward-loop-invariants": (
        "onnxloom.transforms.control_flow.forward_loop_invariants:ForwardLoopInvariantsPass"
    ),
    "hoist-loop-invariants": "onnxloom.transforms.control_flow.hoist_loop_invariants:HoistLoopInvariantsPass",
    "rewrite-patterns": "onnxloom.transforms.rewriting.rewrite_pass:RewritePatternsPass",
    "cleanup": "onnxloom.transforms.rewriting.cleanup.cleanup_pass:CleanupPass",
    "channels-last": "onnxloom.transforms.layout.channels_last:ChannelsLastPass",
    "reorder-for-memory": "onnxloom.transforms.ordering.reorder_for_memory:ReorderForMemoryPass",
    "private-dequantize": "onnxloom.transforms.private_dequantize:PrivateDequantizePass",
    "fuse-ops": "onnxloom.transforms.fusion.create:FuseOpsPass",
    "unfuse-ops": "onnxloom.transforms.fusion.unfuse:UnfuseOpsPass",
}
"""Name -> module:class."""


def pass_class(name: str) -> type[ModulePass]:
    """The class of a pass by its name, of plug-ins too. Raises ValueError with the nearest names."""
    path = TRANSFORM_PASSES.get(name)
    if path is None:
        plugged_in = _plugin_passes()
        if name in plugged_in:
            return plugged_in[name]
        raise ValueError(f"unknown pass '{name}'{suggestion(name, pass_names())}")
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def pass_names() -> list[str]:
    """The names of all passes over onnx IR, those of plug-ins last."""
    return [*TRANSFORM_PASSES, *_plugin_passes()]


def _plugin_passes() -> Mapping[str, type[ModulePass]]:
    from onnxloom.transforms.plugin_passes import plugin_passes

    return plugin_passes()


def suggestion(name: str, known: Iterable[str]) -> str:
    """` (did you mean ...?)`, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=3)
    return f" (did you mean {' or '.join(near)}?)" if near else ""
