"""What does a kernel write down about an access that fails? Eight words, which a run looks at.

The first access of a record that fails claims them; the kernel goes on, with memory of nobody's in the place
of what it must not touch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

STATE, BUFFER, OFFSET, BYTES, EXTENT, ALIGNMENT, SITE, FILL = range(8)
"""Words: 0 as long as all is well; number of the buffer, or -1, -2, ... for scratch memory of the kernel;
first byte touched, from the start of the buffer; bytes touched; bytes the buffer has; alignment claimed if
that is what is wrong, else 0; address of the text that describes the access. The last one a kernel
reads: what every byte of its scratch memory holds at first."""

FAULT_BYTES = 64

BASE, SIZE, NUMBER, RECORD = range(4)
"""Words of the bounds of a buffer: address, bytes, number, address of the fault words."""


@dataclass(frozen=True)
class Fault:
    """One access that failed."""

    buffer: int
    offset: int
    nbytes: int
    extent: int
    alignment: int
    site: str

    @staticmethod
    def read(words: Sequence[int]) -> Fault | None:
        """What fault words say; None if all is well. The code of the kernels must be there still."""
        if not words[STATE]:
            return None
        text = ctypes.string_at(words[SITE]).decode()
        return Fault(
            words[BUFFER], words[OFFSET], words[BYTES], words[EXTENT], words[ALIGNMENT], text
        )  # fmt: skip

    def text(self, ins: int, itemsizes: Sequence[int]) -> str:
        """What is wrong, said of a launch of `ins` inputs and of buffers with elements of these sizes."""
        name, element = self._buffer_name(ins), ""
        if 0 <= self.buffer < len(itemsizes) and itemsizes[self.buffer]:
            element = f" (element {self.offset // itemsizes[self.buffer]})"
        where = f"{self.site}: {self.nbytes} bytes at byte {self.offset}{element} of {name}"
        if self.alignment:
            return f"{where}, which is not at a multiple of {self.alignment} bytes"
        return f"{where}, which has {self.extent} bytes"

    def _buffer_name(self, ins: int) -> str:
        if self.buffer < 0:
            return f"scratch memory {-self.buffer - 1}"
        if self.buffer < ins:
            return f"buffer {self.buffer} (input {self.buffer})"
        return f"buffer {self.buffer} (output {self.buffer - ins})"
