"""Python forms of the structured ops: scf.for, scf.if, scf.while, memref accesses, loom.microkernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import memref, scf
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects.loom.kernel import MicrokernelOp
from onnxloom.dialects.loom.tasks import WorkerOp
from onnxloom.errors import PassError
from onnxloom.lowering.emit_python.types import narrow_width, numpy_name
from onnxloom.lowering.emit_python.writer import Handler, Writer, bare, convert


def _assign(w: Writer, names: Sequence[str], values: Sequence[str]) -> None:
    """All assignments at once: a value may read a variable another one changes."""
    pairs = [(n, bare(v)) for n, v in zip(names, values, strict=True) if n != v]
    if pairs:
        w.line(f"{', '.join(n for n, _ in pairs)} = {', '.join(v for _, v in pairs)}")


def _for(w: Writer, op: Operation) -> None:
    op = cast(scf.ForOp, op)
    lower, upper, step = (bare(t) for t in w.get((op.lb, op.ub, op.step)))
    initial = w.get(op.iter_args)
    index, *carried = op.body.block.args
    names = [w.name(argument, "carry") for argument in carried]
    _assign(w, names, initial)
    bounds = [upper] if lower == "0" and step == "1" else [lower, upper] + ([] if step == "1" else [step])
    w.line(f"for {w.name(index, 'i')} in range({', '.join(bounds)}):")
    with w.indented():
        start = len(w.lines)
        _assign(w, names, w.get(w.block(op.body.block)))
        if len(w.lines) == start:
            w.line("pass")
    for result, name in zip(op.results, names, strict=True):
        w[result] = name


def _if(w: Writer, op: Operation) -> None:
    op = cast(scf.IfOp, op)
    condition = bare(w[op.cond])
    names = [w.name(result, "chosen") for result in op.results]
    w.line(f"if {condition}:")
    with w.indented():
        start = len(w.lines)
        _assign(w, names, w.get(w.block(op.true_region.block)))
        if len(w.lines) == start:
            w.line("pass")
    if not op.false_region.blocks:
        return
    start = len(w.lines)
    w.line("else:")
    with w.indented():
        _assign(w, names, w.get(w.block(op.false_region.block)))
    if len(w.lines) == start + 1:
        w.lines.pop()


def _while(w: Writer, op: Operation) -> None:
    op = cast(scf.WhileOp, op)
    before, after = op.before_region.block, op.after_region.block
    initial = w.get(op.arguments)
    names = [w.name(argument, "carry") for argument in before.args]
    passed = [w.name(argument, "carry") for argument in after.args]
    _assign(w, names, initial)
    w.line("while True:")
    with w.indented():
        condition, *values = w.get(w.block(before))
        _assign(w, passed, values)
        w.line(f"if not {condition}:")
        with w.indented():
            w.line("break")
        _assign(w, names, w.get(w.block(after)))
    for result, name in zip(op.results, passed, strict=True):
        w[result] = name


def _load(w: Writer, op: Operation) -> None:
    op = cast(memref.LoadOp, op)
    # A variable, not an expression: a store may come before its use.
    text = f"{w[op.memref]}[{bare(w[_index(tuple(op.indices))])}]"
    w.variable(op.res, text if narrow_width(op.res.type) is None else convert(op.res.type, text))


def _store(w: Writer, op: Operation) -> None:
    op = cast(memref.StoreOp, op)
    width, value = narrow_width(op.value.type), bare(w[op.value])
    if width is not None:
        value = f"({value}) & {(1 << width) - 1:#x}"
    w.line(f"{w[op.memref]}[{bare(w[_index(tuple(op.indices))])}] = {value}")


def _index(indices: tuple[SSAValue, ...]) -> SSAValue:
    if len(indices) != 1:
        raise PassError(f"emit-python: a kernel buffer has one index, not {len(indices)}")
    return indices[0]


def _alloca(w: Writer, op: Operation) -> None:
    op = cast(memref.AllocaOp, op)
    kind = op.memref.type
    (size,) = kind.get_shape()
    w.line(f"{w.name(op.memref, 'scratch')} = np.empty({size}, {numpy_name(kind.element_type)})")


def _worker(w: Writer, op: Operation) -> None:
    w[op.results[0]] = "0"  # one thread runs all tasks


def _microkernel(w: Writer, op: Operation) -> None:
    op = cast(MicrokernelOp, op)
    block = op.reference.block
    w.line(f"# What the tuned form of {op.kind.data} computes:")
    for argument, operand in zip(block.args, op.args, strict=True):
        w[argument] = w[operand]
    w.block(block)


HANDLERS: dict[type[Operation], Handler] = {
    scf.ForOp: _for,
    scf.IfOp: _if,
    scf.WhileOp: _while,
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.AllocaOp: _alloca,
    MicrokernelOp: _microkernel,
    WorkerOp: _worker,
}
