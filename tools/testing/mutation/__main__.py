"""The command: `python -m onnxloom.tools.testing.mutation`."""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from onnxloom.tools.testing.mutation import equivalents, results, runner
from onnxloom.tools.testing.mutation.guards import Guard, find_guards
from onnxloom.tools.testing.mutation.reach import find_reach
from onnxloom.tools.testing.mutation.tests_of import tests_of

ROOT: Final = Path(__file__).resolve().parents[3]
FOLDERS: Final = ("transforms", "conversion/onnx_to_loom")
STATE: Final = ROOT / "build" / "mutation.jsonl"
TIMEOUT: Final = 300.0
"""Default seconds for the tests of one mutant; an endless loop is noticed."""


def all_guards(patterns: Sequence[str]) -> list[Guard]:
    """The guards of all files, or of those whose path matches."""
    found: list[Guard] = []
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            if not patterns or any(path.startswith(p) or fnmatch.fnmatch(path, p) for p in patterns):
                found += [g for g in find_guards(file.read_text(encoding="utf-8"), path) if g.counts]
    return found


def work(guards: Sequence[Guard], state: Path, timeout: float, share: int, jobs: int) -> None:
    """Every `jobs`-th file's guards, from `share` on."""
    known = results.load(state)
    paths = sorted({guard.path for guard in guards})[share::jobs]
    tests = {path: [file for stage in tests_of(path, ROOT) for file in stage] for path in paths}
    stamps = {path: results.stamp_of(ROOT / path, tests[path]) for path in paths}
    todo = [g for g in guards if g.path in stamps and not _is_known(known.get(g.key), stamps[g.path])]
    if not todo:
        return
    every = sorted({file for guard in todo for file in tests[guard.path]})
    print(f"{len(todo)} guards: which of {len(every)} files of tests reach them?", file=sys.stderr)
    reached = find_reach(todo, every, ROOT)
    for guard in todo:
        start = time.monotonic()
        outcome = runner.outcome_of(guard, reached.get(guard.key, ()), ROOT, timeout)
        results.append(state, guard, stamps[guard.path], outcome, time.monotonic() - start)
        print(f"{outcome}: {guard}", file=sys.stderr)


def _is_known(result: results.Result | None, stamp: str) -> bool:
    if result is None or result.stamp != stamp:
        return False
    return result.outcome in (runner.NOTICED, runner.UNNOTICED, runner.UNREACHED)


def report(guards: Sequence[Guard], state: Path) -> int:
    """Prints the guards that no test notices; the exit code."""
    known = results.load(state)
    proofs = equivalents.read_equivalents(equivalents.FILE.read_text(encoding="utf-8"))
    outcomes = {guard: known[guard.key].outcome for guard in guards if guard.key in known}
    missed = [g for g, outcome in outcomes.items() if outcome != runner.NOTICED and g.key not in proofs]
    for guard in missed:
        print(f"{outcomes[guard]}: {guard}")
    stale = sorted(set(proofs).difference(guard.key for guard in all_guards(())))
    for key in stale:
        print(f"equivalents.txt names a guard that is not there: {key}")
    noticed = sum(outcome == runner.NOTICED for outcome in outcomes.values())
    proven = sum(guard.key in proofs for guard in outcomes)
    print(
        f"{len(outcomes)} of {len(guards)} guards tried: {noticed} noticed, {proven} proven equivalent, "
        f"{len(missed)} unnoticed"
    )
    return 1 if missed or stale or len(outcomes) < len(guards) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mutation", description="Takes guards away one by one.")
    parser.add_argument("files", nargs="*", help="paths or globs, from the root of the repository")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--state", type=Path, default=STATE, help="where results are kept between runs")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds for the tests of one mutant")
    parser.add_argument("--fresh", action="store_true", help="forget what is known")
    parser.add_argument("--list", action="store_true", help="only list the guards")
    parser.add_argument("--report", action="store_true", help="only print what is known")
    args = parser.parse_args(arguments)
    guards = all_guards(args.files)
    if args.list:
        print("\n".join(map(str, guards)))
        return 0
    args.state.parent.mkdir(parents=True, exist_ok=True)
    if args.fresh:
        args.state.unlink(missing_ok=True)
    if not args.report:
        with tempfile.TemporaryDirectory(prefix="onnxloom-mutation-") as folder:
            os.environ["ONNXLOOM_MUTATION_KERNELS"] = folder
            _work_in_processes(guards, args.state, args.timeout, args.jobs)
    return report(guards, args.state)


def _work_in_processes(guards: Sequence[Guard], state: Path, timeout: float, jobs: int) -> None:
    runner.import_everything()
    children: list[int] = []
    for share in range(jobs):
        child = os.fork()
        if not child:
            try:
                work(guards, state, timeout, share, jobs)
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    sys.exit(main())
