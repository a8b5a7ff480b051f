"""Program-level ops: which kernels run on which tensors, in which order.

A program is in destination-passing style: `tensor.empty` makes a destination of a given size,
`loom.launch` fills it. Sizes are `index` values computed by `arith` ops and the ops of
`plan_time.py`, all of which are evaluated once per shape key and never while kernels run.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import ConstantLike, IsolatedFromAbove, IsTerminator, NoTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.loom.launch_fit import kernels_by_name, launch_fault


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Ends a program with its results."""

    name = "loom.return"
    values = var_operand_def(AnyAttr())
    traits = traits_def(IsTerminator())


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a nested region (`loom.host`, `loom.if`, `loom.loop`, `loom.scan`) with its results."""

    name = "loom.yield"
    values = var_operand_def(AnyAttr())
    traits = traits_def(IsTerminator())


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """The launch program of one function. Block arguments are its inputs, `loom.return` its results.

    `arg_names` and `result_names` are the model's own names, in order. `arg_dims` holds per input the
    names of its symbolic dims ("" where a dim is static or anonymous), so that two inputs that share
    a symbol can be checked against each other.
    """

    name = "loom.program"
    sym_name = prop_def(StringAttr)
    arg_names = prop_def(ArrayAttr[StringAttr])
    result_names = prop_def(ArrayAttr[StringAttr])
    arg_dims = opt_prop_def(ArrayAttr[ArrayAttr[StringAttr]])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

    def __init__(
        self,
        sym_name: str,
        arg_types: Sequence[Attribute],
        arg_names: Sequence[str],
        result_names: Sequence[str],
        arg_dims: Sequence[Sequence[str]] | None = None,
    ):
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(sym_name),
            "arg_names": ArrayAttr([StringAttr(n) for n in arg_names]),
            "result_names": ArrayAttr([StringAttr(n) for n in result_names]),
        }
        if arg_dims is not None:
            properties["arg_dims"] = ArrayAttr(
                [ArrayAttr([StringAttr(d) for d in dims]) for dims in arg_dims]
            )
        super().__init__(properties=properties, regions=[Region(Block(arg_types=arg_types))])

    def verify_(self) -> None:
        where = f"loom.program @{self.sym_name.data}"
        last = self.body.block.last_op
        if not isinstance(last, ReturnOp):
            raise VerifyException(f"{where}: the body must end with loom.return")
        if len(last.values) != len(self.result_names.data):
            raise VerifyException(f"{where}: result names and returned values differ in number")
        if len(self.body.block.args) != len(self.arg_names.data):
            raise VerifyException(f"{where}: argument names and arguments differ in number")
        self.verify_launches()

    def verify_launches(self) -> None:
        """Checks every launch against the kernel it names, wherever in the program it stands.

        Raises:
            VerifyException: a kernel is missing, or gets other operands than it takes.
        """
        where = f"loom.program @{self.sym_name.data}"
        module = self.parent_op()
        kernels = kernels_by_name(module.regions[0].block.ops) if module is not None else {}
        for op in self.walk():
            if isinstance(op, LaunchOp):
                name = op.kernel.root_reference.data
                if name not in kernels:
                    raise VerifyException(
                        f"{where}: loom.launch names kernel @{name}, which the module lacks"
                    )
                fault = launch_fault(f"kernel {name}", kernels[name], (op.ins, op.outs, op.sizes))
                if fault is not None:
                    raise VerifyException(f"{where}: {fault}")


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A constant tensor; `value` is any attribute the lowering can turn into a numpy array."""

    name = "loom.constant"
    value = prop_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure(), ConstantLike())

    def __init__(self, value: Attribute, result_type: Attribute):
        super().__init__(properties={"value": value}, result_types=[result_type])


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """Runs a kernel: its buffer arguments are `ins` then `outs`, its index arguments are `sizes`.

    Each result is the filled destination of the same position in `outs`. `inplace[k]` lists the
    positions in `ins` whose memory output k may take over when that input is dead afterwards and has
    the same number of bytes.
    """

    name = "loom.launch"
    kernel = prop_def(SymbolRefAttr)
    inplace = opt_prop_def(ArrayAttr[ArrayAttr[IntegerAttr]])
    ins = var_operand_def(AnyAttr())
    outs = var_operand_def(AnyAttr())
    sizes = var_operand_def(IndexType())
    filled = var_result_def(AnyAttr())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        kernel: str,
        ins: Sequence[SSAValue],
        outs: Sequence[SSAValue],
        sizes: Sequence[SSAValue],
        inplace: Sequence[Sequence[int]] | None = None,
    ):
        properties: dict[str, Attribute] = {"kernel": SymbolRefAttr(kernel)}
        if inplace is not None:
            properties["inplace"] = ArrayAttr(
                [ArrayAttr([IntegerAttr(i, 64) for i in row]) for row in inplace]
            )
        super().__init__(
            operands=[ins, outs, sizes], properties=properties, result_types=[[o.type for o in outs]]
        )

    def verify_(self) -> None:
        if tuple(r.type for r in self.filled) != tuple(o.type for o in self.outs):
            raise VerifyException(f"loom.launch {self.kernel}: results must have the destinations' types")
        rows = self.inplace.data if self.inplace is not None else ()
        if rows and len(rows) != len(self.outs):
            raise VerifyException(f"loom.launch {self.kernel}: inplace must have one entry per output")
        if any(not 0 <= i.value.data < len(self.ins) for row in rows for i in row.data):
            raise VerifyException(f"loom.launch {self.kernel}: inplace names an input that is not there")


