"""Which orders of the ops of a block are worth a look?

None of them is the best in general, which is too much to look for: one that goes on with whatever costs
least, and two that finish one operand before they begin with the next.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from onnxloom.transforms.ordering.schedule import Schedule


def candidates(schedule: Schedule) -> Iterator[list[int]]:
    """Orders in which every op comes after what it reads."""
    yield _cheapest_first(schedule)
    depths = _depths(schedule)
    yield _depth_first(schedule, [sorted(makers) for makers in schedule.makers])
    yield _depth_first(
        schedule, [sorted(makers, key=lambda number: (-depths[number], number)) for makers in schedule.makers]
    )


def _cheapest_first(schedule: Schedule) -> list[int]:
    """Of the ops that can run, the one that takes least memory net of what it is the last to read."""
    missing = [len(makers) for makers in schedule.makers]
    waiting = [set(users) for users in schedule.users]

    def cost(number: int) -> int:
        made = sum(schedule.sizes[buffer] for buffer in schedule.makes[number])
        freed = sum(
            schedule.sizes[buffer]
            for buffer in schedule.reads[number]
            if len(waiting[buffer]) == 1 and buffer not in schedule.lasting
        )
        return made - freed

    ready = [(cost(number), number) for number, count in enumerate(missing) if count == 0]
    heapq.heapify(ready)
    done = [False] * len(missing)
    order: list[int] = []
    while ready:
        _, number = heapq.heappop(ready)
        if done[number]:
            continue
        done[number] = True
        order.append(number)
        for buffer in schedule.reads[number]:
            waiting[buffer].discard(number)
            if len(waiting[buffer]) == 1:
                (last,) = waiting[buffer]
                if missing[last] == 0:
                    heapq.heappush(ready, (cost(last), last))  # cheaper than when it became ready
        for reader in schedule.readers[number]:
            missing[reader] -= 1
            if missing[reader] == 0:
                heapq.heappush(ready, (cost(reader), reader))
    return order


def _depth_first(schedule: Schedule, makers: Sequence[Sequence[int]]) -> list[int]:
    """What an op reads comes right before it, in the order of `makers`."""
    placed = [False] * len(makers)
    order: list[int] = []
    for root in range(len(makers)):
        if schedule.readers[root]:
            continue
        pending = [(root, iter(makers[root]))]
        while pending:
            number, rest = pending[-1]
            following = next((maker for maker in rest if not placed[maker]), None)
            if following is not None:
                pending.append((following, iter(makers[following])))
                continue
            pending.pop()
            if not placed[number]:
                placed[number] = True
                order.append(number)
    return order


def _depths(schedule: Schedule) -> list[int]:
    """The length of the longest chain of ops that ends with each."""
    depths: list[int] = []
    for makers in schedule.makers:
        depths.append(1 + max((depths[maker] for maker in makers), default=0))
    return depths
