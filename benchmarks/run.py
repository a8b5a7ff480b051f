"""`python -m benchmarks.run [case ...] [--json FILE]`: every case against onnxruntime, one thread."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import Any

from benchmarks.cases import CASES, Case
from benchmarks.contestants import check_same, onnxloom_call, onnxruntime_call
from benchmarks.limits import bandwidth, fma_peak
from benchmarks.pairing import pair


def measure(case: Case, rounds: int) -> dict[str, Any]:
    """One row of the table; ratios above 1 mean onnxloom is faster."""
    difference = check_same(case.model, case.feeds, case.tolerance)
    calls = {
        "onnxruntime": onnxruntime_call(case.model, case.feeds),
        "onnxloom": onnxloom_call(case.model, case.feeds),
    }
    result = pair(calls, rounds=rounds)
    seconds = result.median("onnxloom")
    low, high = result.spread("onnxruntime", "onnxloom")
    return {
        "case": case.name,
        "onnxruntime_ms": result.median("onnxruntime") * 1e3,
        "onnxloom_ms": seconds * 1e3,
        "ratio": result.ratio("onnxruntime", "onnxloom"),
        "ratio_quartiles": [low, high],
        "gflops": case.flops / seconds / 1e9,
        "gbytes": case.bytes / seconds / 1e9,
        "share_of_fma_peak": case.flops / seconds / fma_peak(),
        "share_of_bandwidth": case.bytes / seconds / bandwidth(max(1, case.bytes // 8)),
        "difference": difference,
    }


def main(argv: list[str] | None = None) -> int:
    """Prints the table; returns 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"default: all of {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args(argv)
    for name in args.cases:
        if name not in CASES:
            parser.error(f"unknown case {name!r}")
    rows: list[dict[str, Any]] = []
    for name in args.cases or CASES:
        row = measure(CASES[name](), args.rounds)
        rows.append(row)
        print(
            f"{row['case']:34} ort {row['onnxruntime_ms']:8.3f} ms  ours {row['onnxloom_ms']:8.3f} ms  "
            f"ratio {row['ratio']:5.2f} [{row['ratio_quartiles'][0]:.2f}, {row['ratio_quartiles'][1]:.2f}]  "
            f"{row['share_of_fma_peak']:4.0%} of FMA peak  {row['share_of_bandwidth']:4.0%} of bandwidth  "
            f"difference {row['difference']:.1e}",
            flush=True,
        )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
