"""Which ops of a module did a rewrite replace? Told from the module before it and the one after.

The two share no objects. A value is the same in both when the same ops compute it from the inputs (forward
keys). From the outputs backward, ops that are the same but for what they read are followed on both sides, up
to where they differ: there the values meet that the rewrite put in the place of one another.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.dialects.onnx.weights import WeightsAttr
from onnxloom.tools.bisecting.cut import BROUGHT_ALONG, is_brought_along, reads
from onnxloom.transforms.describe import describe
from onnxloom.transforms.rewriting.attribute_key import attribute_key

Keys = Mapping[SSAValue, Hashable]


def replaced_values(before: ModuleOp, after: ModuleOp) -> tuple[list[SSAValue], list[Operation]]:
    """The values of `before` that others took the place of, and the ops that were replaced, in order.

    Where the value that an op read is there still, or was no op's result, the op itself was replaced.
    """
    old, new = (entry_function(module).body.block for module in (before, after))
    old_keys, new_keys = _keys(old), _keys(new)
    shared = set(new_keys.values())
    assert old.last_op is not None and new.last_op is not None
    waiting: list[tuple[SSAValue, SSAValue, Operation | None]] = [
        (was, is_, None) for was, is_ in zip(old.last_op.operands, new.last_op.operands, strict=False)
    ]
    known: set[tuple[SSAValue, Operation | None]] = set()
    replaced: dict[SSAValue, None] = {}
    while waiting:
        was, is_, reader = waiting.pop()
        if (was, reader) in known or old_keys[was] == new_keys[is_]:
            continue
        known.add((was, reader))
        if isinstance(was, OpResult) and isinstance(is_, OpResult) and _own_key(was.op) == _own_key(is_.op):
            pairs = zip(reads(was.op), reads(is_.op), strict=True)
            waiting.extend((one, other, was.op) for one, other in pairs)
        elif reader is not None and (not _is_computed(was) or old_keys[was] in shared):
            replaced.update(dict.fromkeys(reader.results))
        else:
            replaced[was] = None
    return list(replaced), _made_of(replaced, old, old_keys, shared)


def _is_computed(value: SSAValue) -> bool:
    return isinstance(value, OpResult) and not is_brought_along(value)


def replaced_titles(before: ModuleOp, after: ModuleOp) -> list[str]:
    """The ops that are not in `after` any more, with their numbers among the ops of `before`."""
    _, ops = replaced_values(before, after)
    numbers = {op: number for number, op in enumerate(entry_function(before).body.block.ops)}
    return [f"{describe(op)} (op {numbers[op]})" for op in ops if not isinstance(op, BROUGHT_ALONG)]


def _made_of(
    values: Iterable[SSAValue], block: Block, keys: Keys, shared: Container[Hashable]
) -> list[Operation]:
    """The ops, in order, that make these values, back to what is on both sides."""
    waiting = [value.op for value in values if isinstance(value, OpResult)]
    found: set[Operation] = set()
    while waiting:
        op = waiting.pop()
        if op in found:
            continue
        found.add(op)
        made = [value for value in reads(op) if isinstance(value, OpResult)]
        waiting.extend(value.op for value in made if keys[value] not in shared)
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
    return (op.name, tuple((name, _attribute_key(value)) for name, value in sorted(attributes.items())))


def _attribute_key(attribute: Attribute) -> Hashable:
    """Equal for equal bits; weights that a pass has made are another array in each run."""
    if isinstance(attribute, WeightsAttr) and attribute.place is None:
        return (attribute.type, attribute.digest())
    return attribute_key(attribute)