@irdl_op_definition
class ViewOp(IRDLOperation):
    """The same memory under another shape: `sizes` are all result dims, `offset` counts elements.

    Source and result are row-major and contiguous.
    """

    name = "loom.view"
    source = operand_def(AnyAttr())
    offset = operand_def(IndexType())
    sizes = var_operand_def(IndexType())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, offset: SSAValue, sizes: Sequence[SSAValue], result_type: Attribute):
        super().__init__(operands=[source, offset, sizes], result_types=[result_type])


@irdl_op_definition
class PackOp(IRDLOperation):
    """A constant tensor in a kernel's own memory layout, made once at plan time.

    `layout` names a function of `packing.py`, `params` its arguments. The source must be known at
    plan time.
    """

    name = "loom.pack"
    layout = prop_def(StringAttr)
    params = prop_def(DictionaryAttr)
    source = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, layout: str, params: dict[str, Attribute], result_type: Attribute):
        super().__init__(
            operands=[source],
            properties={"layout": StringAttr(layout), "params": DictionaryAttr(params)},
            result_types=[result_type],
        )


@irdl_op_definition
class HostOp(IRDLOperation):
    """Ops of a foreign dialect evaluated in Python between compiled stretches.

    The region's block arguments stand for the operands; it ends with `loom.yield`. `reason` says why
    there is no kernel. `shape_only` lists operands of which only the shape is read. An op that is not
    `volatile` (random, stateful) is evaluated once at plan time when all it reads is known there.
    """

    name = "loom.host"
    reason = prop_def(StringAttr)
    shape_only = opt_prop_def(ArrayAttr[IntegerAttr])
    volatile = opt_prop_def(UnitAttr)
    args = var_operand_def(AnyAttr())
    body = region_def("single_block")
    results_ = var_result_def(AnyAttr())
    traits = traits_def(IsolatedFromAbove())


@irdl_op_definition
class IfOp(IRDLOperation):
    """Runs one of two regions; both capture values of the enclosing program and end in `loom.yield`.

    The condition is a tensor of one boolean, or an `index` (0 is false) that is known at plan time.
    """

    name = "loom.if"
    condition = operand_def(AnyAttr())
    then_region = region_def("single_block")
    else_region = region_def("single_block")
    results_ = var_result_def(AnyAttr())


@irdl_op_definition
class LoopOp(IRDLOperation):
    """A counted and conditional loop (the semantics of ONNX Loop).

    Operands: trip count (tensor<i64> or none), initial condition (tensor<i1> or none), carried values.
    Body arguments: iteration number, condition, carried values; it captures values of the enclosing
    program and yields condition, carried values, scan outputs. Results: carried values, then scan
    outputs stacked along a leading axis.
    """

    name = "loom.loop"
    trip_count = operand_def(AnyAttr())
    condition = operand_def(AnyAttr())
    carried = var_operand_def(AnyAttr())
    body = region_def("single_block")
    results_ = var_result_def(AnyAttr())


@irdl_op_definition
class ScanOp(IRDLOperation):
    """A loop over slices of the scanned inputs (the semantics of ONNX Scan).

    Operands: initial states, then scanned inputs. Body arguments and yields: states, then slices.
    `params` holds `num_scan_inputs` and the axes and directions of inputs and outputs.
    """

    name = "loom.scan"
    params = prop_def(DictionaryAttr)
    args = var_operand_def(AnyAttr())
    body = region_def("single_block")
    results_ = var_result_def(AnyAttr())
