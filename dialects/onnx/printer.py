"""What must a printed module contain to be read back bit for bit?"""

from __future__ import annotations

from typing import IO, Any, cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute
from xdsl.printer import Printer

from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_DTYPE
from onnxloom.dialects.onnx.literals import format_float
from onnxloom.dialects.onnx.narrow import is_dense_of_any_shape
from onnxloom.dialects.onnx.quoting import quote
from onnxloom.dialects.onnx.tensor_text import print_dense, print_dense_attr
from onnxloom.dialects.onnx.weights import RESOURCE, WeightsAttr, WeightsPlace
from onnxloom.dialects.onnx.weights_file import WeightsWriter
from onnxloom.dialects.onnx.weights_source import find_file, is_in_memory
from onnxloom.errors import ModelError


class OnnxPrinter(Printer):
    """xDSL's printer, with exact numbers and weights as keys."""

    elide_weights: bool = False
    """Leave the data of weights out: the text shows the structure and cannot be run."""

    weights_out: WeightsWriter | None = None
    """Where weights that no file holds are written; without it they are printed inline."""

    def __init__(self, stream: IO[str] | None = None, *args: Any, **options: Any) -> None:
        super().__init__(stream, *args, **options)

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, WeightsAttr):
            self._print_weights(attribute)
        elif is_dense_of_any_shape(attribute):
            print_dense_attr(self, attribute)
        else:
            super().print_attribute(attribute)

    def _print_weights(self, attr: WeightsAttr) -> None:
        place = attr.place
        if self.elide_weights:
            self._print_resource("__elided__", attr)
        elif place is not None and place.file == RESOURCE:
            self._print_resource(str(place.key), attr)
        elif place is not None and not is_in_memory(place) and not self._is_replaced(place):
            super().print_attribute(attr)
        elif self.weights_out is None:
            print_dense(self, attr.array(), attr.type, attr.tensor_type.element_type)
        else:
            written = self.weights_out.add(attr.array())
            offset, length = cast(tuple[int, int], written.key)
            self.print_string(f"#onnx.weights<{quote(written.file)}, [{offset}, {length}] : ")
            self.print_attribute(attr.type)
            self.print_string(">")

    def _is_replaced(self, place: WeightsPlace) -> bool:
        """Whether the file of a key is the one that weights are written to: its data are gone then."""
        if self.weights_out is None or not self.weights_out.path.exists():
            return False
        try:
            return find_file(place).samefile(self.weights_out.path)
        except (ModelError, OSError):
            return False

    def _print_resource(self, name: str, attr: WeightsAttr) -> None:
        self.print_string(f"dense_resource<{name}> : ")
        self.print_attribute(attr.type)

    def print_string_literal(self, string: str) -> None:
        self.print_string(quote(string))

    def print_float(self, value: float, type: AnyFloat) -> None:
        dtype = ELEMENT_TO_DTYPE.get(type)
        if dtype is None:  # f80, f128, tf32
            super().print_float(value, type)
            return
        array = np.array([value]).astype(dtype)
        bits = int.from_bytes(array.tobytes(), "little")
        self.print_string(format_float(float(array.astype(np.float64)[0]), bits, dtype))
