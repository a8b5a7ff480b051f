"""The backend cases of the installed onnx pass; a case that may fail stands in `skipped.txt` with the reason.

By default every thirteenth case runs; all of them with `-m full`. `report.py` prints the totals.
"""

from __future__ import annotations

from typing import Any

import pytest
from backend_cases import Case, cases, skipped

SAMPLE = 13


def parameters() -> list[Any]:
    return [
        pytest.param(case, id=case.name, marks=() if i % SAMPLE == 0 else pytest.mark.full)
        for i, case in enumerate(cases())
    ]


@pytest.mark.parametrize("case", parameters())
def test_case(case: Case) -> None:
    reason = skipped().get(case.name)
    if reason is not None:
        pytest.skip(reason)
    case.run()


def test_skipped_cases_exist_and_have_a_reason() -> None:
    names = {case.name for case in cases()}
    for name, reason in skipped().items():
        assert name in names
        assert len(reason.split()) > 3


def test_a_wrong_result_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxloom.backend import OnnxloomRep

    case = next(case for case in cases() if case.name == "test_add")
    right = OnnxloomRep.run
    monkeypatch.setattr(OnnxloomRep, "run", lambda self, inputs: (right(self, inputs)[0] * 2,))  # pyright: ignore
    with pytest.raises(AssertionError):
        case.run()
