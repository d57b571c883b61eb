"""The record of one page load: ``client/<delaynet>-<run>-tfo-<0|1>/<page>.json``, and its only reader and writer.

    record = read_load_record(path)         # UnreadableFileError when it is none: path:line: cannot be read (why)
    write_json(path, replace(record, why_not=("SYN retransmitted by user: 1",)).to_json())

A record is written in FORMAT. What older ones lack is not known.
What a field is in the file: its own name, with the units in it; docs/results.md describes each.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from harness.files.load_parts import (
    CaptureCounts,
    CookieCounts,
    Count,
    Counters,
    Document,
    EarlyCounts,
    Environment,
    Initiator,
    MiddleboxCounts,
    Ms,
    NetworkKind,
    ReceivedAnswers,
    Timekeeping,
    UsedConnection,
)
from harness.files.reason_kinds import ReasonKind
from harness.files.transport import Transport
from harness.system.atomic import write_atomically
from harness.system.untrusted import UnreadableFileError, read_untrusted_json

FORMAT = 2
"""Version of a load's and of an experiment's file. A reader refuses files of a newer one, and reads all older ones."""
NO_REASON = "not valid, and no reason given"


@dataclass(frozen=True)
class LoadEvent:
    """From when to when the handlers of a load event ran (Navigation Timing: loadEventStart, loadEventEnd); in ms."""

    start_ms: float
    end_ms: float

    def is_late(self, start_ms: float, end_ms: float | None) -> bool:
        """Tell whether the event did not wait for a request from `start_ms` to `end_ms` (None: it never ended).

        What a handler of the event asks for does not hold it up, unless the handler waits for it (a synchronous
        XMLHttpRequest): then it ends before the event does.
        """
        in_handler = self.start_ms <= start_ms <= self.end_ms
        return start_ms > self.end_ms or (in_handler and (end_ms is None or end_ms > self.end_ms))


def load_event_of(timing: Mapping[str, Any], *, began_ms: float = 0.0) -> LoadEvent | None:
    """Return the load event that a page's navigation `timing` tells of, None without one; `began_ms` is added."""
    end_ms = timing.get("loadEventEnd")
    if not end_ms:
        return None
    return LoadEvent(began_ms + float(timing.get("loadEventStart") or end_ms), began_ms + float(end_ms))


