"""Compiles a model and runs it: on given arrays, or on random ones from a seed.

Prints each output with its type, shape and first values, then what was fused, which ops had to run in
Python, and the time.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from onnxloom.errors import escaped
from onnxloom.tools.failures import EXIT_OK, CommandLineError
from onnxloom.tools.streams import say

if TYPE_CHECKING:
    from onnxloom.lowering.compile import CompileOptions, Progress
    from onnxloom.lowering.runtime.model import CompiledModel
    from onnxloom.tools.model_inputs import Feeds

HELP = "compile a model and run it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help=".onnx or .mlir file, or one that `onnxloom compile` wrote")
    add_input_arguments(parser)
    parser.add_argument("--outputs", metavar="FILE.npz", help="write the outputs there")
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="run N times and give the median time"
    )
    parser.add_argument(
        "--profile", action="store_true", help="time every kernel call, against what the processor can do"
    )
    add_thread_argument(parser)
    add_compile_arguments(parser)


def add_thread_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads", type=_count, default=0, metavar="N", help="threads of a run (default 0: one per core)"
    )


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of at least 0")
    return int(text)


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of every command that feeds a model."""
    group = parser.add_argument_group("inputs (random where not given)")
    group.add_argument("--inputs", metavar="FILE.npz", help="arrays by input name")
    group.add_argument(
        "--input", action="append", default=[], metavar="NAME=FILE.npy", help="one array (repeatable)"
    )
    group.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="size of a symbolic dim (default 1); a dim without a name is INPUT:AXIS",
    )
    group.add_argument("--seed", type=_seed, default=0, help="seed of the random inputs (default 0)")


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is no seed; expected a whole number of 0 or more")
    return int(text)


