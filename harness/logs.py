"""Page-load logs in the 2013 text format: tagged sections, other text around them ignored.

Fetchlogs (``NAME.fetchlog/<page>``) and client logs (``client/<delaynet>-<run>-tfo-<0|1>/<page>``) are both written so.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Resolve:
    """One name looked up. Times in ms from the start of the load; `error` is 0 or Chrome's net error code."""

    start_ms: float
    end_ms: float
    error: int
    name: str
    """``host:port``"""
    addresses: str
    """Space-separated ``ip:port``, empty when the look-up failed."""


@dataclass(frozen=True)
class Transaction:
    """One HTTP request and its response, from asking for it to its last byte. Times in ms from the start of the load."""

    start_ms: float
    end_ms: float
    url: str


@dataclass(frozen=True)
class Response:
    """The head of one response: `status` is the status line's text ("OK", "Found", "No Content")."""

    status: str
    mime_type: str
    charset: str
    url: str
    redirect_url: str | None


@dataclass
class PageLog:
    """What one log holds. `transactions` are in order of completion.

    `transactions_seen` is False for a log without ``<transactions>``: a load that crashed.
    `problems` says in one line each what could not be read.
    """

    resolves: list[Resolve] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    transactions_seen: bool = False
    problems: list[str] = field(default_factory=list)
