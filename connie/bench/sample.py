"""What is measured of one connection, and what a way to connect must offer to be measured.

Each way is given the same name, and finds its addresses itself. A time begins before the name is looked up and ends
with the connection, or with the first byte of the answer where a request is sent.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Sample:
    """One connection: seconds until it stood, until the first byte of the answer (None: no request), and to whom."""

    connect_s: float
    first_byte_s: float | None
    address: str


class Strategy(Protocol):
    """A way to connect."""

    @property
    def name(self) -> str:
        """What it is called in lines and tables."""

    def measure(self, host: str, port: int, timeout_s: float | None, request: bytes = b"") -> Sample:
        """Connect, send `request` if there is one and wait for one byte, close. Raises OSError."""
