"""Where and how the loads were measured, from experiment-<delaynet>.json and the loads' own records."""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from harness.files.load_parts import Environment
from harness.files.load_record import LoadRecord
from harness.files.results import Results
from harness.show.labels import TFO_NAMES
from harness.show.records import dictionary, finite
from harness.show.report.tables import UNKNOWN, Table, columns, plain_table

SETTINGS = {
    "name": "Pages", "synthetic": "Pages made by the project", "network": "Network",
    "seed": "Seed", "testruns": "Loads a page (first warms up)", "tfo": "TFO measured",
    "http": "HTTP", "server": "Server", "middlebox": "Middlebox on the way", "balancer": "Servers behind each address",
    "post_quantum": "Post-quantum key share in TLS",
    "predict": "Chrome connects ahead of need", "timeout_s": "Time limit (s)",
    "cookies": "TFO cookies", "layout": "Servers of the host names",
    "connections_per_host": "Connections to a host", "paper": "The paper's network",
    "bw_home_mbit": "User link (Mbit/s)", "bw_home_up_mbit": "User link up (Mbit/s)",
    "buffer_kb": "Buffer of user's link (kB)", "bw_net_mbit": "Server links (Mbit/s)",
    "delayhome_ms": "User link delay, one way (ms)", "delaynet_ms": "Server link delay, one way (ms)",
    "rtt_ms": "RTT wanted (ms)", "rtt": "RTTs", "server_rtts_ms": "RTTs of the servers wanted (ms)",
    "rtts_assumed": "Servers whose RTT is not known, the median of the others",
    "think": "Servers' thinking time", "delay_by": "Delay made by",
    "server_congestion_control": "Congestion control of the servers", "kernel": "Kernel", "machine": "Machine",
    "cpus": "CPUs", "python": "Python", "git": "TFO Lab, git state", "tfo_lab": "TFO Lab, digest of what measures",
}
"""Keys of experiment-<delaynet>.json in the order shown, each in words."""
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
IN_LOADS = ("kernel", "machine", "cpus", "python", "git", "measured_rtt_ms")
"""Which of what an experiment's file says each load's environment says, too. Its TCP settings as well, but one:"""
LATEST_S = datetime(9999, 1, 1, tzinfo=timezone.utc).timestamp()
TCP_FASTOPEN = "net.ipv4.tcp_fastopen"
"""It changes from load to load: that is the experiment."""


@dataclass(frozen=True)
class Provenance:
    """`measured` is when ("" if unknown); `command_line` is Chrome's, one argument each. The tables have a row for each
    setting, with one value if it is the same at all RTTs.
    """

    measured: str
    settings: Table
    sysctls: Table
    command_line: list[str]


def find_provenance(results: Results) -> Provenance:
    """Read what is known. Of logs of 2013 nothing is: then all parts are empty."""
    records = [(load.rtt_ms, load.record) for load in results.loads if load.record]
    sources = _sources(results, records)
    rtts_ms, experiments = list(sources), list(sources.values())
    rows = [*_rows(experiments, SETTINGS), *_other_rows(experiments), *_load_rows(sources, records)] if sources else []
    sysctls = [dictionary(experiment.get("sysctls")) for experiment in experiments]
    names = {name: name for sysctl in sysctls for name in sysctl}
    arguments = next((argv for _, record in records if (argv := _environment(record).argv)), ())
    return Provenance(_measured(records), _table("Settings and machine", rtts_ms, rows),
                      _table("TCP settings in the network namespace of the browser, before the loads", rtts_ms,
                             _rows(sysctls, names)),
                      list(arguments))


def _sources(results: Results, records: list[tuple[float, LoadRecord]]) -> dict[float, Mapping[str, Any]]:
    """Return for each RTT (ms) what holds for all its loads: the experiment's file or, without one, its first load."""
    sources = {experiment.rtt_ms: experiment.settings for experiment in results.experiments}
    for rtt_ms, record in records:
        environment = _environment(record)
        known = {key: value for key in IN_LOADS if (value := getattr(environment, key))}
        sources.setdefault(rtt_ms, {**known, "sysctls": {
            name: value for name, value in environment.sysctls.items() if name != TCP_FASTOPEN}})
    return dict(sorted(sources.items()))


