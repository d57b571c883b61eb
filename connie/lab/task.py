"""What the client is to measure, as star.py writes it down for it; and what it says about each connect."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from connie.lab.scenarios import Scenario, from_json, to_json

REQUEST = b"GET / HTTP/1.0\r\nHost: sites.test\r\n\r\n"


@dataclass(frozen=True)
class ClientTask:
    """All scenarios of a run, and how often and how long they are measured.

    rounds: connects of each strategy in each scenario; budget_s: but no more once a strategy has spent so long in one;
    timeout_s: given to every strategy. client_pid, interface, site_pids: whose counters are read. changed: the path
    whose existence changes the name server's answers. settle_s: by then every packet of a connect has arrived.
    jitter_ms: the profile's. strategies: names of those to measure, () for all.
    """

    scenarios: tuple[Scenario, ...]
    rounds: int
    budget_s: float
    timeout_s: float
    seed: int
    client_pid: int
    interface: str
    site_pids: tuple[int, ...]
    changed: Path
    settle_s: float
    jitter_ms: float
    strategies: tuple[str, ...] = ()


class Time(TypedDict):
    """One connect. Times in ms from before the name's lookup; None where it failed: took_ms says after how long."""

    fault: str
    strategy: str
    connect_ms: float | None
    first_byte_ms: float | None
    took_ms: float
    address: str
    error: str


class Cost(TypedDict):
    """What `connects` connects of a strategy cost together; cpu_ms: of the client program; peak_fds: of one connect."""

    fault: str
    strategy: str
    connects: int
    sockets: int
    sent_bytes: int
    aborted: int
    fast_open: int
    cpu_ms: float
    peak_fds: int | None


def write_task(task: ClientTask, path: Path) -> None:
    """Write it as JSON."""
    values: dict[str, Any] = {**vars(task), "changed": str(task.changed),
                              "scenarios": [to_json(scenario) for scenario in task.scenarios]}
    path.write_text(json.dumps(values), encoding="utf-8")


def read_task(path: Path) -> ClientTask:
    """Return what write_task wrote."""
    values = json.loads(path.read_text(encoding="utf-8"))
    values["scenarios"] = tuple(map(from_json, values["scenarios"]))
    for name in ("site_pids", "strategies"):
        values[name] = tuple(values[name])
    return ClientTask(**{**values, "changed": Path(values["changed"])})
