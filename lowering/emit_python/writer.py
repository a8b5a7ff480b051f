"""The state of one kernel while its IR becomes Python: lines, names, and the text of each value."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Block, Operation, SSAValue

from onnxloom.errors import PassError
from onnxloom.lowering.emit_python.types import int_width, narrow_width, numpy_name
from onnxloom.lowering.small_floats import small_float

Handler = Callable[["Writer", Operation], None]
_LONGEST_INLINE = 60
_RESERVED = {"np", "math", "njit", "intrinsic", "range", "abs", "True", "False"}


@dataclass
class Writer:
    """Writes statements; expressions of one use are written where they are used."""

    handlers: dict[type[Operation], Handler]
    reserved: set[str]
    lines: list[str] = field(default_factory=list[str])
    helpers: dict[str, None] = field(default_factory=dict[str, None])
    """Names of the helper functions used, in order of first use."""
    indent: int = 1
    _texts: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    _names: set[str] = field(default_factory=set[str])

    def line(self, text: str) -> None:
        """Writes one statement."""
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def indented(self) -> Generator[None]:
        """Statements of an inner block."""
        self.indent += 1
        yield
        self.indent -= 1

    def fresh(self, wish: str) -> str:
        """A name no other value has, close to `wish`."""
        base = re.sub(r"\W", "_", wish) or "v"
        if not base.isidentifier():
            base = f"v{base}"
        name, number = base, 1
        while name in self._names or name in self.reserved or name in _RESERVED or keyword.iskeyword(name):
            number += 1
            name = f"{base}_{number}" if base[-1].isdigit() else f"{base}{number}"
        self._names.add(name)
        return name

    def __getitem__(self, value: SSAValue) -> str:
        return self._texts[value]

    def __setitem__(self, value: SSAValue, text: str) -> None:
        """The text of `value`: a name, a literal, or an expression that may stand in any other."""
        self._texts[value] = text

    def get(self, values: Sequence[SSAValue]) -> list[str]:
        """The texts of `values`."""
        return [self._texts[v] for v in values]

    def name(self, value: SSAValue, wish: str) -> str:
        """A variable for `value`, named by its hint, else like `wish`."""
        name = self.fresh(value.name_hint or wish)
        self._texts[value] = name
        return name

    def expression(self, value: SSAValue, text: str, *, atom: bool = False) -> None:
        """A pure expression: used in place if short and used once in its own block, else a variable."""
        if len(text) <= _LONGEST_INLINE and _used_once_in_its_block(value):
            self._texts[value] = text if atom else f"({text})"
            return
        self.variable(value, text)

    def variable(self, value: SSAValue, text: str) -> None:
        """A statement that assigns `text` to a variable for `value`."""
        self.line(f"{self.name(value, 'v')} = {text}")

    def helper(self, name: str, *args: str) -> str:
        """A call of a helper function, which will be emitted too."""
        self.helpers[name] = None
        return f"{name}({', '.join(bare(a) for a in args)})"

    def block(self, block: Block) -> Sequence[SSAValue]:
        """Writes all ops of `block` and returns the operands of its terminator."""
        last = block.last_op
        for op in block.ops:
            if op is last:
                return op.operands
            handler = self.handlers.get(type(op))
            if handler is None:
                raise PassError(f"emit-python: op {op.name} is not allowed in a kernel")
            handler(self, op)
        return ()

    def wide(self, value: SSAValue) -> str:
        """A float operand as f32 or f64: the formats of 16 bits and fewer widened."""
        form = small_float(value.type)
        return self[value] if form is None else self.helper(f"{form.name}_to_f32", self[value])

    def float_result(self, value: SSAValue, text: str, *, atom: bool = False, double: bool = False) -> None:
        """A float result computed as f32 (or f64, `double`), in the type of `value`."""
        form = small_float(value.type)
        if form is None:
            self.expression(value, text, atom=atom)
            return
        if not form.signed:
            raise PassError("emit-python: arith.truncf to f8E8M0FNU has no form; kernels round themselves")
        single = self.helper("round_to_odd", text) if double else text
        self.expression(value, self.helper(f"f32_to_{form.name}", single), atom=True)


def _used_once_in_its_block(value: SSAValue) -> bool:
    uses = list(value.uses)
    owner = value.owner
    return len(uses) == 1 and isinstance(owner, Operation) and uses[0].operation.parent is owner.parent


def bare(text: str) -> str:
    """`text` without the parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and i < len(text) - 1:
            return text
    return text[1:-1]


def convert(attribute: Attribute, text: str) -> str:
    """`text` converted to the numpy type of `attribute`, with the bits of the type alone."""
    width = narrow_width(attribute)
    if width is not None and int_width(attribute) is not None:
        return f"np.int8(np.int8(({bare(text)}) << {8 - width}) >> {8 - width})"
    if width is not None:
        return f"np.uint8(({bare(text)}) & {(1 << width) - 1:#x})"
    return f"{numpy_name(attribute)}({bare(text)})"
