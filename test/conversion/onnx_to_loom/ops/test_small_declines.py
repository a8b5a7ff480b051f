"""Every reason for which these ops decline, and next to it the form that has a kernel."""

from __future__ import annotations

from lowering_reasons import Case, check, reason_of

DRAWN = "what is dropped is drawn in Python, as the seed asks for"
TRUE, HALF = "dense<true> : tensor<i1>", "dense<0.5> : tensor<f32>"


def dropout(ratio: str = "none", training: str = "none") -> Case:
    return ("Dropout", ["tensor<3xf32>", ratio, training], "", ["tensor<3xf32>", "tensor<3xi1>"])


def batch_norm(shape: str = "2x3", parameter: str = "3") -> Case:
    operands = [f"tensor<{shape}xf32>", *[f"tensor<{parameter}xf32>"] * 4]
    return (
        "BatchNormalization",
        operands,
        "training_mode = 1 : si64",
        [f"tensor<{shape}xf32>", "none", "none"],
    )


def grid(size: str = "tensor<4xi64>", element: str = "f32") -> Case:
    return ("AffineGrid", [f"tensor<1x2x3x{element}>", size], "", [f"tensor<1x?x?x2x{element}>"])


def window(element: str, number: int) -> Case:
    return ("HannWindow", ["tensor<i64>"], f"output_datatype = {number} : si64", [f"tensor<?x{element}>"])


def mel(element: str, number: int) -> Case:
    operands = [*["tensor<i64>"] * 3, *["tensor<f32>"] * 2]
    return ("MelWeightMatrix", operands, f"output_datatype = {number} : si64", [f"tensor<?x?x{element}>"])


CASES: dict[str, tuple[Case, str | None]] = {
    "dropout fits": (dropout(HALF), None),
    "dropout draws": (dropout(HALF, TRUE), DRAWN),
    "dropout may draw": (dropout("tensor<f32>", TRUE), None),
    "batch norm fits": (batch_norm(), None),
    "batch norm without channels": (
        batch_norm("3"),
        "BatchNormalization of data without channels has no kernel",
    ),
    "batch norm of matrices": (
        batch_norm(parameter="1x3"),
        "a parameter of BatchNormalization is no vector",
    ),
    "det fits": (("Det", ["tensor<2x2xf32>"], "", ["tensor<f32>"]), None),
    "det of a vector": (
        ("Det", ["tensor<2xf32>"], "", ["tensor<f32>"]),
        "Det of what are no matrices of floats has no kernel",
    ),
    "det of integers": (
        ("Det", ["tensor<2x2xi32>"], "", ["tensor<i32>"]),
        "Det of what are no matrices of floats has no kernel",
    ),
    "grid fits": (grid(), None),
    "grid of any rank": (
        grid("tensor<?xi64>"),
        "AffineGrid of a size whose length is not known has no kernel",
    ),
    "grid of integers": (grid(element="i32"), "AffineGrid of elements of type i32 has no kernel"),
    "window fits": (window("f32", 1), None),
    "window of integers": (window("i32", 6), "a window of elements of type i32 has no kernel"),
    "mel fits": (mel("f32", 1), None),
    "mel of integers": (mel("i32", 6), "weights of type i32 have no kernel"),
}


@check(CASES)
def test_reasons(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
