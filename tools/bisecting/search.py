"""Where does right become wrong?"""

from __future__ import annotations

from collections.abc import Callable


def first_wrong(right: int, wrong: int, is_wrong: Callable[[int], bool]) -> int:
    """A number that is wrong while the one before it is right, in about log2(wrong - right) looks.

    `right` and `wrong` are known to be so. Where only everything from some number on is wrong, it is that
    number; else it is one of the places where right becomes wrong.
    """
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if is_wrong(middle):
            wrong = middle
        else:
            right = middle
    return wrong
