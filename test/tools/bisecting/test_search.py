"""The search finds where right becomes wrong, in few looks."""

from __future__ import annotations

import pytest

from onnxloom.tools.bisecting.search import first_wrong


@pytest.mark.parametrize("place", range(1, 101))
def test_the_first_of_everything_wrong_is_found(place: int) -> None:
    looks: list[int] = []

    def is_wrong(number: int) -> bool:
        looks.append(number)
        return number >= place

    assert first_wrong(0, 100, is_wrong) == place
    assert len(looks) <= 7
    assert not {0, 100} & set(looks)


def test_a_place_where_right_becomes_wrong_is_found_when_there_are_several() -> None:
    wrong = {3, 4, 8, 9, 10}
    found = first_wrong(0, 10, wrong.__contains__)
    assert found in wrong and found - 1 not in wrong
