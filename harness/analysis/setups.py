"""What differs between the set-ups of two experiments, from all that was recorded with them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from harness.files.results import Results

NOT_SETTINGS = ("format", "id", "pages", "order", "measured_rtt_ms", "busy", "delaynet_ms", "rtt_ms",
                "rtts_assumed", "shared_servers", "live_left_out")
"""What an experiment's file holds besides its settings: its cells, which are compared as such, measurements, and what
`layout` says in one line."""
OF_LOADS = ("chrome", "chromedriver", "selenium")
"""Versions that stand with each load, since Chrome may be updated between two."""
OWN_RTTS = "server_rtts_ms"
"""A table of the servers: told in one line."""
NOT_RECORDED = "not recorded"
OLD_TOOL = "the tool of 2013, which recorded no settings"

Settings = dict[str, list[str]]
"""Each setting's values; more than one when the delays of a folder were measured with different ones."""


def differing_settings(a: Results, b: Results) -> Iterator[str]:
    """Give a line ``setting: value in A | value in B`` for each setting that differs, in the order of the files."""
    if a.old or b.old:
        if a.old != b.old:
            yield "program: " + " | ".join(OLD_TOOL if results.old else "TFO Lab" for results in (a, b))
        return
    of_a, of_b = settings(a), settings(b)
    for name in dict.fromkeys([*of_a, *of_b]):
        value_a, value_b = (" and ".join(of.get(name, [NOT_RECORDED])) for of in (of_a, of_b))
        if value_a != value_b:
            yield f"{name}: {value_a} | {value_b}"


def settings(results: Results) -> Settings:
    """Return all settings recorded in the experiments' files, and the versions of Chrome and its driver.

    A file that cannot be read has no settings; harness.files.results reports it.
    """
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for experiment in results.experiments:
        for name, value in _flat(experiment.settings):
            found[name][value] = None
    for load in results.loads:
        versions = (load.record and load.record.environment and load.record.environment.versions) or {}
        for name in OF_LOADS:
            if name in versions:
                found[name][versions[name]] = None
    return {name: sorted(values) for name, values in found.items()}


def _flat(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give a file's settings by name, with those of an inner object (sysctls) by their own names."""
    for name, value in record.items():
        if name == OWN_RTTS and isinstance(value, dict) and value:
            times = [float(rtt_ms) for rtt_ms in value.values()]
            mean_ms = sum(times) / len(times)
            yield name, f"{len(times)} servers, {min(times):g} to {max(times):g}, {mean_ms:.3f} on average"
        elif isinstance(value, dict) and name not in NOT_SETTINGS:
            yield from _flat(value)
        elif name not in NOT_SETTINGS:
            yield name, str(value)
