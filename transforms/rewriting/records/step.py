"""How is one batch of records done to a module?

First everything the records say is read and looked up, which changes nothing. Then ops go out, blocks
change, ops come in from the outside inwards (so that a position means what it will mean), and last values
are connected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue, Use

from onnxloom.errors import PassError
from onnxloom.transforms.rewriting.records.locator import Locator, set_hint
from onnxloom.transforms.rewriting.records.op_text import ReadOp, read_op, read_type
from onnxloom.transforms.rewriting.records.positions import (
    Position,
    block_path,
    format_position,
    op_position,
    parse_value,
)
from onnxloom.transforms.rewriting.records.record import (
    AddedOp,
    BlockForm,
    Layout,
    RearrangedBlock,
    RewriteRecord,
)


@dataclass(frozen=True)
class _Reading:
    """An op whose operands a record gives."""

    op: Operation
    source: ReadOp


class ReplayStep:
    """Runs once. Raises PassError where a record does not fit; the module may then be anything."""

    def __init__(self, module: Operation, records: Sequence[RewriteRecord], context: Context) -> None:
        self._records = records
        self._context = context
        self._module = module
        self._before = Locator(module)
        self._was: dict[str, SSAValue] = {}
        """Values that the records name, found before anything changes."""

        self._gone: dict[Operation, None] = {}
        self._placed: dict[Position, Operation] = {}
        self._moved: set[Operation] = set()
        self._readings: list[_Reading] = []
        self._layouts: dict[Operation, Layout] = {}
        self._rearranged: dict[Block, RearrangedBlock] = {}
        self._uses: list[tuple[tuple[Use, ...], str]] = []
        self._blocks: dict[str, Block] = {}
        """Blocks that layouts name."""

        self._changed: set[Operation] = set()
        self._lost_arguments: list[BlockArgument] = []

    def run(self) -> None:
        for record in self._records:
            self._read(record)
        self._take_out()
        dropped = self._lay_out()
        for block, form in self._rearranged.items():
            self._rearrange(block, form)
        self._put_in()
        self._after = Locator(self._module)
        self._connect()
        self._check_types()
        self._forget(dropped)

    # Reading: nothing changes

    def _read(self, record: RewriteRecord) -> None:
        for at in record.matched:
            op = self._op(at.was, at.name)
            if op in self._gone:
                raise PassError(f"op {at.was} is removed twice")
            self._gone[op] = None
        for moved in record.moved:
            op = self._op(moved.was, moved.name)
            if op in self._moved:
                raise PassError(f"op {moved.was} is moved twice")
            self._moved.add(op)
            self._place(moved.new, op)
        for added in record.added:
            self._read_added(added)
        for changed in record.changed:
            source = self._read_op(changed.text)
            op = self._op(changed.was, source.op.name)
            if op in self._changed or type(op) is not type(source.op):
                raise PassError(f"op {changed.was} is changed twice or is of another kind")
            if len(op.results) != len(source.op.results):
                raise PassError(f"op {changed.was} has {len(op.results)} results; the record has others")
            self._changed.add(op)
            self._readings.append(_Reading(op, source))
        for relaid in record.relaid:
            self._add_layout(self._op(relaid.was, relaid.name), relaid.regions)
        for form in record.rearranged:
            block = self._before.block(block_path(form.was))
            if block in self._rearranged:
                raise PassError(f"the arguments of block {form.was} are given twice")
            self._rearranged[block] = form
        for old, new in record.renames:
            self._uses.append((tuple(self._value_before(old).uses), new))
            self._look_up(new)
        for value, _ in (*record.retyped, *record.named):
            self._value_before(value)

    def _read_added(self, added: AddedOp) -> None:
        source = self._read_op(added.text)
        if added.hints and len(added.hints) != len(source.op.results):
            raise PassError(f"op {added.new} has {len(source.op.results)} results; the record names others")
        for result, hint in zip(source.op.results, added.hints, strict=False):
            set_hint(result, hint)
        self._place(added.new, source.op)
        self._add_layout(source.op, added.regions)
        self._readings.append(_Reading(source.op, source))

    def _read_op(self, text: str) -> ReadOp:
        source = read_op(text, self._context, self._weights)
        for name in source.operands:
            self._look_up(name)
        return source

    def _add_layout(self, op: Operation, regions: Layout) -> None:
        if op in self._layouts:
            raise PassError(f"the blocks of {op.name} are given twice")
        self._layouts[op] = regions
        for form in (form for region in regions for form in region if form.was is not None):
            assert form.was is not None
            if form.was in self._blocks:
                raise PassError(f"block {form.was} is given to two ops")
            self._blocks[form.was] = self._before.block(block_path(form.was))

    def _place(self, position: str, op: Operation) -> None:
        at = op_position(position)
        if not at or at in self._placed:
            raise PassError(f"two ops are put at {position}")
        self._placed[at] = op

    def _op(self, position: str, name: str) -> Operation:
        op = self._before.op(op_position(position))
        if op.name != name:
            raise PassError(f"op {position} is {op.name}; the record expects {name}")
        return op

    def _weights(self, key: str) -> Attribute | None:
        position, _, name = key.partition(" ")
        return self._before.op(op_position(position)).properties.get(name)

    def _look_up(self, name: str) -> None:
        if name.startswith("was_"):
            self._value_before(name)
        else:
            parse_value(name)

    def _value_before(self, name: str) -> SSAValue:
        found = self._was.get(name)
        if found is None:
            when, place, index = parse_value(name)
            if when != "was":
                raise PassError(f"{name} is not a value from before the rewrite")
            found = self._was[name] = self._before.value(place, index)
        return found

    # Ops and blocks

    def _take_out(self) -> None:
        for op in (*self._gone, *self._moved):
            if op.parent is None:
                raise PassError(f"{op.name} is both removed and moved, or is the module itself")
            op.detach()

    def _lay_out(self) -> list[Block]:
        """Gives ops their blocks; the blocks that no op has any more."""
        loose: dict[Block, None] = {}
        for op in self._layouts:
            for region in op.regions:
                for block in list(region.blocks):
                    region.detach_block(block)
                    loose[block] = None
        for block in self._blocks.values():
            if block.parent is not None:
                block.parent.detach_block(block)
                loose[block] = None
        for op, regions in self._layouts.items():
            while op.regions:
                op.detach_region(len(op.regions) - 1)
            for forms in regions:
                region = Region()
                op.add_region(region)
                region.add_block([self._block(form) for form in forms])
        return [block for block in loose if block.parent is None]

    def _block(self, form: BlockForm) -> Block:
        if form.was is not None:
            return self._blocks[form.was]
        if form.hints and len(form.hints) != len(form.arguments):
            raise PassError("a block has other arguments than names for them")
        block = Block(arg_types=[read_type(text, self._context) for text in form.arguments])
        set_hint(block, form.hint)
        for argument, hint in zip(block.args, form.hints, strict=False):
            set_hint(argument, hint)
        return block

    def _rearrange(self, block: Block, form: RearrangedBlock) -> None:
        old = block.args
        kept = [part for part in form.arguments if isinstance(part, int)]
        if len(set(kept)) != len(kept) or any(not 0 <= number < len(old) for number in kept):
            raise PassError(f"block {form.was} has {len(old)} arguments; the record names others")
        if form.hints and len(form.hints) != len(form.arguments):
            raise PassError(f"block {form.was} has other arguments than names for them")
        arguments: list[BlockArgument] = []
        for index, part in enumerate(form.arguments):
            if isinstance(part, int):
                argument = old[part]
                argument.index = index
            else:
                argument = BlockArgument(read_type(part, self._context), block, index)
            arguments.append(argument)
        for argument, hint in zip(arguments, form.hints, strict=False):
            set_hint(argument, hint)
        block._args = tuple(arguments)  # pyright: ignore[reportPrivateUsage] (there is no other way to sort)
        self._lost_arguments += [old[number] for number in range(len(old)) if number not in kept]

    def _put_in(self) -> None:
        """Outer blocks first: the path of an inner one goes through ops that are placed by then."""
        of_block: dict[Position, dict[int, Operation]] = {}
        for position, op in self._placed.items():
            of_block.setdefault(position[:-1], {})[position[-1]] = op
        locator = Locator(self._module)
        for path in sorted(of_block, key=lambda path: (len(path), path)):
            _fill(locator.block(path), of_block[path], path)

    # Values

    def _connect(self) -> None:
        for uses, new in self._uses:
            value = self._value(new)
            for use in uses:
                use.operation.operands[use.index] = value
        for reading in self._readings:
            op, source = reading.op, reading.source.op
            values = [self._value(name) for name in reading.source.operands]
            if op is not source:
                op.properties = dict(source.properties)
                op.attributes = dict(source.attributes)
                for result, other in zip(op.results, source.results, strict=True):
                    _retype(result, other.type)
            op.operands = values
        for record in self._records:
            for name, text in record.retyped:
                _retype(self._was[name], read_type(text, self._context))
            for name, hint in record.named:
                set_hint(self._was[name], hint)

    def _value(self, name: str) -> SSAValue:
        found = self._was.get(name)
        return self._after.value(*parse_value(name)[1:]) if found is None else found

    def _check_types(self) -> None:
        """What the records say of the operands they name must be so."""
        for reading in self._readings:
            triples = zip(reading.op.operands, reading.source.types, reading.source.operands, strict=True)
            for value, stated, name in triples:
                if value.type != stated:
                    raise PassError(
                        f"{reading.op.name} reads {name} of type {value.type}; the record expects {stated}"
                    )

    def _forget(self, dropped: Sequence[Block]) -> None:
        """Lets go of what was taken out. Raises PassError when anything still reads it."""
        for block in dropped:
            block.drop_all_references()
        for op in self._gone:
            op.drop_all_references()
        lost = [argument for block in dropped for argument in block.args]
        ops = [inner for block in dropped for op in block.ops for inner in op.walk()]
        ops += [inner for op in self._gone for inner in op.walk()]
        for value in (*self._lost_arguments, *lost, *(result for op in ops for result in op.results)):
            if value.first_use is not None:
                raise PassError(f"{value.first_use.operation.name} still reads a value that is removed")


def _fill(block: Block, placed: Mapping[int, Operation], path: Position) -> None:
    """Puts ops where they belong among those that stay."""
    stay = list(block.ops)
    count = len(stay) + len(placed)
    if max(placed) >= count:
        at = format_position((*path, max(placed)))
        raise PassError(f"an op is put at {at}, but the block has {count} ops then")
    following: Operation | None = None
    for index in reversed(range(count)):
        op = placed.get(index)
        if op is None:
            following = stay.pop()
        elif following is None:
            block.add_op(op)
            following = op
        else:
            block.insert_op_before(op, following)
            following = op


def _retype(value: SSAValue, type_: Attribute) -> None:
    value._type = type_  # pyright: ignore[reportPrivateUsage] (records name the value: it must stay itself)
