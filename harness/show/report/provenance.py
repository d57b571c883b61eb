"""Where and how the loads were measured, from experiment-<delaynet>.json and the loads' own records: one table."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from harness.analysis.cell import TFO_NAMES
from harness.files.load_parts import Environment
from harness.files.load_record import LoadRecord
from harness.files.results import Results
from harness.show.labels import NOT_KNOWN
from harness.show.section import Section, columns, plain_table

TITLES = {
    "name": "Pages", "synthetic": "Pages made by the project", "network": "Network", "seed": "Seed",
    "testruns": "Loads a page (first warms up)", "tfo": "TFO measured", "http": "HTTP", "server": "Server",
    "middlebox": "Middlebox on the way", "balancer": "Servers behind each address",
    "post_quantum": "Post-quantum key share in TLS", "predict": "Chrome connects ahead of need",
    "timeout_s": "Time limit (s)", "cookies": "TFO cookies", "layout": "Servers of the host names",
    "connections_per_host": "Connections to a host", "paper": "The paper's network",
    "bw_home_mbit": "User link (Mbit/s)", "bw_home_up_mbit": "User link up (Mbit/s)",
    "buffer_kb": "Buffer of user's link (kB)", "bw_net_mbit": "Server links (Mbit/s)",
    "delayhome_ms": "User link delay, one way (ms)", "delaynet_ms": "Server link delay, one way (ms)",
    "rtt_ms": "RTT wanted (ms)", "rtt": "RTTs", "server_rtts_ms": "RTTs of the servers wanted (ms)",
    "measured_rtt_ms": "RTT measured before the loads (ms)",
    "rtts_assumed": "Servers whose RTT is not known, the median of the others", "think": "Servers' thinking time",
    "delay_by": "Delay made by", "server_congestion_control": "Congestion control of the servers",
    "kernel": "Kernel", "machine": "Machine", "cpus": "CPUs", "python": "Python", "git": "TFO Lab, git state",
    "tfo_lab": "TFO Lab, digest of what measures",
}
"""Keys of experiment-<delaynet>.json in the order shown, each in words. Other keys follow, by their own names."""
MEANINGS: dict[tuple[str, object], str] = {
    ("http", "1.0"): "over http every request opens a connection of its own; https is as recorded",
    ("http", "1.1"): "connections are kept alive and reused unless the site closed them",
    ("http", "h2"): "over https the requests to a host share a connection",
    ("http", "recorded"): "HTTP/2 where it was recorded, else HTTP/1.1, whose connections are kept alive",
    ("server", "2013"): "single-threaded; its outliers flatter TFO: for teaching, not for results",
    ("cookies", "cold"): "none was known when a load began, as on a first visit",
    ("cookies", "domain"): "none was known when a load began; one that a server gave was good for all of its site",
    ("layout", "domain"): "the host names of a registrable domain share a server",
    ("layout", "one"): "all host names share one server, and its link",
    ("layout", "recorded"): "host names share a server that shared an address when they were recorded",
    ("think", "recorded"): "before each answer as long as when it was recorded",
    ("network", "loopback"): "none; servers on this machine held their answers back, the first on a connection for two "
                             "RTTs, or for one if the SYN carried the request, later ones for one",
    ("synthetic", True): "from figures of real pages, without their content",
}
"""What a setting of this value means; of a layout the word before the colon counts."""
AS_RECORDED = ("rtt", "server_rtts_ms", "rtts_assumed", "think", "middlebox", "synthetic", "network")
"""Settings that are shown only where they say something: most experiments are of recorded pages over a network."""
NOT_SHOWN = ("format", "id", "busy", "pages", "order", "shared_servers")
IN_LOADS = ("kernel", "machine", "cpus", "python", "git", "measured_rtt_ms")
"""What an experiment's file and each load's record say."""
LATEST_S = datetime(9999, 1, 1, tzinfo=timezone.utc).timestamp()
TCP_FASTOPEN = "net.ipv4.tcp_fastopen"
"""It changes from load to load: that is the experiment."""


def environment_section(results: Results) -> Section:
    """Return a row for each setting, with one value if it is the same at all RTTs. Of logs of 2013 nothing is known."""
    records: dict[float, list[LoadRecord]] = defaultdict(list)
    for load in results.loads:
        if load.record:
            records[load.rtt_ms].append(load.record)
    settings: dict[float, Mapping[str, Any]] = {
        rtt_ms: _known_to(found[0]) for rtt_ms, found in records.items()}      # where no file says more
    settings |= {experiment.rtt_ms: experiment.settings for experiment in results.experiments}
    facts = {rtt_ms: {**_in_words(found), **_of_loads(records[rtt_ms])} for rtt_ms, found in settings.items()}
    names = dict.fromkeys([*TITLES.values(), *(name for known in facts.values() for name in known)])
    rows = [[name, _per_rtt({rtt_ms: known.get(name, NOT_KNOWN) for rtt_ms, known in sorted(facts.items())})]
            for name in names if any(name in known for known in facts.values())]
    commands = (record.environment.argv for of_rtt in records.values() for record in of_rtt if record.environment)
    if command := next(filter(None, commands), None):       # profile and log have other names in every load
        rows.append(["Chrome's command line, of the first load", "\n".join(command)])
    words = [] if rows else ["Nothing is recorded of where and how these loads were measured."]
    return Section("Environment", words, [
        plain_table("Settings and machine", columns("Setting", words=["Value"]), rows, "words")] if rows else [])


def _per_rtt(values: Mapping[float, str]) -> str:
    """Return the one value of all RTTs; where they differ, a line for each."""
    if len({*values.values()}) == 1:
        return next(iter(values.values()))
    return "\n".join(f"RTT {rtt_ms:g} ms: {value}" for rtt_ms, value in values.items())


def _known_to(record: LoadRecord) -> dict[str, Any]:
    """Return what a load's record says of the machine, as an experiment's file would."""
    environment = record.environment or Environment()
    sysctls = {name: value for name, value in environment.sysctls.items() if name != TCP_FASTOPEN}
    return {key: value for key in IN_LOADS if (value := getattr(environment, key))} | {"sysctls": sysctls}


def _in_words(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return what an experiment's file says, by its words, and the kernel's settings by their own names."""
    found = {key: value for key, value in settings.items()
             if key not in NOT_SHOWN and (value or key not in AS_RECORDED)}
    sysctls = found.pop("sysctls", None)
    measured = found.pop("measured_rtt_ms", None)
    values = [float(value) for value in _items(measured).values() if isinstance(value, int | float)]
    return {TITLES.get(key, key): _explained(key, value) for key, value in found.items()} \
        | {TITLES["measured_rtt_ms"]: _span(values, " servers")} \
        | {str(name): str(value) for name, value in _items(sysctls).items()}


