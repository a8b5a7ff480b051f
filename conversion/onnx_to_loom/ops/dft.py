"""DFT and STFT: Fourier transforms of any length along any axis, and of the frames of signals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    program_constant,
    rank_of,
    ranked,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.ops.movement import exact_dims
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.signal.fourier import Complex
from onnxloom.conversion.onnx_to_loom.signal.spectra import Spectra, build_spectra
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.scalars import KERNEL_FLOATS, Scalar, compute_type

Put = Callable[[Scalar, Complex], None]


@lowering(onnx.DFTOp)
def lower_dft(op: onnx.DFTOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Length and axis are read when the plan is made."""
    data, length, axis = [*inputs, None, None][:3]
    assert data is not None
    parts, element = _parts(data), ranked(data.type, "the signal").element_type
    inverse, onesided = bool(int_attr(op, "inverse")), bool(int_attr(op, "onesided"))
    half_given = inverse and onesided
    rank = rank_of(data)
    space = builder.insert(loom.DftSpaceOp.make(data, length, axis, rank, inverse, onesided)).results
    outer, size, inner, count, kept = space[rank:]
    place_of_axis = -2 if axis is None else _constant(axis)
    if length is not None:
        count = _index(builder, _constant(length), count)
    elif place_of_axis is not None and -rank <= place_of_axis < rank and not half_given:
        count = _index(builder, shape_of(data)[place_of_axis], count)
    wide = compute_type(element)

    def read(k: KernelBody, number: Scalar, put: Put) -> None:
        """Sizes after the first three: elements along the axis, and after it."""
        s, (size, inner) = k.scalars, k.sizes[3:]
        zero = s.const(0.0, wide)
        bins = k.sizes[1]
        if half_given:
            bins = k.add(s.emit(arith.DivUIOp(bins, k.index(2))), k.index(1))
        given = s.minimum(size, bins)
        o, i = k.split(number, [k.index(1), inner])
        start = k.at(k.mul(o, size), inner, i)
        with k.loop(given) as j:
            at = k.mul(k.add(start, k.mul(j, inner)), k.index(parts))
            values = [s.widen(k.load(k.ins[0], k.add(at, k.index(part)))) for part in range(parts)]
            put(j, (values[0], values[1] if parts == 2 else zero))
        with k.loop(bins, start=given) as j:
            put(j, (zero, zero))

    out_parts = 1 if half_given else 2

    def place(k: KernelBody, number: Scalar) -> tuple[Scalar, Scalar]:
        inner = k.sizes[4]
        o, i = k.split(number, [k.index(1), inner])
        step = k.index(out_parts)
        return k.mul(k.at(k.mul(o, k.sizes[2]), inner, i), step), k.mul(inner, step)

    name = f"dft_{'inverse_' if inverse else ''}{parts}_{out_parts}"
    spectra = Spectra(name, element, wide, inverse, half_given, parts == 1, read, place, out_parts)
    type_ = ranked(op.results[0].type, "the result")
    out = builder.empty(type_, exact_dims(builder, type_, space[:rank]))
    counts = (builder.multiply([outer, inner]), count, kept)
    return [build_spectra(builder, spectra, [data], out, counts, [size, inner])]


def _constant(scalar: SSAValue) -> int | None:
    """The number a program-level tensor of one integer holds."""
    array = program_constant(scalar)
    return int(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


def _index(builder: KernelBuilder, known: int | None, planned: SSAValue) -> SSAValue:
    """A size that is known at compile time, else one that is when the plan is made."""
    return planned if known is None or known < 1 else builder.index(known)


def _parts(signal: SSAValue) -> int:
    """1 for real numbers, 2 for complex ones. Raises Declined where that is not known."""
    element, rank = ranked(signal.type, "the signal").element_type, rank_of(signal)
    if not isinstance(element, KERNEL_FLOATS):
        raise Declined(f"spectra of elements of type {element} have no kernel")
    if rank < 2 or shape_of(signal)[-1] not in (1, 2):
        raise Declined("whether the signal is real or complex is not known")
    return shape_of(signal)[-1]


@lowering(onnx.STFTOp)
def lower_stft(op: onnx.STFTOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Frames are read, and weighted, where they are in the signal."""
    signal, hop, window, length = [*inputs, None, None][:4]
    assert signal is not None and hop is not None
    parts, element = _parts(signal), ranked(signal.type, "the signal").element_type
    if rank_of(signal) != 3:
        raise Declined(f"STFT of a signal of {rank_of(signal)} dims has no kernel")
    wide = compute_type(element)
    onesided = bool(int_attr(op, "onesided"))
    space = builder.insert(loom.StftSpaceOp.make(signal, hop, window, length, onesided)).results
    step, count, frames, kept = space
    if length is not None:
        count = _index(builder, _constant(length), count)
    elif window is not None:
        count = _index(builder, shape_of(window)[0], count)
    batch, size = builder.dims(signal)[:2]

    def read(k: KernelBody, number: Scalar, put: Put) -> None:
        """Sizes after the first three: elements of a signal, frames, their distance, of the window."""
        s, (size, frames, step, weights) = k.scalars, k.sizes[3:]
        zero = s.const(0.0, wide)
        b, f = k.split(number, [k.index(1), frames])
        begin = k.mul(f, step)
        given = s.minimum(s.minimum(k.sizes[1], weights), k.sub(size, begin))
        start = k.at(b, size, begin)
        with k.loop(given) as j:
            at = k.mul(k.add(start, j), k.index(parts))
            values = [s.widen(k.load(k.ins[0], k.add(at, k.index(part)))) for part in range(parts)]
            if window is not None:
                weight = s.widen(k.load(k.ins[1], j))
                values = [s.mul(value, weight) for value in values]
            put(j, (values[0], values[1] if parts == 2 else zero))
        with k.loop(k.sizes[1], start=given) as j:
            put(j, (zero, zero))

    def place(k: KernelBody, number: Scalar) -> tuple[Scalar, Scalar]:
        return k.mul(number, k.mul(k.sizes[2], k.index(2))), k.index(2)

    type_ = ranked(op.results[0].type, "the result")
    dims = exact_dims(builder, type_, [batch, frames, kept, builder.index(2)])
    spectra = Spectra(f"stft_{parts}", element, wide, False, False, parts == 1, read, place, 2)
    ins = [v for v in (signal, window) if v is not None]
    counts = (builder.multiply([batch, frames]), count, kept)
    weights = count if window is None else builder.dim(window, 0)
    others = [size, frames, step, weights]
    return [build_spectra(builder, spectra, ins, builder.empty(type_, dims), counts, others)]
