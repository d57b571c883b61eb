"""What was recorded of an experiment's set-up, in words; and what differs between those of two."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from harness.analysis.stats import median
from harness.files.results import Results

NOT_SHOWN = ("format", "id", "busy", "pages", "order", "shared_servers", "live_left_out")
"""What an experiment's file holds besides its settings, and what `layout` says in one line."""
NOT_SETTINGS = (*NOT_SHOWN, "measured_rtt_ms", "delaynet_ms", "rtt_ms", "rtts_assumed")
"""Its cells, too, which are compared as such, and measurements."""
OF_LOADS = ("chrome", "chromedriver", "selenium")
"""Versions that stand with each load, since Chrome may be updated between two."""
NOT_KNOWN = "-"
NOT_RECORDED = "not recorded"
OLD_TOOL = "the tool of 2013, which recorded no settings"


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


def settings(results: Results) -> dict[str, list[str]]:
    """Return all settings recorded in the experiments' files, and the versions of Chrome and its driver.

    A setting has several values when the delays of a folder were measured with different ones. A file that cannot be
    read has no settings; harness.files.results reports it.
    """
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for experiment in results.experiments:
        for name, value in in_words(experiment.settings, NOT_SETTINGS):
            found[name][value] = None
    for load in results.loads:
        versions = (load.record and load.record.environment and load.record.environment.versions) or {}
        for name in OF_LOADS:
            if name in versions:
                found[name][versions[name]] = None
    return {name: sorted(values) for name, values in found.items()}


def in_words(record: Mapping[str, Any], left_out: Collection[str]) -> Iterator[tuple[str, str]]:
    """Give a file's settings by name but those `left_out`, and the kernel's by theirs, which are an object in it.

    Of a table of the servers it is told how many there are, and their numbers from the least to the largest.
    """
    for name, value in record.items():
        if name in left_out:
            continue
        if isinstance(value, dict) and value:
            numbers = [number for number in value.values() if isinstance(number, int | float)]
            yield from [(name, spread(numbers, " servers"))] if numbers else in_words(value, left_out)
        else:
            yield name, _word(value)


def spread(numbers: Collection[float], what: str) -> str:
    """Return what numbers range over, their median, and of how many of `what` they are."""
    if not numbers:
        return NOT_KNOWN
    return f"{min(numbers):.2f} to {max(numbers):.2f}, median {median([*numbers]):.2f} ({len(numbers)}{what})"


def one_of(values: Iterable[object]) -> str:
    """Return what is known of `values`, each once."""
    return ", ".join(dict.fromkeys(str(value) for value in values if value)) or NOT_KNOWN


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_word, value)) or NOT_KNOWN
    return NOT_KNOWN if value in (None, "", {}) else f"{value:g}" if isinstance(value, float) else str(value)
