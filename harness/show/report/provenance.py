"""Where and how the loads were measured, from experiment-<delaynet>.json and the loads' own records: one table."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone

from harness.analysis.cell import TFO_NAMES
from harness.analysis.setups import NOT_KNOWN, NOT_SHOWN, OF_LOADS, in_words, one_of, spread
from harness.files.load_parts import Environment
from harness.files.load_record import LoadRecord
from harness.files.results import Results
from harness.show.section import Section, columns, plain_table

OF_NAMES = "Settings have the names of experiment-<delaynet>.json; ./tfo.py --help says what each option does."
LATEST_S = datetime(9999, 1, 1, tzinfo=timezone.utc).timestamp()
TCP_FASTOPEN = "net.ipv4.tcp_fastopen"
"""It changes from load to load: that is the experiment."""


def environment_section(results: Results) -> Section:
    """Return a row for each setting, with one value if it is the same at all RTTs. Of logs of 2013 nothing is known."""
    records: dict[float, list[LoadRecord]] = defaultdict(list)
    for load in results.loads:
        if load.record:
            records[load.rtt_ms].append(load.record)
    settings = {experiment.rtt_ms: experiment.settings for experiment in results.experiments}
    facts = {rtt_ms: {**dict(in_words(settings.get(rtt_ms, {}), NOT_SHOWN)), **_of_loads(records[rtt_ms])}
             for rtt_ms in {**settings, **records}}
    names = dict.fromkeys(name for known in facts.values() for name in known)
    rows = [[name, _per_rtt({rtt_ms: known.get(name, NOT_KNOWN) for rtt_ms, known in sorted(facts.items())})]
            for name in names]
    commands = (record.environment.argv for of_rtt in records.values() for record in of_rtt if record.environment)
    if command := next(filter(None, commands), None):       # profile and log have other names in every load
        rows.append(["Chrome's command line, of the first load", "\n".join(command)])
    words = [OF_NAMES if rows else "Nothing is recorded of where and how these loads were measured."]
    return Section("Environment", words, [
        plain_table("Settings and machine", columns("Setting", words=["Value"]), rows, "words")] if rows else [])


def _per_rtt(values: Mapping[float, str]) -> str:
    """Return the one value of all RTTs; where they differ, a line for each."""
    if len({*values.values()}) == 1:
        return next(iter(values.values()))
    return "\n".join(f"RTT {rtt_ms:g} ms: {value}" for rtt_ms, value in values.items())


def _of_loads(records: Sequence[LoadRecord]) -> dict[str, str]:
    """Return what the loads' own records say."""
    found = [record.environment or Environment() for record in records]
    if not found:
        return {}
    fastopen = {f"{TCP_FASTOPEN} in loads with {name}": one_of(
        (record.environment or Environment()).sysctls.get(TCP_FASTOPEN) for record in records if record.tfo == tfo)
        for tfo, name in enumerate(TFO_NAMES)}
    averages = [each.load_average for each in found if each.load_average is not None]
    return {**{name: one_of((each.versions or {}).get(name) for each in found) for name in OF_LOADS},
            "git of the loads": one_of(each.git for each in found), **fastopen,
            "load average before a load": spread(averages, " loads")}


def when_measured(results: Results) -> Iterator[str]:
    """Give from the first load's start to the last one's, UTC; nothing where that is not known."""
    times = [load.record.began_s for load in results.loads if load.record and load.record.began_s]
    times = [time for time in times if 0 < time < LATEST_S]
    if times:
        first, last = (datetime.fromtimestamp(when, timezone.utc) for when in (min(times), max(times)))
        until = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
        yield f"{first:%Y-%m-%d %H:%M} to {until} UTC"
