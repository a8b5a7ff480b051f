"""Which ops of a module did a rewrite replace? Told from the module before it and the one after.

The two share no objects. A value is the same in both when the same ops compute it from the inputs (forward
keys). From the outputs backward, ops that are the same but for what they read are followed on both sides, up
to where they differ: there the values meet that the rewrite put in the place of one another.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from onnxloom.conversion.onnx_to_loom.convert import entry_function
from onnxloom.tools.bisecting.cut import reads

Keys = Mapping[SSAValue, Hashable]


def replaced_values(before: ModuleOp, after: ModuleOp) -> tuple[list[SSAValue], list[Operation]]:
    """The values of `before` that others took the place of, and the ops that are not in `after` any more."""
    old, new = (entry_function(module).body.block for module in (before, after))
    old_keys, new_keys = _keys(old), _keys(new)
    assert old.last_op is not None and new.last_op is not None
    waiting = list(zip(old.last_op.operands, new.last_op.operands, strict=False))
    known: set[SSAValue] = set()
    replaced: list[SSAValue] = []
    while waiting:
        was, is_ = waiting.pop()
        if was in known or old_keys[was] == new_keys[is_]:
            continue
        known.add(was)
        if isinstance(was, OpResult) and isinstance(is_, OpResult) and _own_key(was.op) == _own_key(is_.op):
            waiting.extend(zip(reads(was.op), reads(is_.op), strict=True))
        else:
            replaced.append(was)
    return replaced, _made_of(replaced, old, old_keys, set(new_keys.values()))


def _made_of(values: list[SSAValue], block: Block, keys: Keys, shared: set[Hashable]) -> list[Operation]:
    """The ops, in order, that make these values and are not on both sides."""
    waiting = [value.op for value in values if isinstance(value, OpResult)]
    found: set[Operation] = set()
    while waiting:
        op = waiting.pop()
        if op in found or all(keys[result] in shared for result in op.results):
            continue
        found.add(op)
        waiting.extend(value.op for value in reads(op) if isinstance(value, OpResult))
    return [op for op in block.ops if op in found]


def _keys(block: Block) -> dict[SSAValue, Hashable]:
    """Equal for values that the same ops compute from the same inputs."""
    keys: dict[SSAValue, Hashable] = {argument: ("input", argument.index) for argument in block.args}
    for op in block.ops:
        key = hash((_own_key(op), tuple(keys[value] for value in reads(op))))
        keys.update((result, (key, result.index)) for result in op.results)
    return keys


def _own_key(op: Operation) -> int:
    """Equal for ops that are the same but for what they read."""
    captured = {value: index for index, value in enumerate(dict.fromkeys(reads(op)))}
    inner = tuple(_block_key(block, captured) for region in op.regions for block in region.blocks)
    return hash((*_parts(op), len(op.operands), inner))


def _block_key(block: Block, outer: Mapping[SSAValue, Hashable]) -> int:
    names: dict[SSAValue, Hashable] = dict(outer)
    names.update((argument, ("argument", argument.index)) for argument in block.args)
    keys: list[Hashable] = [tuple(argument.type for argument in block.args)]
    for number, op in enumerate(block.ops):
        inner = tuple(_block_key(b, names) for region in op.regions for b in region.blocks)
        keys.append((*_parts(op), tuple(names[value] for value in op.operands), inner))
        names.update((result, (number, result.index)) for result in op.results)
    return hash(tuple(keys))


def _parts(op: Operation) -> tuple[Hashable, ...]:
    """Name and attributes; result types follow from them and from what is read."""
    attributes = {**op.properties, **op.attributes}
    return (op.name, tuple(sorted(attributes.items(), key=lambda item: item[0])))
