"""Which threads help to run plans? One team per process, started when first needed, asleep between runs.

Helpers are daemon threads parked in native code: they never hold the GIL. A child process starts with none,
whatever its parent had; at exit they are told to return before the interpreter goes away.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from onnxloom.lowering.plan.memory import address_of, aligned_array
from onnxloom.lowering.team_code import MAX_WORKERS, STATE_BYTES

_INT = ctypes.c_int64
_POINTER = ctypes.c_void_p
_RUN = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _INT, _INT, _POINTER, _INT)
_HELP = ctypes.CFUNCTYPE(_INT, _POINTER, _INT)
_CONTROL = ctypes.CFUNCTYPE(_INT, _POINTER)

STOP_SECONDS = 1.0
"""How long the end of the process waits for a helper."""


class TeamFunctions:
    """The native functions of `team_code.py`."""

    def __init__(self, addresses: Mapping[str, int], library: Any) -> None:
        """`library` holds the code."""
        self.library = library
        self.run = _RUN(addresses["team_run"])
        self.help = _HELP(addresses["team_help"])
        self.init = _CONTROL(addresses["team_init"])
        self.stop = _CONTROL(addresses["team_stop"])
        self.key = addresses["team_help"]


class Team:
    """Helpers that wait for work in one state."""

    def __init__(self, functions: TeamFunctions) -> None:
        self.functions = functions
        self.state = aligned_array((STATE_BYTES,), np.dtype(np.uint8), STATE_BYTES)
        self.address = address_of(self.state)
        self.helpers: list[threading.Thread] = []
        self.closed = False
        self.size = 1
        """Workers there are: the thread that calls and the helpers."""
        self.reset()

    def reset(self) -> None:
        """A team without helpers, whatever state it was in: none of its threads is there any more."""
        self._lock = threading.Lock()
        self.helpers = []
        self.size = 1
        self.state[:] = 0
        self.functions.init(self.address)

    def grow(self, workers: int) -> None:
        """Starts helpers until there are `workers` workers. A run does without those that do not start."""
        with self._lock:
            while self.size < workers:
                worker = self.size
                # Counted first: Ctrl-C while it starts must not give its number to another helper as well.
                self.size += 1
                if not self.closed:
                    self._start(worker)

    def _start(self, worker: int) -> None:
        helper = threading.Thread(
            target=self.functions.help, args=(self.address, worker), name=f"onnxloom-{worker}", daemon=True
        )
        try:
            helper.start()
        except RuntimeError:  # the limit of threads is reached, or the interpreter is going away
            return
        self.helpers.append(helper)

    def close(self) -> None:
        """Has all helpers return."""
        self.closed = True
        self.functions.stop(self.address)
        for helper in self.helpers:
            helper.join(STOP_SECONDS)


_TEAMS: dict[int, Team] = {}
"""By the code they run: one, unless stored models of another build were loaded. They are never dropped:
helpers run code that must not go away."""

_making = threading.Lock()


def team_of(functions: TeamFunctions) -> Team:
    """The team of this process."""
    with _making:
        team = _TEAMS.get(functions.key)
        if team is None:
            team = _TEAMS[functions.key] = Team(functions)
        return team


def team_executor(functions: TeamFunctions, threads: int) -> Callable[[int, int, int, int], int]:
    """Runs records as `Executor.run` does, on up to `threads` threads."""
    team, run = team_of(functions), functions.run
    workers, address = min(threads, MAX_WORKERS), team.address

    def execute(table: int, starts: int, begin: int, end: int) -> int:
        if team.size < workers:
            team.grow(workers)
        return run(table, starts, begin, end, address, workers)

    return execute


def _after_fork() -> None:
    global _making
    _making = threading.Lock()
    for team in _TEAMS.values():
        team.reset()


def _at_exit() -> None:
    for team in list(_TEAMS.values()):
        team.close()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
