"""Runs a case in this process: `run_case.py CASE onnxruntime|onnxloom`; prints the result as JSON last."""

from __future__ import annotations

import json
import sys
import warnings


def main(case: str, runtime: str) -> None:
    if runtime == "onnxloom":
        import onnxloom

        warnings.simplefilter("ignore", onnxloom.HostStepWarning)
        sys.modules["onnxruntime"] = onnxloom
    from cases import CASES

    result = CASES[case]()
    package = sys.modules["onnxruntime"].__name__
    assert package == runtime, f"the case ran on {package}"
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