def _of_loads(records: Sequence[LoadRecord]) -> dict[str, str]:
    """Return what the loads' own records say."""
    found = [record.environment or Environment() for record in records]
    if not found:
        return {}
    versions = {name.capitalize(): _one_of((each.versions or {}).get(name) for each in found)
                for name in ("chrome", "chromedriver", "selenium")}
    fastopen = {f"{TCP_FASTOPEN} in loads with {name}": _one_of(
        (record.environment or Environment()).sysctls.get(TCP_FASTOPEN) for record in records if record.tfo == tfo)
        for tfo, name in enumerate(TFO_NAMES)}
    averages = [each.load_average for each in found if each.load_average is not None]
    return {**versions, "TFO Lab, git state of the loads": _one_of(each.git for each in found), **fastopen,
            "Load average before a load": _span(averages, " loads")}


def _items(value: object) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


def _one_of(values: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(str(value) for value in values if value)) or NOT_KNOWN


def _span(values: Sequence[float], what: str) -> str:
    if not values:
        return NOT_KNOWN
    return f"{min(values):.2f} to {max(values):.2f}, median {statistics.median(values):.2f} ({len(values)}{what})"


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_words(each)}" for name, each in value.items()) or NOT_KNOWN
    if isinstance(value, list):
        return ", ".join(map(_words, value)) or NOT_KNOWN
    return NOT_KNOWN if value is None or value == "" else str(value)


def _explained(key: str, value: object) -> str:
    meaning = MEANINGS.get((key, value.partition(":")[0] if isinstance(value, str) else value is True))
    return f"{_words(value)}: {meaning}" if meaning else _words(value)


def when_measured(results: Results) -> Iterator[str]:
    """Give from the first load's start to the last one's, UTC; nothing where that is not known."""
    times = [load.record.began_s for load in results.loads if load.record and load.record.began_s]
    times = [time for time in times if 0 < time < LATEST_S]
    if times:
        first, last = (datetime.fromtimestamp(when, timezone.utc) for when in (min(times), max(times)))
        until = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
        yield f"{first:%Y-%m-%d %H:%M} to {until} UTC"
