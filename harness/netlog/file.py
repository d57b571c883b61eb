"""Chrome's net-log file (``--log-net-log=FILE``) as events grouped by the thing they happened to.

The format: ``{"constants": {...},\\n"events": [\\n{...},\\n{...}],\\n"polledData": [...]}``, one event a
line; the numbers of event and source types are named in ``constants`` of each file, for they differ between versions.
A recording's net-log holds every byte of the page, up to 500 MB, so it is read as a stream with ijson. Measured with a
log of 655 MB (Chromium 156, answers of 4 MB, captured with `Everything`): 1.4 s of CPU and 13 MB of memory for all its
events; line by line with json 3.6 s and 11 MB, or 2.6 s when lines of no interest are passed over; as a whole 3.0 s and
1286 MB.
See Chromium's ``net/log/file_net_log_observer.cc`` and ``net/log/net_log_event_type_list.h``.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

import ijson

from harness.errors import ExperimentError
from harness.system.untrusted import UnreadableFileError, open_untrusted

BEGIN, END = 1, 2
SOURCES_READ = ("URL_REQUEST", "SOCKET", "TCP_CONNECT_JOB", "SSL_CONNECT_JOB", "TRANSPORT_CONNECT_JOB",
                "NETWORK_SERVICE_HOST_RESOLVER", "HTTP2_SESSION")
CHUNK_BYTES = 1 << 18
"""What is read at a time."""
MOST_OTHER_LINES = 5
"""Of a net-log, beside those of its events: two before them, and what is behind."""
LARGEST_NETLOG_BYTES = 1_000_000_000
"""Twice what ends a visit (harness.record.visit)."""


class Event(NamedTuple):
    """One thing that happened: `tick` in ms of Chrome's clock, `phase` BEGIN, END or 0 (a point in time)."""

    tick: int
    name: str
    phase: int
    params: dict[str, Any]

    def dependency(self) -> int:
        """Return the id of the source this event refers to, 0 when it refers to none."""
        reference = self.params.get("source_dependency")
        return int(reference.get("id", 0)) if isinstance(reference, dict) else 0


@dataclass
class NetLogFile:
    """The events of one net-log, by source id, for the kinds of source in SOURCES_READ.

    `problems` says in one line each what could not be read. `end_tick` is the last event's tick, 0 without events.
    """

    constants: dict[str, Any] = field(default_factory=dict)
    kinds: dict[int, str] = field(default_factory=dict)
    events: dict[int, list[Event]] = field(default_factory=dict)
    end_tick: int = 0
    problems: list[str] = field(default_factory=list)

    def of_kind(self, *kinds: str) -> dict[int, list[Event]]:
        """Return the events of every source of these kinds, by source id, in order of appearance."""
        return {source: self.events.get(source, []) for source, kind in self.kinds.items() if kind in kinds}


def read_netlog_file(path: Path, wanted: Collection[str]) -> NetLogFile:
    """Read the events called one of `wanted` of a net-log, also of one whose end is missing (Chrome was killed).

    The bytes of bodies are left out (harness.netlog.bodies reads them). Raises ExperimentError when there is no such
    file; whatever is wrong inside it becomes a line in `problems`.
    """
    log = NetLogFile()
    log.constants = read_constants(path)
    if not log.constants:
        log.problems.append(f"{path}:1: not a net-log, or it ends before its first event; did Chrome start?")
        return log
    types, kinds = log.constants.get("logEventTypes"), log.constants.get("logSourceType")
    if not isinstance(types, dict) or not isinstance(kinds, dict):
        log.problems.append(f"{path}:1: the constants name no event types; this is no net-log of Chrome")
        return log
    names = {number: name for name, number in types.items() if name in wanted}
    kinds_read = {number: name for name, number in kinds.items() if name in SOURCES_READ}
    bad = 0
    for raw in read_events(path, log.problems):
        bad += not _add(log, raw, names, kinds_read)
    if bad:
        log.problems.append(f"{path}:2: {bad} events without source, time or type; skipped")
    return log


def _add(log: NetLogFile, raw: Any, names: dict[int, str], kinds: dict[int, str]) -> bool:
    """Add one event if its kind of source and its name are read; return False when it is no event."""
    try:
        source, tick, name, phase = raw["source"], int(raw["time"]), names.get(raw["type"]), raw["phase"]
        kind, number = kinds.get(source["type"]), int(source["id"])
    except (KeyError, TypeError, ValueError):
        return False
    if kind is not None:
        log.kinds.setdefault(number, kind)
        if name is not None:
            params = raw.get("params")
            params = params if isinstance(params, dict) else {}
            params.pop("bytes", None)
            log.events.setdefault(number, []).append(Event(tick, name, phase, params))
    log.end_tick = max(log.end_tick, tick)
    return True


def read_constants(path: Path) -> dict[str, Any]:
    """Return the constants, with which a net-log begins; {} when it has none. Raises ExperimentError without a file."""
    try:
        with _open(path) as file:
            constants = next(ijson.items(file, "constants", use_float=True, buf_size=CHUNK_BYTES), None)
    except (ijson.JSONError, ValueError):
        return {}
    return constants if isinstance(constants, dict) else {}


def read_events(path: Path, problems: list[str]) -> Iterator[Any]:
    """Read a net-log's events one by one, as they stand in it; a missing end becomes a line in `problems`.

    Raises ExperimentError without a file, and for one that lacks a part of its middle: Chrome writes on when its disk
    was full for a while, and what came meanwhile would be missing without a word.
    """
    count = 0
    try:
        with _open(path) as file:
            for event in ijson.items(file, "events.item", use_float=True, buf_size=CHUNK_BYTES):
                count += 1
                yield event
    except (ijson.JSONError, ValueError):
        if _lines(path) > count + MOST_OTHER_LINES:
            raise ExperimentError(f"{path}:{count + 3}: the net-log lacks a part of its middle (was the disk of "
                                  "temporary files full for a while?); make room and try again") from None
        problems.append(f"{path}:{count + 3}: the net-log has no proper end (Chrome killed?); {count} events read")


def _lines(path: Path) -> int:
    with _open(path) as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(CHUNK_BYTES), b""))


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    """Open a net-log, which lies in a folder of Chrome's user: root, who reads it, follows no link of theirs."""
    try:
        with open_untrusted(path, limit=LARGEST_NETLOG_BYTES) as file:
            yield file
    except (UnreadableFileError, OSError) as error:
        why = error.why if isinstance(error, UnreadableFileError) else error.strerror
        raise ExperimentError(f"{path}: no net-log ({why}); did Chrome start, and may it write?") from None
