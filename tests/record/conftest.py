"""A recording that is being made, and the test internet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.record.store import Store
from tests.support.internet.server import Internet, serve


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give the store of a recording `demo`."""
    made = Store(tmp_path, "demo")
    made.make()
    yield made
    made.clean_up()


@pytest.fixture(scope="module")
def internet() -> Iterator[Internet]:
    """Run the servers of the test internet."""
    with serve() as running:
        yield running
