"""`python -m benchmarks.startup [MODEL ...]`: CPU time from the start of a process to the first outputs.

Importing the runtime, loading the model and running it once, on one thread. Goals are ratios of onnxruntime's
time / ours: 1.0 for ResNet-50 and BERT-base, 0.77 for models under 5 MB.
"""

from __future__ import annotations

from benchmarks.processes import comparisons, parse
from onnxloom.tools.benchmarking.text_table import aligned


def main() -> None:
    rows = [("model", "onnxruntime ms", "ours ms", "ratio")]
    for found in comparisons(parse(__doc__)):
        theirs, ours = (found.median(who, "seconds") * 1e3 for who in ("theirs", "ours"))
        rows.append((found.name, f"{theirs:.0f}", f"{ours:.0f}", f"{found.ratio('seconds'):.2f}"))
    print("\n".join(aligned(rows)))


if __name__ == "__main__":
    main()
