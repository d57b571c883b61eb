"""What things are called in the figures and in the report."""

from collections import Counter
from collections.abc import Collection, Sequence

from harness.errors import shortened
from harness.files.experiment import ExperimentRecord
from harness.files.pages import sanitise
from harness.files.results import Results

LONGEST_NAME = 44
"""Characters of a page's name in a figure."""
NOT_KNOWN = "-"
"""Stands in a table's cell where nothing was measured."""


def seconds(ms: float | None) -> str:
    """Return a time in ms as seconds to 1 ms, NOT_KNOWN for None."""
    return NOT_KNOWN if ms is None else f"{ms / 1000:.3f}"


def percent(value: float | None) -> str:
    """Return a percentage with its sign to two digits, never "-0.00%"; NOT_KNOWN for None."""
    return NOT_KNOWN if value is None else f"{round(value, 2) + 0.0:.2f}%"


def span(low: int, high: int) -> str:
    """Return what counts range over: "2 to 5", or "2" where the lowest is the highest."""
    return f"{low}" if low == high else f"{low} to {high}"


def synthetic_words(results: Results, rtts_ms: Collection[float]) -> str:
    """Say under a figure of these RTTs that its pages are synthetic, and of some of them only: at which; else ""."""
    shown = [experiment for experiment in results.experiments if experiment.rtt_ms in rtts_ms]
    made = [experiment.rtt_name for experiment in shown if experiment.synthetic]
    where = "" if len(made) == len(shown) else f" at {', '.join(made)} ms"
    return f" Pages{where}: synthetic." if made else ""


def doubtful_words(urls: Sequence[str]) -> str:
    """Name what was answered by a stand-in or not at all on a critical path, the first URL of it; "" for nothing."""
    if not urls:
        return ""
    more = f" (and {len(urls) - 1} more)" if len(urls) > 1 else ""
    return f" On the critical path, not as recorded: {shortened(urls[0])}{more}."


def is_of_loopback(experiment: ExperimentRecord) -> bool:
    """Tell whether an experiment was made without a network (experiments/localhost.py)."""
    return experiment.settings.get("network") == "loopback"


def is_simulated(results: Results) -> bool:
    """Tell whether TFO could not be measured, so that only the prediction says what it would do."""
    return any(is_of_loopback(experiment) and experiment.transports == (0,) for experiment in results.experiments)


def figure_names(urls: dict[str, str]) -> dict[str, str]:
    """Return for each page what its figures are called: its URL without the scheme, sanitised.

    A page keeps its full sanitised name where another page has that short name (http://a.org and https://a.org), or is
    called so in full: "httpa.org" is short for http://httpa.org, and the full name of http://a.org.
    """
    return _unless_taken({page: sanitise(url.partition("://")[2] or page.removeprefix("http"))
                          for page, url in urls.items()}, {page: page for page in urls})


def short_names(urls: dict[str, str]) -> dict[str, str]:
    """Return for each page what a legend calls it: its URL without the scheme, cut; or all of it if two share that."""
    return _unless_taken({page: shortened(url.partition("://")[2] or url, LONGEST_NAME)
                          for page, url in urls.items()}, urls)


def _unless_taken(short: dict[str, str], full: dict[str, str]) -> dict[str, str]:
    """Return each page's short name; its full one where it has none, or another page is called so."""
    taken = Counter([*short.values(), *full.values()])
    return {page: name if name and taken[name] == 1 else full[page] for page, name in short.items()}
