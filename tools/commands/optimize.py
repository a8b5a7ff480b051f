"""Optimizes an ONNX model (or .mlir file) and writes it as ONNX or text, without fused ops: the result is
standard ONNX at the model's own opset, or at the one given.

With --save-rewrites, what was done is kept as data; --replay does it again to the same model, without looking
for anything.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxloom.tools.failures import EXIT_OK, CommandLineError
from onnxloom.tools.streams import say

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from onnxloom.tools.optimizing import Optimized, Optimizing
    from onnxloom.transforms.rewriting.records import RewriteLog

HELP = "optimize a model and write it as ONNX or .mlir"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help=".onnx or .mlir file")
    parser.add_argument("-o", "--output", metavar="FILE", help="the .onnx or .mlir file to write")
    parser.add_argument(
        "--report", choices=("text", "json"), default="text", help="how to say what was done (default: text)"
    )
    parser.add_argument(
        "--load-plugin", action="append", default=[], metavar="PATH",
        help="Python file or package with rewrite patterns or passes (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--external-data-dir", "--weights-dir", action="append", default=[], metavar="DIR",
        help="also read weights from there (default: from the folder of the model only)",
    )  # fmt: skip
    _add_choices(parser.add_argument_group("what is done"))
    _add_records(parser.add_argument_group("rewrites as data"))


def _add_choices(group: Any) -> None:
    group.add_argument(
        "-O", "--level", type=int, choices=range(4),
        help="0: shapes only; 1: what keeps every bit; 2: what rounds elsewhere too; 3: all (default 2)",
    )  # fmt: skip
    group.add_argument("--passes", metavar="PASSES", help="these passes instead, as for onnxloom-opt -p")
    group.add_argument(
        "--opset", type=int, metavar="N",
        help="opset of the result; rewrites may then use its ops (default: the model's own)",
    )  # fmt: skip
    group.add_argument(
        "--patterns", action="append", metavar="GLOBS", help="only these rewrite patterns, by name or glob"
    )
    group.add_argument(
        "--skip-patterns", action="append", default=[], metavar="GLOBS", help="not these rewrite patterns"
    )
    group.add_argument(
        "--skip-pass", action="append", default=[], metavar="PASS", help="leave this pass out (repeatable)"
    )
    group.add_argument("--strict", action="store_true", help="a pass that fails is an error")


def _add_records(group: Any) -> None:
    group.add_argument("--save-rewrites", metavar="FILE.json", help="write every rewrite there")
    group.add_argument("--replay", metavar="FILE.json", help="do the rewrites of that file, and nothing else")


def run(args: argparse.Namespace) -> int:
    _check_arguments(args)
    module = _read(args)
    done, log = (_replay(args, module), None) if args.replay is not None else _optimize(args, module)
    if args.output is not None:
        _write(args, module)
    if log is not None:
        _write_log(args.save_rewrites, log)
    say(_json(done) if args.report == "json" else _text(done))
    return EXIT_OK


def _check_arguments(args: argparse.Namespace) -> None:
    if args.output is not None and Path(args.output).suffix not in (".onnx", ".mlir"):
        raise CommandLineError(f"-o {args.output}: expected a file that ends in .onnx or .mlir")
    choices = (args.level, args.passes, args.patterns, *args.skip_patterns, *args.skip_pass)
    if args.replay is not None and (args.save_rewrites or any(choice is not None for choice in choices)):
        raise CommandLineError(
            "--replay does what its file says; options that choose passes do not go with it"
        )
    if args.opset is not None:
        from onnx import defs

        newest = defs.onnx_opset_version()
        if not 1 <= args.opset <= newest:
            raise CommandLineError(f"--opset {args.opset} is not known; expected 1 to {newest}")
    if args.passes is not None and (args.level is not None or args.patterns or args.skip_patterns):
        raise CommandLineError("--passes does not go with --level, --patterns or --skip-patterns")


def _read(args: argparse.Namespace) -> ModuleOp:
    from onnxloom.conversion.onnx_import import import_model
    from onnxloom.dialects.onnx.text import load_module

    path = Path(args.model)
    if path.suffix == ".mlir":
        return load_module(path, args.external_data_dir)
    return import_model(path, external_data_dirs=args.external_data_dir)


def _optimize(args: argparse.Namespace, module: ModuleOp) -> tuple[Optimized, RewriteLog | None]:
    """What was done, and the rewrites if they are wanted."""
    from onnxloom.tools.optimizing import optimize_module
    from onnxloom.transforms.rewriting.recording import Recorder, recording, use_recorder

    asked = _asked(args)
    if args.save_rewrites is None:
        return optimize_module(module, asked), None
    recorder = Recorder()
    with use_recorder(recorder), recording(module, "optimize"):
        done = optimize_module(module, asked)
    return done, recorder.log()


def _write_log(path: str, log: RewriteLog) -> None:
    from onnxloom.dialects.output_file import OutputFile

    with OutputFile(path) as file:
        file.write(log.to_json().encode())


def _asked(args: argparse.Namespace) -> Optimizing:
    """Raises CommandLineError for a pass or pattern that is not there."""
    from onnxloom.errors import PassError
    from onnxloom.tools.commands.run import skipped_passes
    from onnxloom.tools.optimizing import Optimizing, passes_for, split_globs

    asked = Optimizing(
        level=2 if args.level is None else args.level,
        passes=args.passes,
        opset=args.opset,
        patterns=None if args.patterns is None else split_globs(args.patterns),
        skip_patterns=split_globs(args.skip_patterns),
        skip_passes=skipped_passes(args.skip_pass),
        strict=args.strict,
    )
    try:
        passes_for(asked, 1)
    except (PassError, ValueError) as error:
        raise CommandLineError(str(error)) from None
    return asked


def _replay(args: argparse.Namespace, module: ModuleOp) -> Optimized:
    from onnxloom.tools.optimizing import Optimized, op_counts
    from onnxloom.transforms.rewriting.replay import replay

    log = _read_log(args.replay)
    before = op_counts(module)
    replay(module, log)
    return Optimized(before, op_counts(module))


def _read_log(path: str) -> RewriteLog:
    from onnxloom.errors import ModelError, PassError
    from onnxloom.transforms.rewriting.records import RewriteLog

    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ModelError(f"{path}: is not UTF-8 text; expected what --save-rewrites writes") from None
    try:
        return RewriteLog.from_json(text)
    except PassError as error:
        raise PassError(f"{path}: {error}") from None


def _write(args: argparse.Namespace, module: ModuleOp) -> None:
    from onnxloom.conversion.onnx_export import save_model
    from onnxloom.tools.opt.output import Output, TextForm

    if Path(args.output).suffix == ".onnx":
        save_model(module, args.output, opset=args.opset)
        return
    output = Output(args.output)
    output.text(TextForm().text(module))
    output.finish()


# What was done


def _ops(number: int) -> str:
    return f"{number} op" if number == 1 else f"{number} ops"


def _text(done: Optimized) -> str:
    before, after = sum(done.before.values()), sum(done.after.values())
    lines = [f"{_ops(before)} -> {_ops(after)} ({after - before:+d})"]
    for name in sorted({*done.before, *done.after}):
        old, new = done.before.get(name, 0), done.after.get(name, 0)
        if old != new:
            lines.append(f"  {name.removeprefix('onnx.')}: {old} -> {new}")
    applied = _applied(done)
    if applied:
        lines.append(f"rewrites by patterns: {sum(count for count, _ in applied.values())}")
    for name, (count, why) in applied.items():
        lines.append(f"  {name}: {count}" + (f" (adds ops: {why})" if why else ""))
    lines += [f"patterns {note}" for note in done.rewrites.notes]
    lines += [f"pass {run.step.name} failed and was left out: {run.error}" for run in done.passes.failures]
    return "\n".join(lines)


def _applied(done: Optimized) -> dict[str, tuple[int, str]]:
    """Pattern -> how often it was applied, and why it may add ops."""
    from onnxloom.transforms.rewriting.registry import current_patterns

    counts = {name: found.applied for name, found in done.rewrites.patterns.items() if found.applied}
    if not counts:
        return {}
    reasons = {pattern.name: pattern.adds_ops for pattern in current_patterns().patterns}
    return {name: (counts[name], reasons.get(name, "")) for name in sorted(counts)}


def _json(done: Optimized) -> str:
    applied = _applied(done)
    data = {
        "ops_before": sum(done.before.values()),
        "ops_after": sum(done.after.values()),
        "before": dict(sorted(done.before.items())),
        "after": dict(sorted(done.after.items())),
        "passes": [
            {"name": run.step.name, "outcome": run.outcome.value, "seconds": run.seconds, "error": run.error}
            for run in done.passes.runs
        ],
        "patterns": [
            {"name": name, "applied": count, "adds_ops": why} for name, (count, why) in applied.items()
        ],
        "rewriting": json.loads(done.rewrites.to_json()),
    }
    return json.dumps(data, indent=1)
