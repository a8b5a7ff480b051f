"""Compares ops with onnxruntime over random attributes and shapes, and prints what came of it.

    python test/peer/report.py [--only NAMEPART] [--count 200] [--seed 0] [--jobs 2] [--why] [--ways O3,host]

Case number i of an op is that of seed SEED + i. The exit code is 1 where anything does not agree.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from peer_cases.compare import WAYS, Tally, tally
from peer_cases.registry import OPS, peer_ops

CHUNK = 25


def stretch(name: str, first: int, count: int, ways: tuple[str, ...]) -> Tally:
    """The cases of one stretch of seeds, in a process of its own."""
    peer_ops()
    return tally(OPS[name], range(first, first + count), ways)


def joined(parts: list[Tally]) -> Tally:
    total = Tally()
    for part in parts:
        total.cases += part.cases
        total.refused_by_peer += part.refused_by_peer
        total.refused_by_us += part.refused_by_us
        total.host_steps += part.host_steps
        total.mismatches += part.mismatches
        total.peer_reasons += part.peer_reasons
        total.our_reasons += part.our_reasons
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="ops whose name (domain:op) contains this")
    parser.add_argument("--count", type=int, default=200, help="cases per op")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--why", action="store_true", help="print why cases were refused")
    parser.add_argument("--ways", default=",".join(WAYS), help="how ours are run")
    options = parser.parse_args()
    ways = tuple(options.ways.split(","))
    failed, total = False, Tally()
    print(f"{'op':58}{'cases':>7}{'mismatches':>12}{'refused by':>12}{'refused':>9}{'with host':>11}")
    print(f"{'':58}{'':>7}{'':>12}{'onnxruntime':>12}{'by ours':>9}{'steps':>11}")
    with ProcessPoolExecutor(options.jobs) as pool:
        futures = {
            str(op): [
                pool.submit(stretch, str(op), first, min(CHUNK, options.seed + options.count - first), ways)
                for first in range(options.seed, options.seed + options.count, CHUNK)
            ]
            for op in peer_ops(options.only)
        }
        for name, parts in futures.items():
            found = joined([part.result() for part in parts])
            total = joined([total, found])
            numbers = (found.cases, len(found.mismatches), found.refused_by_peer, found.refused_by_us)
            print(
                f"{name:58}{numbers[0]:>7}{numbers[1]:>12}{numbers[2]:>12}{numbers[3]:>9}{found.host_steps:>11}"
            )
            for line in found.mismatches[:5]:
                print("   ", line[:700])
            for line in [*found.peer_reasons[:4], *found.our_reasons[:4]] if options.why else []:
                print("    refused:", line)
            sys.stdout.flush()
            failed |= bool(found.mismatches)
    numbers = (total.cases, len(total.mismatches), total.refused_by_peer, total.refused_by_us)
    print(f"{'all':58}{numbers[0]:>7}{numbers[1]:>12}{numbers[2]:>12}{numbers[3]:>9}{total.host_steps:>11}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
