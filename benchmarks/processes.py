"""What does a process cost? CPU time from its start, and the most memory it had resident."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Final

_END: Final = """
import json, time
seconds = time.process_time()
try:  # what getrusage says began with the parent
    with open("/proc/self/status") as status:
        most = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
except OSError:
    import resource
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([seconds, most * 1024, globals().get("said")]))
"""


@dataclass(frozen=True)
class Cost:
    """Of one process, its start included."""

    seconds: float
    """CPU time."""

    bytes: int
    """Most that was resident."""

    said: Any = None
    """What the code left in a variable of this name."""


def run_process(code: str, *args: str) -> Cost:
    """Runs `code` in a process of its own.

    Raises:
        RuntimeError: it fails; with what it wrote to stderr.
    """
    # Modules are compiled once, as for a user.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-W", "ignore", "-c", code + _END, *args]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600, env=environment)
    if done.returncode:
        raise RuntimeError(f"a process ended with {done.returncode}: {done.stderr.strip()}")
    return Cost(*json.loads(done.stdout.splitlines()[-1]))
