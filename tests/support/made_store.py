"""A recording that is being made."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.mirror.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give the store of a recording `demo`."""
    made = Store(tmp_path, "demo")
    made.make()
    yield made
    made.clean_up()
