"""What is a record of a plan? The words one launch is run from: a header, then the kernel's arguments."""

from __future__ import annotations

import ctypes

HEADER = 4
"""Words before the arguments: address of the kernel, number of chunks, tasks per chunk, whether helpers
that sleep are worth waking.

The number of chunks is 0 where the thread that walks the plan runs all tasks itself.
"""

ALL_TASKS = (1 << 63) - 1
"""As the end of a range of tasks: up to the last one there is."""

KERNEL_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
"""A compiled kernel: (address of the arguments, first task, end of tasks, number of the worker)."""
