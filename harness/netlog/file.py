"""Chrome's net-log file (``--log-net-log=FILE``), read once: each event goes to the subscribers that want it.

The format: ``{"constants": {...},\\n"events": [\\n{...},\\n{...}],\\n"polledData": [...]}``, one event a
line; the numbers of event and source types are named in ``constants`` of each file, for they differ between versions.
A recording's net-log holds every byte of the page, up to LARGEST_NETLOG_BYTES, so it is read as a stream with ijson.
Measured with a log of 655 MB (Chromium 156, answers of 4 MB, captured with `Everything`): 1.4 s of CPU and 13 MB of
memory for all its events; line by line with json 3.6 s and 11 MB, or 2.6 s when lines of no interest are passed over;
as a whole 3.0 s and 1286 MB. With all subscribers a log of 300 MB (h2_streams of tests/corpus/netlogs, 51 times, each
time with new ids and later) takes 2.4 s and 148 MiB, bodies included. A load's log has none.
See Chromium's ``net/log/file_net_log_observer.cc`` and ``net/log/net_log_event_type_list.h``.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Generic, NamedTuple, TypeVar

import ijson

from harness.errors import ExperimentError
from harness.system.untrusted import UnreadableFileError, open_untrusted

POINT, BEGIN, END = 0, 1, 2
"""The phases of an event: a point in time, or the begin or end of something that lasts."""
CHUNK_BYTES = 1 << 18
"""What is read at a time."""
NETLOG_END = b"]\n}\n"
"""How a net-log ends that is complete. No line before its last one ends like this: an event's ends in a brace."""
LOOK_S = 0.002
"""How often it is looked whether there is more of one that is still written."""
LAST_WORDS_S = 0.05
"""How long it may still be written after Chrome's main process has ended."""
MOST_OTHER_LINES = 5
"""Of a net-log, beside those of its events: two before them, and what is behind."""
LARGEST_NETLOG_BYTES = 1_000_000_000
"""Some 300 MB of bodies: films have no end. What is larger is not read."""
T = TypeVar("T")


class Event(NamedTuple):
    """One thing that happened to a source: `tick` in ms of Chrome's clock. `number` tells the order within a tick."""

    tick: int
    params: dict[str, Any]
    number: int = 0

    def dependency(self) -> int:
        """Return the id of the source this event refers to, 0 when it refers to none."""
        reference = self.params.get("source_dependency")
        return int(reference.get("id", 0)) if isinstance(reference, dict) else 0


def net_error(event: Event) -> int:
    """Return Chrome's (negative) code of what went wrong, 0 for nothing."""
    return int(event.params.get("net_error", 0))


TICK = attrgetter("tick")
Readers = Mapping[tuple[str, int], Callable[[T, Event], None]]
"""What an event, by name and phase, changes in what is known of its source."""


class Subscriber(Generic[T]):
    """Makes one `T` of the events of each source of some `kinds`, such as requests or sockets.

    `new` makes what is known of a source, by its id, before its first event; `readers` is the table of the events that
    change it. A reader that raises LookupError, TypeError, ValueError or the like makes the event a bad one. `found`
    is what there is of each source, by its id, in order of appearance.

        class Handshakes(Subscriber[Handshake]):        # of a dataclass Handshake(source, hello=None)
            def __init__(self) -> None:
                super().__init__(("SOCKET",), Handshake, {("SSL_CONNECT", BEGIN): noting("hello")})

        handshakes = Handshakes()
        netlog = read_netlog(path, handshakes)          # and handshakes.found has them, from the same pass
    """

    def __init__(self, kinds: Collection[str], new: Callable[[int], T], readers: Readers[T]) -> None:
        self.kinds, self.readers = kinds, readers
        self.found: dict[int, T] = {}
        self._new = new

    def take(self, source: int, read: Callable[[T, Event], None], event: Event) -> None:
        """Have `read`, one of the readers, take an event of a source."""
        if source not in self.found:
            self.found[source] = self._new(source)
        read(self.found[source], event)


def noting(name: str, what: Callable[[Event], Any] = TICK, *, first: bool = False) -> Callable[[Any, Event], None]:
    """Return a reader that notes `what` an event tells in the field `name`: of several events the last, or the first.

    `what` is when it came, if nothing else is given.
    """
    def note(known: Any, event: Event) -> None:
        if not (first and getattr(known, name)):
            setattr(known, name, what(event))
    return note


def collecting(name: str, what: Callable[[Event], Any] = TICK) -> Callable[[Any, Event], None]:
    """Return a reader that adds `what` an event tells to the list `name`."""
    return lambda known, event: getattr(known, name).append(what(event))


