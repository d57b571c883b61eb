"""What all tests of figures need."""

import io

import pytest

from harness.show.figures import framed


@pytest.fixture(scope="session", autouse=True)
def fonts() -> None:
    """Have Matplotlib open its font, which stays open, before any test's descriptors are counted."""
    figure, _ = framed((3, 3), "x", "x")
    for ending in ("png", "pdf"):
        figure.savefig(io.BytesIO(), format=ending)
