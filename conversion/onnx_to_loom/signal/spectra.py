"""How do signals get into the lanes of transforms, and spectra out of them?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, index_value
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.signal.fourier import Complex, Lanes, Transform, roots_table
from onnxloom.dialects.onnx.semantics.scalars import Scalar, bit_width

FEW = 4
"""Fewer transforms than this are computed one by one: most lanes would compute nothing."""


@dataclass(frozen=True)
class Spectra:
    """Transforms to be computed. Sizes of the kernel: number, length, elements that are kept, then others."""

    name: str
    stored: Attribute
    """The float type of the result."""
    compute: Attribute
    inverse: bool
    half_given: bool
    """Whether half of a spectrum is given, the other half being its mirror image."""
    real: bool
    """Whether real numbers are given."""
    read: Callable[[KernelBody, Scalar, Callable[[Scalar, Complex], None]], None]
    """Gives the elements of a transform: calls its last argument with number and value of each."""
    place: Callable[[KernelBody, Scalar], tuple[Scalar, Scalar]]
    """Where the result of a transform begins, and the distance of its elements."""
    parts: int
    """Numbers per element of the result: 1 if only real parts are wanted."""


def build_spectra(
    builder: KernelBuilder,
    spectra: Spectra,
    ins: Sequence[SSAValue],
    out: SSAValue,
    counts: tuple[SSAValue, SSAValue, SSAValue],
    others: Sequence[SSAValue],
) -> SSAValue:
    """Writes the kernel and its launch. `counts` are the first three sizes, `others` follow them."""
    count, length, _ = counts
    known = index_value(count)
    width = builder.kernels.target.lanes(bit_width(spectra.compute) // 8)
    width = 1 if known is not None and known < FEW else width
    roots = roots_table(builder, length, spectra.compute)
    ins = [*ins, roots]
    types = [buffer_element(v.type) for v in ins]
    k = KernelBody(spectra.name, types, [buffer_element(out.type), spectra.compute], 3 + len(others))
    _write(k, spectra, width)
    size = builder.multiply([length, builder.index(4 * width)])
    private = builder.private(spectra.compute, size)
    return builder.launch(k, ins, [out, private], [*counts, *others])[0]


def _write(k: KernelBody, spectra: Spectra, width: int) -> None:
    s = k.scalars
    count, length, kept = k.sizes[:3]
    blocks = s.emit(arith.CeilDivSIOp(count, k.index(width)))
    with k.tasks(blocks) as block:
        begin = k.private(k.mul(length, k.index(4 * width)))
        lanes = Lanes(k.outs[1], begin, width, length)
        first = k.mul(block, k.index(width))
        with k.loop(k.index(width)) as lane:
            # Lanes without a transform compute the last one once more.
            number = s.minimum(k.add(first, lane), k.sub(count, k.index(1)))
            _fill(k, spectra, lanes, lane, number)
        array = Transform(k, lanes, k.ins[-1], spectra.compute, spectra.inverse).run()
        with k.loop(s.minimum(k.sub(count, first), k.index(width))) as lane:
            _drain(k, spectra, lanes, lane, k.add(first, lane), array, kept)


def _fill(k: KernelBody, spectra: Spectra, lanes: Lanes, lane: Scalar, number: Scalar) -> None:
    s = k.scalars

    def put(element: Scalar, value: Complex) -> None:
        for part in (0, 1):
            k.store(value[part], lanes.buffer, k.add(lanes.row(k, k.index(part), element), lane))

    def put_both(element: Scalar, value: Complex) -> None:
        """An element and its mirror image; one that is its own has no imaginary part."""
        own = _mirrors_itself(k, lanes, element)
        zero = s.const(0.0, value[1].type)
        put(element, (value[0], s.select(own, zero, value[1])))
        mirror = s.select(own, element, k.sub(lanes.length, element))
        put(mirror, (value[0], s.select(own, zero, s.neg(value[1]))))

    spectra.read(k, number, put_both if spectra.half_given else put)


def _drain(
    k: KernelBody, spectra: Spectra, lanes: Lanes, lane: Scalar, number: Scalar, array: Scalar, kept: Scalar
) -> None:
    s = k.scalars
    target, step = spectra.place(k, number)
    scale: Scalar | None = None
    if spectra.inverse:
        size = s.int_to_float(k.from_index(lanes.length, i64), spectra.compute, unsigned=False)
        scale = s.divf(s.const(1.0, spectra.compute), size)
    with k.loop(kept, parallel=True) as j:
        for part in range(spectra.parts):
            value = k.load(lanes.buffer, k.add(lanes.row(k, k.add(array, k.index(part)), j), lane))
            value = value if scale is None else s.mul(value, scale)
            if spectra.real and part == 1:
                # Where a sum is its own mirror image it is real, whatever rounding says; NaN stays.
                value = s.select(_mirrors_itself(k, lanes, j), s.sub(value, value), value)
            k.store(s.float_to(value, spectra.stored), k.outs[0], k.add(k.at(j, step, target), k.index(part)))


def _mirrors_itself(k: KernelBody, lanes: Lanes, element: Scalar) -> Scalar:
    """Whether an element is its own mirror image: the first one, or the one half way."""
    s = k.scalars
    mirror = k.sub(lanes.length, element)
    return s.or_(s.cmp("eq", element, k.index(0)), s.cmp("eq", element, mirror))
