"""Kernels for tests: write one in a few lines, call a compiled one on numpy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, builtin, math, memref, scf
from xdsl.parser import Parser

from onnxloom.dialects.loom import LOOM
from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.lowering.plan.record import ALL_TASKS, KERNEL_TYPE


def parse_kernels(text: str) -> list[KernelOp]:
    """The kernels of a module in text form, verified."""
    context = Context()
    for dialect in (builtin.Builtin, arith.Arith, math.Math, scf.Scf, memref.MemRef, LOOM):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return [op for op in module.ops if isinstance(op, KernelOp)]


def elementwise_text(name: str, inputs: Sequence[str], outputs: Sequence[tuple[str, str]]) -> str:
    """A kernel that maps scalar code over buffers.

    It reads %a, %b, ... of the types `inputs`. Each output is a type and the ops that make `{r}`, which
    stands for a name of its own.
    """
    letters = "abcdefgh"[: len(inputs)]
    arguments = [f"%{v}s: memref<?x{t}>" for v, t in zip(letters, inputs, strict=True)]
    arguments += [f"%r{k}s: memref<?x{kind}>" for k, (kind, _) in enumerate(outputs)]
    loads = [f"%{v} = memref.load %{v}s[%i] : memref<?x{t}>" for v, t in zip(letters, inputs, strict=True)]
    access = ", ".join(['"read"'] * len(inputs) + ['"write"'] * len(outputs))
    stores = [
        f"{body.replace('{r}', f'%r{k}')} memref.store %r{k}, %r{k}s[%i] : memref<?x{kind}>"
        for k, (kind, body) in enumerate(outputs)
    ]
    return f"""
    "loom.kernel"() <{{sym_name = "{name}", access = [{access}]}}> ({{
    ^bb0({", ".join(arguments)}, %n: index):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {{
        {" ".join(loads)}
        {" ".join(stores)}
      }} {{loom.parallel}}
      "loom.end"() : () -> ()
    }}) : () -> ()
    """


def elementwise_kernel(name: str, inputs: Sequence[str], output: str, body: str) -> KernelOp:
    """A kernel with one output, whose scalar `body` makes %r."""
    (kernel,) = parse_kernels(elementwise_text(name, inputs, [(output, body.replace("%r", "{r}"))]))
    return kernel


def call(address: int, *args: np.ndarray[Any, Any] | int) -> None:
    """Calls a compiled kernel for all its tasks; arrays are passed by the address of their data."""
    call_tasks(address, args, 0, ALL_TASKS)


def call_tasks(
    address: int, args: Sequence[np.ndarray[Any, Any] | int], begin: int, end: int, worker: int = 0
) -> None:
    """Calls a compiled kernel for some of its tasks."""
    words = [arg if isinstance(arg, int) else arg.ctypes.data for arg in args]
    table = np.array(words, np.int64)
    KERNEL_TYPE(address)(table.ctypes.data, begin, end, worker)
