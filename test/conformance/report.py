"""Runs the whole suite and prints how many cases pass.

python test/conformance/report.py [--failures FILE] [--write]
"""

from __future__ import annotations

import argparse
import collections
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from backend_cases import Case, Outcome, cases, skipped

from onnxloom.tools.coverage import evidence
from onnxloom.tools.coverage.page import EVIDENCE


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--failures", type=Path, help="write name and reason of each failure there")
    parser.add_argument("--only", default="", help="run cases whose name contains this")
    parser.add_argument("--write", action="store_true", help="write what was seen to evidence.tsv")
    options = parser.parse_args()
    failures: dict[str, str] = {}
    passed: dict[str, Outcome] = {}
    chosen = [case for case in cases() if options.only in case.name]
    for case in chosen:
        outcome = attempt(case)
        if isinstance(outcome, str):
            failures[case.name] = outcome
        else:
            passed[case.name] = outcome
    totals = collections.Counter(case.category for case in chosen)
    print(f"{len(chosen)} cases ({', '.join(f'{k} {v}' for k, v in totals.items())})")
    compiled = sum(1 for outcome in passed.values() if not outcome.host)
    print(f"passed {len(passed)}, of these without a host step {compiled}; failed {len(failures)}")
    print_ops(passed.values())
    if options.failures:
        options.failures.write_text("".join(f"{k}\t{v}\n" for k, v in failures.items()))
        host = {name: ", ".join(op for _, op in outcome.host) for name, outcome in passed.items()}
        options.failures.with_suffix(".host").write_text("".join(f"{k}\t{v}\n" for k, v in host.items() if v))
    unexpected = [name for name in failures if name not in skipped()]
    for name in unexpected:
        print(f"FAILED {name}: {failures[name]}")
    for name in sorted(set(skipped()) & set(passed)):
        print(f"passes, but is listed in skipped.txt: {name}")
    if options.write and not unexpected and not options.only:
        evidence.write(EVIDENCE, evidence.collect((o.ops, o.host) for o in passed.values()))
    return 1 if unexpected else 0


def print_ops(outcomes: Iterable[Outcome]) -> None:
    """How many ops ran compiled and how many in Python: op by op in each case, and kinds of op over all."""
    outcomes = list(outcomes)
    seen = evidence.collect((outcome.ops, outcome.host) for outcome in outcomes)
    pairs = sum(op.compiled for op in seen.values()), sum(op.host for op in seen.values())
    print(f"ops, counted once per case: {pairs[0]} ran compiled, {pairs[1]} on the host")
    always = sum(1 for op in seen.values() if not op.host)
    never = sum(1 for op in seen.values() if not op.compiled)
    print(f"{len(seen)} kinds of op: {always} always compiled, {never} always on the host")


def attempt(case: Case) -> Outcome | str:
    """What a case that passes ran, else the reason in one line."""
    try:
        return case.run()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        return f"{type(error).__name__}: {' '.join(lines[:3])[:300]}"


if __name__ == "__main__":
    sys.exit(main())
