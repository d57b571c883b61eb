"""The test internet."""

from collections.abc import Iterator

import pytest

from tests.support.internet.server import Internet, serve


@pytest.fixture(scope="module")
def internet() -> Iterator[Internet]:
    """Run the servers of the test internet."""
    with serve() as running:
        yield running