def _table(caption: str, rtts_ms: list[float], rows: Iterable[list[str]]) -> Table:
    """One value for each setting; where the RTTs differ, one line for each RTT."""
    return plain_table(caption, columns("Setting", words=["Value"]), [
        [title, values[0] if len(set(values)) == 1 else "\n".join(
            f"RTT {rtt_ms:g} ms: {value}" for rtt_ms, value in zip(rtts_ms, values, strict=True))]
        for title, *values in rows])


def _rows(sources: Sequence[Mapping[str, Any]], names: dict[str, str]) -> Iterator[list[str]]:
    for key, title in names.items():
        if any(source.get(key) if key in AS_RECORDED else key in source for source in sources):
            yield [title, *(_explained(key, source.get(key)) for source in sources)]


def _other_rows(experiments: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Return what an experiment says beside SETTINGS, by its own keys, so that new settings are shown, too."""
    shown = {*SETTINGS, "format", "id", "busy", "pages", "order", "measured_rtt_ms", "sysctls",
             "shared_servers"}
    others = dict.fromkeys(key for experiment in experiments for key in experiment if key not in shown)
    return _rows(experiments, {key: key for key in others})


def _load_rows(sources: Mapping[float, Mapping[str, Any]], records: list[tuple[float, LoadRecord]],
               ) -> Iterator[list[str]]:
    """What was measured for each RTT, and what its loads' own records say."""
    own = [[record for of_rtt_ms, record in records if of_rtt_ms == rtt_ms] for rtt_ms in sources]
    yield ["RTT measured before the loads (ms)",
           *(_span(_values(experiment.get("measured_rtt_ms")), " servers") for experiment in sources.values())]
    for name in ("chrome", "chromedriver", "selenium"):
        yield [name.capitalize(), *(
            _one_of((_environment(record).versions or {}).get(name) for record in group) for group in own)]
    yield ["TFO Lab, git state of the loads", *(_one_of(_environment(record).git for record in group)
                                                for group in own)]
    for tfo, name in enumerate(TFO_NAMES):
        yield [f"{TCP_FASTOPEN} in loads with {name}", *(
            _one_of(_environment(record).sysctls.get(TCP_FASTOPEN) for record in group if record.tfo == tfo)
            for group in own)]
    yield ["Load average before a load", *(_span(
        [average for record in group if (average := _environment(record).load_average) is not None],
        " loads") for group in own)]


def _environment(record: LoadRecord) -> Environment:
    return record.environment or Environment()


def _values(found: object) -> list[float]:
    return [value for item in dictionary(found).values() if (value := finite(item)) is not None]


def _one_of(values: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(str(value) for value in values if value)) or UNKNOWN


def _span(values: list[float], what: str) -> str:
    if not values:
        return UNKNOWN
    return f"{min(values):.2f} to {max(values):.2f}, median {statistics.median(values):.2f} ({len(values)}{what})"


def _words(value: object) -> str:
    if value is None or value == "":
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_words(each)}" for name, each in value.items()) or UNKNOWN
    return ", ".join(map(_words, value)) or UNKNOWN if isinstance(value, list) else str(value)


def _explained(key: str, value: object) -> str:
    meaning = MEANINGS.get((key, value.partition(":")[0] if isinstance(value, str) else value is True))
    return f"{_words(value)}: {meaning}" if meaning else _words(value)


def _measured(records: list[tuple[float, LoadRecord]]) -> str:
    """From the first load's start to the last one's, UTC."""
    times = [began for _, record in records if (began := record.began_s) and 0 < began < LATEST_S]
    if not times:
        return ""
    first, last = (datetime.fromtimestamp(when, timezone.utc) for when in (min(times), max(times)))
    return f"{first:%Y-%m-%d %H:%M} to {last:%H:%M} UTC" if first.date() == last.date() else \
        f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"