@dataclass(frozen=True)
class LoadRecord:
    """All that is known of one load. Times in ms from navigationStart unless said otherwise; None: not known.

    `experiment` is the id of the experiment it belongs to, None in the oldest files. `attempt` is 1, or higher when
    the same load had failed before. `why_not` are the reasons why it does not count, in words; without one it does.
    `why_not_kinds` are their kinds, which older records lack. `moved_on_to` is the page that this one led on to, "" for
    none; `timed_out_s` the limit within which it had no load event, 0 where it was kept. `logs` names the files beside
    it that keep what programs said during the load. `failed_requests` began before the load event, and were not cut by
    our own limit. `fcp_ms` is when Chrome first painted something of the page, `lcp_ms` the largest part of it, as far
    as it was painted when the load ended (https://www.w3.org/TR/paint-timing/,
    https://www.w3.org/TR/largest-contentful-paint/); older records lack both. `middlebox` is what spoilt SYNs on the
    way, None for nothing; `balancer` how many servers with cookie keys of their own stood behind each address.
    """

    url: str
    page: str
    delaynet_ms: Ms
    rtt_ms: Ms
    tfo: Literal[0, 1]
    run: Count
    early: bool = False
    quic: bool = False
    attempt: Annotated[int, msgspec.Meta(ge=1)] = 1
    experiment: str | None = None
    network: NetworkKind = "star"
    why_not: tuple[str, ...] = ()
    why_not_kinds: tuple[ReasonKind, ...] = ()
    plt_ms: Ms | None = None
    last_ms: Ms | None = None
    errors: tuple[str, ...] = ()
    moved_on_to: str = ""
    timed_out_s: float = 0.0
    quiet: bool | None = None
    document_uri: str | None = None
    now_ms: float | None = None
    time_origin_ms: float | None = None
    long_tasks: tuple[tuple[float, float], ...] = ()
    first_byte_ms: Ms | None = None
    dom_content_loaded_ms: Ms | None = None
    fcp_ms: Ms | None = None
    lcp_ms: Ms | None = None
    navigation_timing: dict[str, Any] = field(default_factory=dict)
    document: Document | None = None
    requests: Count | None = None
    request_urls: tuple[str, ...] = ()
    initiators: tuple[Initiator, ...] | None = None
    failed_requests: dict[str, Count] | None = None
    bytes: Count | None = None
    connections: tuple[UsedConnection, ...] | None = None
    preconnects_unused: Count | None = None
    left_out: dict[str, Count] = field(default_factory=dict)
    log_problems: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    connections_with_request: Count | None = None
    syn_data_connections: Count | None = None
    silent_connections: Count | None = None
    early_data: EarlyCounts | None = None
    cookies: CookieCounts | None = None
    answers: ReceivedAnswers | None = None
    timekeeping: Timekeeping | None = None
    counters: Counters = field(default_factory=dict)
    delay_line_drops: Count | None = None
    buffer_drops: dict[str, Count] | None = None
    middlebox: MiddleboxCounts | None = None
    balancer: Annotated[int, msgspec.Meta(ge=1)] = 1
    capture: CaptureCounts | None = None
    began_s: float | None = None
    environment: Environment | None = None

    def __post_init__(self) -> None:
        """Refuse TFO over QUIC, which has no SYN."""
        Transport.of(self.tfo, early=self.early, quic=self.quic)

    @property
    def transport(self) -> Transport:
        """How its connections began."""
        return Transport.of(self.tfo, early=self.early, quic=self.quic)

    @property
    def valid(self) -> bool:
        """Whether the load counts."""
        return not self.why_not

    @property
    def load_event(self) -> LoadEvent | None:
        """When the page's load event was, from the start of the load; None without one. Raises ValueError."""
        if self.plt_ms is None:
            return None
        return load_event_of(self.navigation_timing) or LoadEvent(self.plt_ms, self.plt_ms)

    def to_json(self) -> dict[str, Any]:
        """Return the record as it stands in its file."""
        return {"format": FORMAT, **msgspec.to_builtins(self), "valid": self.valid}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "LoadRecord":
        """Return the record that a file of any format up to FORMAT holds. ValueError for what is none of them."""
        reason = {} if found.get("valid") is True or found.get("why_not") else {"why_not": [NO_REASON]}
        return msgspec.convert({**found, **reason}, cls)


T = TypeVar("T")


class NewerFormatError(UnreadableFileError):
    """A file that a newer version of this program wrote."""


def read_load_record(path: Path) -> LoadRecord:
    """Read a load's .json. Raises UnreadableFileError, of which MissingFileError and NewerFormatError are kinds."""
    return read_json(path, LoadRecord.from_json)


class OfThisTool(msgspec.Struct):
    """What all JSON files of this tool have: the version of their format."""

    format: Annotated[int, msgspec.Meta(ge=1)]


def read_json(path: Path, make: Callable[[dict[str, Any]], T]) -> T:
    """Return what `make` makes of one of the .json files of ``client/``, which raises ValueError where it cannot.

    Raises UnreadableFileError, NewerFormatError for a file that is too new.
    """
    try:
        found = read_untrusted_json(path)
        version = msgspec.convert(found, OfThisTool).format
        if version > FORMAT:
            raise NewerFormatError(path, f"format {version} is newer than the {FORMAT} known here; update TFO Lab")
        return make(found)
    except ValueError as error:
        raise UnreadableFileError(path, str(error)) from None


def write_json(path: Path, content: dict[str, Any]) -> Path:
    """Write one of the .json files of ``client/`` in one step, making its folder; return `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_atomically(path, text.encode("utf-8", "backslashreplace"))
    return path
