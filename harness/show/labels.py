"""What things are called in the figures and in the report."""

from harness.files.pages import sanitise

TFO_NAMES = ("TFO off", "TFO on")
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


def share_of(share: float, digits: int = 0) -> str:
    """Return a share (0 to 1) in percent; "100%" and "0%" are all and none, and never what is near it."""
    least = 10.0 ** -(digits + 2)
    if 1 - least / 2 <= share < 1:
        return f"over {1 - least:.{digits}%}"
    return f"under {least:.{digits}%}" if 0 < share <= least / 2 else f"{share:.{digits}%}"


def span(low: int, high: int) -> str:
    """Return what counts range over: "2 to 5", or "2" where the lowest is the highest."""
    return f"{low}" if low == high else f"{low} to {high}"


def figure_names(urls: dict[str, str]) -> dict[str, str]:
    """Return for each page what its figures are called: its URL without the scheme, sanitised.

    If two pages would have the same name (http://a.org and https://a.org), theirs are their full sanitised names.
    """
    short = {page: sanitise(url.partition("://")[2] or page.removeprefix("http")) for page, url in urls.items()}
    taken = list(short.values())
    return {page: name if name and taken.count(name) == 1 else page for page, name in short.items()}


def short_names(urls: dict[str, str]) -> dict[str, str]:
    """Return for each page what a legend calls it: its URL without the scheme, cut; or all of it if two share that."""
    cut = {page: _cut(url.partition("://")[2] or url) for page, url in urls.items()}
    taken = list(cut.values())
    return {page: name if taken.count(name) == 1 else urls[page] for page, name in cut.items()}


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME - 1]}…"
