"""Searches random graphs for those that a pass, or the compiled pipeline, computes otherwise than the host.

    python test/random/hunt.py passes   [--seed 0] [--count 20000] [--jobs 2]
    python test/random/hunt.py compiled [--seed 0] [--count 1000]

Graph number i is the graph of seed i. A failure is reduced, kept in `test/random/cases/Inputs/`, and the exit
code is 1.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import numpy as np
from random_checks.cases import CASES, keep_case
from random_checks.compiled import compiled_failures
from random_checks.failure import Failure
from random_checks.passes import PIPELINES, pass_checks, pass_failures, pipeline_check
from random_checks.reduction import reduced
from random_graphs import RandomGraph, seeded_graph

CHUNK = {"passes": 50, "compiled": 50}
KEPT_PER_KIND = 2


@dataclass
class Found:
    """What one stretch of seeds gave."""

    graphs: int = 0
    changed: Counter[str] = field(default_factory=Counter[str])
    """How many graphs each pass changed."""
    failures: list[tuple[int, Failure]] = field(default_factory=list[tuple[int, Failure]])


def search(what: str, seeds: range) -> Found:
    """Runs the checks on the graphs of some seeds."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    gc.collect()
    gc.disable()  # IR is full of cycles that live as long as a stretch: an eighth of the time
    graphs = [seeded_graph(seed) for seed in seeds]
    found = Found(len(graphs))
    if what == "compiled":
        for seed, failures in zip(seeds, compiled_failures(graphs), strict=True):
            found.failures += [(seed, failure) for failure in failures]
        return found
    checks = pass_checks()
    for seed, graph in zip(seeds, graphs, strict=True):
        failures, changed = pass_failures(graph, [*checks, pipeline_check(seed)])
        found.failures += [(seed, failure) for failure in failures]
        found.changed.update(changed)
    return found


def shrink_and_keep(seed: int, failure: Failure, folder: Path) -> Path:
    """Reduces the graph of a seed as long as it fails in the same way."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")

    def fails(graph: RandomGraph) -> bool:
        return any(other.kind == failure.kind for other in _failures(failure, graph))

    name = "_".join("".join(c if c.isalnum() else " " for c in failure.check).split())
    return keep_case(reduced(seeded_graph(seed), fails), failure, folder, f"{name}_{seed}")


def _failures(failure: Failure, graph: RandomGraph) -> list[Failure]:
    """The failures of one graph under the check that found `failure`."""
    if failure.check.startswith("compiled O"):
        return compiled_failures([graph], [int(failure.check[-1])])[0]
    known = [*pass_checks(), *(pipeline_check(number) for number in range(len(PIPELINES)))]
    checks = [check for check in known if failure.check == f"pass {check.text}"]
    return pass_failures(graph, checks)[0]


def hunt(what: str, seed: int, count: int, jobs: int, keep: Path, say: Callable[[str], None]) -> Found:
    """All seeds from `seed` on, in several processes."""
    total = Found()
    step = CHUNK[what]
    chunks = [range(a, min(a + step, seed + count)) for a in range(seed, seed + count, step)]
    kept: Counter[tuple[str, str, str]] = Counter()
    to_keep: list[tuple[int, Failure]] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context) as pool:
        pending = {pool.submit(search, what, chunk): chunk for chunk in chunks}
        for future in as_completed(pending):
            chunk = pending[future]
            try:
                found = future.result()
            except BrokenProcessPool:
                crash = Failure(
                    what, "crash", f"the process died within seeds {chunk.start}..{chunk.stop - 1}"
                )
                total.failures.append((chunk.start, crash))
                say(str(crash))
                return total
            total.graphs += found.graphs
            total.changed += found.changed
            for number, failure in found.failures:
                total.failures.append((number, failure))
                kept[failure.kind] += 1
                if kept[failure.kind] <= KEPT_PER_KIND:
                    say(f"seed {number}: {failure}")
                    to_keep.append((number, failure))
            say(f"{total.graphs}/{count} graphs, {len(total.failures)} failures")
        for future in as_completed([pool.submit(shrink_and_keep, *one, keep) for one in to_keep]):
            say(f"kept {future.result()}")
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=tuple(CHUNK))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=CASES)
    args = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="onnxloom-hunt-") as folder:
        os.environ["ONNXLOOM_CACHE_DIR"] = folder
        found = hunt(
            args.what, args.seed, args.count, args.jobs, args.keep, lambda text: print(text, file=sys.stderr)
        )
    seconds = time.monotonic() - start
    changed = ", ".join(f"{name} changed {n}" for name, n in sorted(found.changed.items()))
    for kind, number in Counter(failure.kind for _, failure in found.failures).most_common():
        print(f"{number} x {': '.join(filter(None, kind))}")
    print(
        f"{found.graphs} random graphs, {args.what}: {len(found.failures)} failures in {seconds:.0f} s"
        + (f" ({changed})" if changed else "")
    )
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
