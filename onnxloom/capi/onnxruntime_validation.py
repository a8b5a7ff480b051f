"""What onnxruntime asks about the system it is on: nothing here."""

from __future__ import annotations


def check_distro_info() -> None:
    """Nothing is wrong with any system."""


def get_package_name_and_version_info() -> tuple[str, str, str]:
    """Name and version of this package, and no version of CUDA."""
    from onnxloom import __version__

    return "onnxloom", __version__, ""
