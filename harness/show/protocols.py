"""What the pages were loaded over: the lines under the table that say how requests share connections."""

from collections.abc import Iterable, Iterator

from harness.analysis.selection import Selection
from harness.files.experiment import ExperimentRecord
from harness.files.results import Results

ALONE = "HTTP/1.0: every request opens a connection of its own"
REUSED = "HTTP/1.1: connections are kept alive and reused"
SHARED = "HTTP/2: the requests to a host share a connection"
AS_RECORDED = "HTTP/2 where it was recorded, else HTTP/1.1; either way connections are reused"
OVER_TLS = {"1.1": REUSED, "h2": SHARED}
"""What --http makes of https; any other choice leaves it as it was recorded."""


def protocol_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Say what was spoken, over http and, where some of the requests went there, over https."""
    experiments = [experiment for experiment in results.experiments if experiment.http]
    share = _https_share(url for urls in _asked_for(selection) for url in urls)
    which = "Requests over http: " if share else ""
    if share < 1:
        yield from sorted({f"{which}{ALONE if experiment.http == '1.0' else REUSED}." for experiment in experiments})
    if share:
        yield from sorted({f"Requests over https ({share:.0%} of all): TLS 1.3, {_over_tls(experiment)}."
                           for experiment in experiments})


def _over_tls(experiment: ExperimentRecord) -> str:
    return ALONE if experiment.server == "2013" else OVER_TLS.get(experiment.http, AS_RECORDED)


def _asked_for(selection: Selection) -> Iterator[Iterable[str]]:
    """Yield the URLs that each load asked for that counts; of loads without a record the page's own."""
    for loads in selection.cells.values():
        yield from ((load.record and load.record.request_urls) or (load.url,) for load in loads)


def _https_share(urls: Iterable[str]) -> float:
    """Return which share of the requests went over TLS."""
    schemes = [url.partition(":")[0].lower() for url in urls]
    return sum(scheme in ("https", "wss") for scheme in schemes) / len(schemes) if schemes else 0.0
