"""How are recorded rewrites done again on a fresh import of the same model?

Without matching, folding or inference: ops are taken out, put in and connected as the records say. The
result prints the same, byte for byte; what does not fit the module is refused and leaves it as it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult

from onnxloom.dialects.onnx.text import make_context
from onnxloom.dialects.verify_module import verify_module
from onnxloom.errors import ModelError, PassError
from onnxloom.transforms.rewriting.records.digest import module_digest
from onnxloom.transforms.rewriting.records.record import RewriteLog, RewriteRecord
from onnxloom.transforms.rewriting.records.step import ReplayStep


def replay(module: ModuleOp, log: RewriteLog) -> None:
    """Does to `module` what the log says; ops held by the caller are not those of the result.

    Raises:
        PassError: the log is of another module, or a record does not fit. The module is as before.
    """
    if module_digest(module) != log.model:
        raise PassError("rewrites: recorded on another model (digest differs)")
    work = exact_clone(module)
    replay_records(work, log.records)
    if module_digest(work) != log.result:
        raise PassError("rewrites: the result is not the one that was recorded (digest differs)")
    _take_over(module, work)


def replay_records(module: ModuleOp, records: Sequence[RewriteRecord]) -> None:
    """Does what the records say, in place, and verifies the result. Digests are not looked at.

    Raises:
        PassError: a record does not fit; the module may then be anything.
    """
    context = make_context()
    for batch in RewriteLog("", "", tuple(records)).batches:
        _replay_batch(module, batch, context)
    try:
        verify_module(module)
    except ModelError as error:
        raise PassError(f"rewrites: the result is not valid: {error}") from None


def _replay_batch(module: ModuleOp, batch: Sequence[RewriteRecord], context: Context) -> None:
    try:
        ReplayStep(module, batch, context).run()
    except PassError as error:
        names = ", ".join(dict.fromkeys(record.pattern for record in batch))
        raise PassError(f"rewrites: batch {batch[0].batch} ({names[:80]}): {error}") from None


def exact_clone(module: ModuleOp) -> ModuleOp:
    """A copy that prints the same: xDSL's own shortens names of values once more."""
    copy = module.clone()
    for original, op in zip(module.walk(), copy.walk(), strict=True):
        _copy_names(original.results, op.results)
        for region, other in zip(original.regions, op.regions, strict=True):
            for block, twin in zip(region.blocks, other.blocks, strict=True):
                _copy_names(block.args, twin.args)
                _copy_names([block], [twin])
    return copy


def _copy_names(
    originals: Sequence[OpResult | BlockArgument | Block], copies: Sequence[OpResult | BlockArgument | Block]
) -> None:
    for original, copy in zip(originals, copies, strict=True):
        copy._name = original.name_hint  # pyright: ignore[reportPrivateUsage] (the setter shortens it)


def _take_over(module: Operation, work: Operation) -> None:
    """Gives `module` the contents of `work`."""
    while module.regions:
        module.detach_region(0).drop_all_references()
    while work.regions:
        module.add_region(work.detach_region(0))
    module.properties = work.properties
    module.attributes = work.attributes