def add_compile_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of every command that compiles."""
    group = parser.add_argument_group("compiling")
    group.add_argument(
        "-O",
        "--level",
        dest="opt_level",
        type=int,
        choices=range(4),
        default=3,
        help="0: shapes only; 1: what keeps every bit; 2: fusion too; 3: all that pays (default 3)",
    )
    group.add_argument(
        "--skip-pass",
        action="append",
        default=[],
        metavar="NAME",
        help="leave out this pass (repeatable; also ONNXLOOM_SKIP_PASSES)",
    )
    group.add_argument(
        "--skip-patterns", action="append", default=[], metavar="GLOBS", help="not these rewrite patterns"
    )
    group.add_argument("--strict", action="store_true", help="a pass that fails is an error, not a warning")
    group.add_argument("--disable-fused-op", action="store_true", help="fuse nothing")
    group.add_argument(
        "--disable-kind", action="append", default=[], metavar="KIND", help="do not fuse this kind"
    )
    group.add_argument(
        "--load-plugin",
        action="append",
        default=[],
        metavar="PATH",
        help="Python file or package with fusion kinds, rewrite patterns or passes (repeatable)",
    )
    group.add_argument(
        "--cpu",
        default="",
        metavar="NAME",
        help="what code is made for: host, x86-64-v3, ... (default: host)",
    )
    group.add_argument(
        "--jit",
        choices=("llvm", "numba"),
        default="llvm",
        help="what compiles the kernels: llvm, or Numba, from the Python form that -t numba prints (slow)",
    )
    group.add_argument(
        "--checked",
        action="store_true",
        help="kernels check every access to memory (slow; also ONNXLOOM_CHECKED=1)",
    )
    group.add_argument("--no-winograd", action="store_true", help="only direct convolutions: round less")
    group.add_argument("--no-cache", action="store_true", help="compile everything anew and keep nothing")
    group.add_argument(
        "--external-data-dir", "--weights-dir", action="append", default=[], metavar="DIR",
        help="also read weights from there (default: from the folder of the model only)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    if args.repeat < 1:
        raise CommandLineError("--repeat needs a number of at least 1")
    model, seconds = compile_for(args)
    feeds = feeds_for(args, model)
    outputs, times = _run_repeatedly(model, feeds.arrays, args.repeat)
    if args.outputs is not None:
        save_arrays(args.outputs, outputs)
    _print_values("input", feeds.arrays, dict.fromkeys(feeds.made_up, f"  (random, seed {args.seed})"))
    _print_values("output", outputs, {})
    _print_fused(model)
    _print_host_steps(model, args.repeat)
    say(_times(seconds, times))
    if args.profile:
        _print_profile(args, feeds.arrays)
    return EXIT_OK


def _print_profile(args: argparse.Namespace, feeds: Mapping[str, Any]) -> None:
    from onnxloom.lowering.roofline.machine import measure_machine
    from onnxloom.tools.benchmarking.inspected import compile_inspected
    from onnxloom.tools.benchmarking.profile_listing import profile_lines

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the summary lists every host step
        for line in profile_lines(
            compile_inspected(args.model, compile_options(args)), feeds, measure_machine()
        ):
            say(line)


def compile_options(args: argparse.Namespace, progress: Progress | None = None) -> CompileOptions:
    """What the arguments of `add_compile_arguments` say."""
    from onnxloom.lowering.checked.wanted import checked_by_environment
    from onnxloom.lowering.compile import CompileOptions

    if args.checked and args.jit != "llvm":
        raise CommandLineError("--checked needs --jit llvm")
    return CompileOptions(
        opt_level=args.opt_level,
        fuse=not args.disable_fused_op,
        disabled_kinds=tuple(args.disable_kind),
        skip_passes=skipped_passes(args.skip_pass),
        skip_patterns=skipped_patterns(args.skip_patterns),
        strict=args.strict,
        winograd=not args.no_winograd,
        jit=args.jit,
        checked=args.checked or checked_by_environment(),
        threads=vars(args).get("threads", 0),
        cpu=args.cpu,
        cache=not args.no_cache,
        external_data_dirs=tuple(args.external_data_dir),
        progress=progress,
    )


def skipped_passes(named: Sequence[str]) -> tuple[str, ...]:
    """Raises CommandLineError for a name that no pass has."""
    from onnxloom.transforms.pass_manager.environment import skipped_by_environment

    if not named and not skipped_by_environment():
        return ()
    from onnxloom.errors import PassError
    from onnxloom.transforms.pass_manager.skipping import passes_to_skip

    try:
        return tuple(sorted(passes_to_skip(named)))
    except PassError as error:
        raise CommandLineError(str(error)) from None


def skipped_patterns(texts: Sequence[str]) -> tuple[str, ...]:
    """Raises CommandLineError for a name that no pattern has."""
    if not texts:
        return ()
    from onnxloom.errors import PassError
    from onnxloom.tools.optimizing import split_globs
    from onnxloom.transforms.rewriting.registry import current_patterns

    globs = split_globs(list(texts))
    try:
        current_patterns().select(None, globs)
    except PassError as error:
        raise CommandLineError(str(error)) from None
    return globs


def compile_for(args: argparse.Namespace) -> tuple[CompiledModel, float]:
    """The compiled model and the seconds it took."""
    from onnxloom.lowering.compile import compile_model
    from onnxloom.tools.progress import ProgressLine

    start = time.perf_counter()
    with ProgressLine(f"compiling {args.model}") as progress:
        model = compile_model(args.model, compile_options(args, progress))
    return model, time.perf_counter() - start


def feeds_for(args: argparse.Namespace, model: CompiledModel) -> Feeds:
    """The arrays of the arguments of `add_input_arguments`, completed."""
    from onnxloom.tools.model_inputs import complete, parse_dims

    given = given_arrays(args)
    overridden = [info for info in model.overridable if info.name in given]
    return complete([*model.inputs, *overridden], given, parse_dims(args.dim), args.seed)


def given_arrays(args: argparse.Namespace) -> dict[str, Any]:
    """The arrays of `--inputs` and `--input`."""
    from onnxloom.tools.model_inputs import load_named, load_npz

    given = load_npz(args.inputs) if args.inputs is not None else {}
    given.update(load_named(item) for item in args.input)
    return given


def _print_fused(model: CompiledModel) -> None:
    fused = model.artifact.fused
    say(f"fused: {len(fused)} chain{'' if len(fused) == 1 else 's'} of ops")
    for (kind, ops), count in Counter(fused).most_common():
        say(f"  {count} x {kind}: {ops}")


def _print_host_steps(model: CompiledModel, runs: int) -> None:
    """Steps that Python ran, per run; equal ones together."""
    reasons = dict(model.artifact.notes)
    grouped: Counter[tuple[str, str]] = Counter()
    for title, count in model.host_counts.items():
        grouped[title.split()[0], reasons.get(title, "its condition is known only while running")] += count
    total = sum(grouped.values()) / runs
    say(f"in Python: {total:g} step{'' if total == 1 else 's'} per run")
    for (op, reason), count in grouped.most_common():
        say(f"  {count / runs:g} x {op}: {reason}")


def _run_repeatedly(model: Any, feeds: Mapping[str, Any], count: int) -> tuple[dict[str, Any], list[float]]:
    times: list[float] = []
    outputs: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the summary lists every host step
        for _ in range(count):
            start = time.perf_counter()
            outputs = model.run(feeds)
            times.append(time.perf_counter() - start)
    return outputs, times


def _print_values(kind: str, values: Mapping[str, Any], remarks: Mapping[str, str]) -> None:
    from onnxloom.tools.value_text import describe_value

    for name, value in values.items():
        say(f"{kind} {escaped(name)}: {describe_value(value)}{remarks.get(name, '')}")


def _times(compiling: float, runs: list[float]) -> str:
    first = f"time: {compiling:.2f} s to compile or load, {runs[0] * 1e3:.3f} ms for the first run"
    if len(runs) == 1:
        return first
    return f"{first}, {statistics.median(runs[1:]) * 1e3:.3f} ms median of {len(runs) - 1} more"


def save_arrays(path: str, values: Mapping[str, Any]) -> None:
    """An `.npz` file; a sequence becomes one array per element, strings become numpy strings.

    (`np.savez` takes the names as keyword arguments, which not every output name can be.)
    """
    import zipfile

    import numpy as np

    from onnxloom.dialects.output_file import OutputFile

    with OutputFile(path) as file, zipfile.ZipFile(cast(Any, file), "w") as archive:
        for name, value in _flattened(values):
            array: np.ndarray[Any, Any] = np.asarray(value)
            array = array.astype(str) if array.dtype.kind == "O" else array
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _flattened(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, list | tuple):
            items = cast("Sequence[Any]", value)
            yield from ((f"{name}.{index}", item) for index, item in enumerate(items))
        else:
            yield name, value
