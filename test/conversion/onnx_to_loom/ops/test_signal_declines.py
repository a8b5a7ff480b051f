"""Every reason for which spectral transforms decline, and next to it the form that has a kernel."""

from __future__ import annotations

from lowering_reasons import Case, check, reason_of


def dft(signal: str = "1x8x2xf32") -> Case:
    return ("DFT", [f"tensor<{signal}>", "none", "none"], "", [f"tensor<1x8x2x{signal.split('x')[-1]}>"])


def stft(signal: str = "1x8x1xf32") -> Case:
    operands = [f"tensor<{signal}>", "dense<2> : tensor<i64>", "none", "dense<4> : tensor<i64>"]
    return ("STFT", operands, "", ["tensor<1x3x3x2xf32>"])


UNKNOWN = "whether the signal is real or complex is not known"

SPECTRA: dict[str, tuple[Case, str | None]] = {
    "fits": (dft(), None),
    "dynamic parts": (dft("1x8x?xf32"), UNKNOWN),
    "three parts": (dft("1x8x3xf32"), UNKNOWN),
    "no parts": (dft("2xf32"), UNKNOWN),
    "integers": (dft("1x8x2xi32"), "spectra of elements of type i32 have no kernel"),
    "fits frames": (stft(), None),
    "dims": (stft("1x1x8x1xf32"), "STFT of a signal of 4 dims has no kernel"),
}


@check(SPECTRA)
def test_spectra(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
