"""What may a user or a pass write on an op, for other passes to respect?

Discardable attributes, whatever their value. A model says `onnxloom.keep` and `onnxloom.do_not_fold` in
the metadata of a node.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

PREFIX: Final = "onnxloom."
"""Of all of these."""

KEEP: Final = "onnxloom.keep"
"""The op stays as it is: nothing rewrites, folds or removes it, nor an op that it stands in."""

DO_NOT_FOLD: Final = "onnxloom.do_not_fold"
"""The op is not evaluated before the model runs; anything else may be done to it."""

FOLDED: Final = "onnxloom.folded"
"""On a constant: the pass that put it in the place of an op."""

POTENTIAL: Final = "onnxloom.potential"
"""What an op will give once all of it can be a constant: origin, values, operands that are missing."""

OVERRIDABLE: Final = "onnx_overridable"
"""On a constant that is the default value of an input: the type of the input."""

FROM_METADATA: Final = (KEEP, DO_NOT_FOLD)
"""What a model may say of its nodes."""

_KEPT_NAME: Final = "_DONOTREMOVE_"


NODE_NAME: Final = "onnx_node_name"
"""What the model calls the node that the op was."""


def is_note(name: str) -> bool:
    """Whether a discardable attribute is about the op; those of a foreign op are its own otherwise."""
    return name == NODE_NAME or name.startswith(PREFIX)


def is_kept(op: Operation) -> bool:
    """Whether the op, or one in its regions, must stay: it is annotated, or its name begins with
    `_DONOTREMOVE_`.
    """
    return _is_marked(op) or any(_is_marked(inner) for region in op.regions for inner in region.walk())


def _is_marked(op: Operation) -> bool:
    attributes = op.attributes
    if not attributes:
        return False
    if KEEP in attributes:
        return True
    name = attributes.get(NODE_NAME)
    return isinstance(name, StringAttr) and name.data.startswith(_KEPT_NAME)
