"""`python -m benchmarks.memory [MODEL ...]`: peak memory of a process that loads a model and runs it once.

The goal is a ratio of ours / onnxruntime's of at most 1.0 for ResNet-50 and BERT-base. Pages of mapped files
count, as far as they were read.
"""

from __future__ import annotations

from benchmarks.processes import comparisons, parse
from onnxloom.tools.benchmarking.text_table import aligned


def main() -> None:
    rows = [("model", "onnxruntime MB", "ours MB", "ours / theirs")]
    for found in comparisons(parse(__doc__)):
        theirs, ours = (found.median(who, "peak") / 1e6 for who in ("theirs", "ours"))
        rows.append((found.name, f"{theirs:.0f}", f"{ours:.0f}", f"{1 / found.ratio('peak'):.2f}"))
    print("\n".join(aligned(rows)))


if __name__ == "__main__":
    main()