class _Growing:
    """A net-log that Chrome may still be writing: to read waits for more until it has its end, or `is_over`.

    So it is read while Chrome ends, which saves each load the time that its reading takes.
    """

    def __init__(self, file: IO[bytes], is_over: Callable[[], bool]) -> None:
        self._file, self._is_over, self._tail = file, is_over, b""
        self._over_s: float | None = None

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end. (ijson first asks for 0, to see what it gets.)"""
        over = not size or self._has_ended()    # before it is read: what was written until then is read, too
        while not (chunk := self._file.read(size)) and not over and self._tail != NETLOG_END:
            time.sleep(LOOK_S)
            over = self._has_ended()
        self._tail = (self._tail + chunk)[-len(NETLOG_END):]
        return chunk

    def _has_ended(self) -> bool:
        """Tell that nothing is written any more: Chrome's network process, which writes, may end after Chrome does."""
        if self._over_s is None and self._is_over():
            self._over_s = time.monotonic()
        return self._over_s is not None and time.monotonic() - self._over_s >= LAST_WORDS_S


def read_netlog_file(path: Path, *subscribers: Subscriber[Any], problems: list[str],
                     is_over: Callable[[], bool] | None = None) -> tuple[dict[str, Any], int]:
    """Give the events of a net-log to the subscribers, also of one whose end is missing (Chrome was killed).

    Returns its constants, and the last event's tick, 0 without events. If there is `is_over`, it is still written until
    that says so, or it has its end.

    Raises ExperimentError when there is no such file; whatever is wrong inside it becomes a line in `problems`.
    """
    constants, end_tick, bad = read_constants(path), 0, 0
    types, kinds = (constants.get(name) for name in ("logEventTypes", "logSourceType"))
    if not isinstance(types, dict) or not isinstance(kinds, dict):
        problems.append(f"{path}:1: no net-log of Chrome, or it ends before its first event; did Chrome start?")
        return {}, 0
    wanting: _Wanting = defaultdict(list)
    for subscriber in subscribers:
        for (name, phase), read in subscriber.readers.items():
            for kind in subscriber.kinds:
                if name in types and kind in kinds:
                    wanting[types[name], phase, kinds[kind]].append((subscriber, read))
    for number, raw in enumerate(read_events(path, problems, is_over)):
        tick = _give(raw, number, wanting)
        bad += tick is None
        end_tick = max(end_tick, tick or 0)
    if bad:
        problems.append(f"{path}:2: {bad} events without source, time or type, or that make no sense; skipped")
    return constants, end_tick


_Wanting = dict[tuple[Any, ...], list[tuple[Subscriber[Any], Callable[[Any, Event], None]]]]
"""Who wants which events, by the numbers of their type, phase and kind of source, and what reads them."""


def _give(raw: Any, number: int, wanting: _Wanting) -> int | None:
    """Give an event to those who want it; return its tick, None when it is no event or makes no sense."""
    try:
        source, tick, identity = raw["source"], int(raw["time"]), int(raw["source"]["id"])
        for subscriber, read in wanting.get((raw["type"], raw["phase"], source["type"]), ()):
            params = raw.get("params")
            subscriber.take(identity, read, Event(tick, params if isinstance(params, dict) else {}, number))
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    return tick


def read_constants(path: Path) -> dict[str, Any]:
    """Return the constants, with which a net-log begins; {} when it has none. Raises ExperimentError without a file."""
    try:
        with _open(path) as file:
            constants = next(ijson.items(file, "constants", use_float=True, buf_size=CHUNK_BYTES), None)
    except (ijson.JSONError, ValueError):
        return {}
    return constants if isinstance(constants, dict) else {}


def read_events(path: Path, problems: list[str], is_over: Callable[[], bool] | None = None) -> Iterator[Any]:
    """Read a net-log's events one by one, as they stand in it; a missing end becomes a line in `problems`.

    Raises ExperimentError without a file, and for one that lacks a part of its middle: Chrome writes on when its disk
    was full for a while, and what came meanwhile would be missing without a word.
    """
    count = 0
    try:
        with _open(path) as file:
            growing = _Growing(file, is_over) if is_over else file
            for event in ijson.items(growing, "events.item", use_float=True, buf_size=CHUNK_BYTES):
                count += 1
                yield event
    except (ijson.JSONError, ValueError):
        while is_over and not is_over():        # what Chrome writes behind the hole may be yet to come
            time.sleep(LOOK_S)
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
