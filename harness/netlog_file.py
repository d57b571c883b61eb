"""Chrome's net-log file (``--log-net-log=FILE``) as events grouped by the thing they happened to.

The format: ``{"constants": {...},\\n"events": [\\n{...},\\n{...}],\\n"polledData": [...]}``, one event a
line; the numbers of event and source types are named in ``constants`` of each file, for they differ between versions.
See Chromium's ``net/log/file_net_log_observer.cc`` and ``net/log/net_log_event_type_list.h``.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from harness.errors import ExperimentError

BEGIN, END = 1, 2
SOURCES_READ = ("URL_REQUEST", "SOCKET", "TCP_CONNECT_JOB", "SSL_CONNECT_JOB", "TRANSPORT_CONNECT_JOB",
                "NETWORK_SERVICE_HOST_RESOLVER")


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
        return {source: self.events[source] for source, kind in self.kinds.items() if kind in kinds}


def read_netlog_file(path: Path) -> NetLogFile:
    """Read a net-log, also one whose end is missing because Chrome was killed.

    Raises ExperimentError when there is no such file; whatever is wrong inside it becomes a line in `problems`.
    """
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise ExperimentError(f"{path}: no net-log ({error.strerror}); did Chrome start, and may it write?") from None
    log = NetLogFile()
    log.constants, raw_events = _parse(text, str(path), log.problems)
    _group(log, raw_events, str(path))
    return log


def _parse(text: str, path: str, problems: list[str]) -> tuple[dict[str, Any], list[Any]]:
    try:
        whole = json.loads(text)
    except ValueError:
        return _parse_truncated(text, path, problems)
    constants = whole.get("constants") if isinstance(whole, dict) else None
    events = whole.get("events") if isinstance(whole, dict) else None
    if not isinstance(constants, dict) or not isinstance(events, list):
        problems.append(f"{path}:1: not a net-log (no constants or no events)")
        return {}, []
    return constants, events


def _parse_truncated(text: str, path: str, problems: list[str]) -> tuple[dict[str, Any], list[Any]]:
    """Read the constants in the first line and every event whose line is whole."""
    first_value = json.JSONDecoder().raw_decode     # does not mind the comma or bracket behind an event
    lines = text.splitlines()
    try:
        constants, _ = first_value(lines[0].removeprefix('{"constants":').lstrip())
    except (IndexError, ValueError):
        constants = None
    if not isinstance(constants, dict):
        problems.append(f"{path}:1: not a net-log, or it ends before its first event; did Chrome start?")
        return {}, []
    events: list[Any] = []
    for number, line in enumerate(lines[2:], start=3):
        if line.startswith('"polledData"'):
            break
        try:
            events.append(first_value(line)[0])
        except ValueError:
            problems.append(f"{path}:{number}: this event is cut off; skipped")
    problems.append(f"{path}:{len(lines)}: the net-log has no proper end (Chrome killed?); {len(events)} events read")
    return constants, events


def _group(log: NetLogFile, raw_events: list[Any], path: str) -> None:
    """Sort `raw_events` into `log` by their source, dropping the kinds nobody asks for."""
    try:
        names = {number: name for name, number in log.constants.get("logEventTypes", {}).items()}
        kinds = {number: name for name, number in log.constants.get("logSourceType", {}).items()}
    except AttributeError:
        log.problems.append(f"{path}:1: the constants name no event types; this is no net-log of Chrome")
        return
    wanted = {number: name for number, name in kinds.items() if name in SOURCES_READ}
    bad = 0
    for raw in raw_events:
        try:
            source = raw["source"]
            tick = int(raw["time"])
            kind = wanted.get(source["type"])
            if kind is not None:
                log.kinds.setdefault(source["id"], kind)
                params = raw.get("params")
                if not isinstance(params, dict):
                    params = {}
                event = Event(tick, names.get(raw["type"], ""), raw["phase"], params)
                log.events.setdefault(source["id"], []).append(event)
        except (KeyError, TypeError, ValueError):
            bad += 1
            continue
        log.end_tick = max(log.end_tick, tick)
    if bad:
        log.problems.append(f"{path}:2: {bad} events without source, time or type; skipped")
