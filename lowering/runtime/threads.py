"""How many threads does a model use? One per physical core this process may use, unless told otherwise."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from onnxloom.errors import InputError
from onnxloom.lowering.team_code import MAX_WORKERS

VARIABLE = "ONNXLOOM_NUM_THREADS"
"""Environment variable that stands in for a number of threads of 0."""

_MOST_DIGITS = 20
"""Of a text that Python is asked to read: it refuses thousands."""

_CPUS = Path("/sys/devices/system/cpu")
_CGROUP = Path("/sys/fs/cgroup")


def thread_count(wanted: int, what: str = "threads") -> int:
    """`wanted`; for 0 what the environment says, else as many as there are usable cores.

    Raises:
        InputError: it is no such number.
    """
    if type(wanted) is not int or not 0 <= wanted <= MAX_WORKERS:
        raise InputError(
            f"{what} is {wanted!r}; expected 0 (as many as there are cores) or a number of threads,"
            f" at most {MAX_WORKERS}"
        )
    if wanted:
        return wanted
    told = os.environ.get(VARIABLE, "").strip()
    if not told:
        return usable_cores()
    if not told.isdecimal() or len(told) > _MOST_DIGITS or int(told) > MAX_WORKERS:
        raise InputError(f"{VARIABLE} is {told!r}; expected a number of threads, at most {MAX_WORKERS}")
    return int(told) or usable_cores()


def usable_cores() -> int:
    """Physical cores that the affinity of this process and the limits of its control group leave it."""
    cpus = _affinity()
    cores = len({_core_of(cpu) for cpu in cpus})
    quota = _quota()
    return min(max(1, cores if quota is None else min(cores, quota)), MAX_WORKERS)


def _affinity() -> set[int]:
    try:
        return os.sched_getaffinity(0)
    except (AttributeError, OSError):  # a system without it
        return set(range(os.cpu_count() or 1))


@cache
def _core_of(cpu: int) -> str:
    """The same text for hardware threads that share a core."""
    return _text(_CPUS / f"cpu{cpu}" / "topology" / "thread_siblings_list") or str(cpu)


def _quota() -> int | None:
    """Processors' worth of time that the control group allows, rounded up; None without a limit."""
    period_text = _text(_CGROUP / "cpu" / "cpu.cfs_period_us")
    limit = _text(_CGROUP / "cpu.max") or f"{_text(_CGROUP / 'cpu' / 'cpu.cfs_quota_us')} {period_text}"
    quota, _, period = limit.partition(" ")
    if not quota.isdecimal() or not period.isdecimal() or int(period) == 0:
        return None  # "max", -1, or no control groups
    return max(1, -(-int(quota) // int(period)))


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
