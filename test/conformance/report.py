"""Runs the whole suite and prints how many cases pass.

python test/conformance/report.py [--failures FILE]
"""

from __future__ import annotations

import argparse
import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from backend_cases import Case, cases, skipped


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--failures", type=Path, help="write name and reason of each failure there")
    parser.add_argument("--only", default="", help="run cases whose name contains this")
    options = parser.parse_args()
    failures: dict[str, str] = {}
    host: dict[str, int] = {}
    chosen = [case for case in cases() if options.only in case.name]
    for case in chosen:
        outcome = attempt(case)
        if isinstance(outcome, str):
            failures[case.name] = outcome
        else:
            host[case.name] = outcome
    totals = collections.Counter(case.category for case in chosen)
    compiled = sum(1 for count in host.values() if count == 0)
    print(f"{len(chosen)} cases ({', '.join(f'{k} {v}' for k, v in totals.items())})")
    print(f"passed {len(host)}, of these without a host step {compiled}; failed {len(failures)}")
    if options.failures:
        options.failures.write_text("".join(f"{k}\t{v}\n" for k, v in failures.items()))
        options.failures.with_suffix(".host").write_text("".join(f"{k}\t{v}\n" for k, v in host.items()))
    unexpected = [name for name in failures if name not in skipped()]
    for name in unexpected:
        print(f"FAILED {name}: {failures[name]}")
    for name in sorted(set(skipped()) & set(host)):
        print(f"passes, but is listed in skipped.txt: {name}")
    return 1 if unexpected else 0


def attempt(case: Case) -> int | str:
    """Host steps of a case that passes, else the reason in one line."""
    try:
        return case.run()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        return f"{type(error).__name__}: {' '.join(lines[:3])[:300]}"


if __name__ == "__main__":
    sys.exit(main())
