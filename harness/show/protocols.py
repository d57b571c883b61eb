"""The lines under the table that say over what the pages were loaded: protocols, connections, network, cookies."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from harness.analysis.selection import Selection
from harness.browser.connection_limit import CHROMES_OWN
from harness.errors import printable
from harness.files.experiment import ExperimentRecord
from harness.files.layout import HOST
from harness.files.load_parts import CookieMode
from harness.files.results import Results
from harness.show.labels import share_of

ALONE = "HTTP/1.0: every request opens a connection of its own"
REUSED = "HTTP/1.1: connections are kept alive and reused unless the site closed them"
SHARED = "HTTP/2: the requests to a host share a connection"
AS_RECORDED = "HTTP/2 where it was recorded, else HTTP/1.1; connections are reused unless the site closed them"
COOKIES = {"cold": "none was known when a load began, as on a first visit",
           "domain": "none was known when a load began; one that a server gave was good for all servers of its site"}
LAYOUTS = {"domain": "The host names of a registrable domain share a server",
           "one": "All host names share one server, and its link",
           "recorded": "Host names share a server that shared an address when they were recorded"}
OF_A_FILE = "Which host names share a server is as a file says"
OVER_TLS = {"1.1": REUSED, "h2": SHARED}
"""What --http makes of https; any other choice leaves it as it was recorded."""


def lines_of(results: Results, words: Callable[[ExperimentRecord], str]) -> Iterator[str]:
    """Give what `words` says of the experiments ("" for nothing), once; of some of them only: at which RTTs."""
    rtts: dict[str, list[str]] = defaultdict(list)
    for experiment in results.experiments:
        if line := words(experiment):
            rtts[line].append(experiment.rtt_name)
    for line, names in sorted(rtts.items()):
        yield line if len(names) == len(results.experiments) else f"At {', '.join(names)} ms: {line}"


def protocol_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Say which protocol was spoken over http and, if some of the requests went there, over https."""
    share = _https_share(url for urls in _asked_for(selection) for url in urls)
    which = "Requests over http: " if share else ""
    if share < 1:
        yield from lines_of(results, lambda experiment: experiment.http and (
            f"{which}{ALONE if experiment.http == '1.0' else REUSED}."))
    if share:
        yield from lines_of(results, lambda experiment: experiment.http and (
            f"Requests over https ({share_of(share)} of all): TLS 1.3, {_over_tls(experiment)}."))


def network_lines(results: Results) -> Iterator[str]:
    """Say what user's own link was like if it was narrower than the servers' links; or that there was no network."""
    yield from loopback_lines(results)
    yield from lines_of(results, lambda experiment: (words := _home_link(experiment)) and (
        f"User's link: {words}, shared by all connections."))


def rtt_lines(results: Results) -> Iterator[str]:
    """Say how far away the servers were, if each had an RTT of its own."""
    for experiment in results.experiments:
        if experiment.server_rtts_ms:
            asked, assumed = (experiment.settings.get(key) for key in ("rtt", "rtts_assumed"))
            unknown = f", but for {len(assumed)} of which that is not known, which have the median of the others" \
                if isinstance(assumed, list) and assumed else ""
            # in proportion: with --delays, --sweep-rtt or a factor they are those that were recorded times a number
            count = len(experiment.server_rtts_ms)
            if experiment.layout == HOST:
                yield f"RTT {experiment.rtt_name} ms: of each of {count} servers in proportion to the recorded one " \
                      f"(--rtt {asked}){unknown}; their median is {experiment.rtt_ms:g} ms."
            else:
                yield f"RTT {experiment.rtt_name} ms: of the servers of {count} host names, each in proportion to " \
                      f"what was recorded of the nearest of its names (--rtt {asked}){unknown}; the median of the " \
                      f"names' own RTTs is {experiment.rtt_ms:g} ms."


def think_lines(results: Results) -> Iterator[str]:
    """Say that the servers waited before an answer as they did when recorded, if that was asked for (--think)."""
    yield from lines_of(results, lambda experiment: (mode := str(experiment.settings.get("think") or "")) and (
        f"Servers: each waited before an answer for as long as it did when it was recorded (--think {mode})."))


def loopback_lines(results: Results) -> Iterator[str]:
    """Say how servers on loopback simulated the network, and who did TFO there; nothing about other experiments."""
    found = [experiment.settings for experiment in results.experiments if is_of_loopback(experiment)]
    if not found:
        return
    yield "Network: none. Servers on this machine's loopback held their answers back: the first on a connection for " \
          "two RTTs, or for one if the SYN carried the request, later ones for one. No slow start, no bandwidth: " \
          "docs/experiments.md."
    for by, because in sorted({(str(each.get("fastopen_by")), str(each.get("fastopen_because"))) for each in found}):
        yield f"TFO: {by}{because and f' ({because})'}."


def is_of_loopback(experiment: ExperimentRecord) -> bool:
    """Tell whether an experiment was made without a network (experiments/localhost.py)."""
    return experiment.settings.get("network") == "loopback"


def is_simulated(results: Results) -> bool:
    """Tell whether TFO could not be measured, so that only the prediction says what it would do."""
    return any(is_of_loopback(experiment) and experiment.tfos == (0,) for experiment in results.experiments)


def _home_link(experiment: ExperimentRecord) -> str:
    down, net = experiment.bw_home_mbit, experiment.bw_net_mbit
    up, buffer_kb = (experiment.settings.get(key) for key in ("bw_home_up_mbit", "buffer_kb"))
    if down is None or net is None or (down >= net and up in (None, down) and not buffer_kb):
        return ""
    rates = f"{down:g} Mbit/s" if up in (None, down) else f"{down:g} Mbit/s down, {up:g} up"
    return rates + (f", buffers of {buffer_kb:g} kB" if buffer_kb else "")


def connection_lines(results: Results) -> Iterator[str]:
    """Say how many connections Chrome opened to a host, if it was made to open another number than its own."""
    yield from lines_of(results, lambda experiment: "" if experiment.connections_per_host in (0, CHROMES_OWN) else (
        f"Chrome opened at most {experiment.connections_per_host} connections to a host at a time; its own limit is "
        f"{CHROMES_OWN}."))


def layout_lines(results: Results) -> Iterator[str]:
    """Say which host names shared a server, if any did."""
    yield from lines_of(results, lambda experiment: "" if experiment.layout == HOST else printable(
        f"{LAYOUTS.get(experiment.layout.partition(':')[0], OF_A_FILE)} (--layout {experiment.layout})."))


def cookie_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Say which TFO cookies were known when a load began, if not all were, and what the SYNs then carried."""
    yield from lines_of(results, lambda experiment: "" if experiment.cookies == "warm" else (
        f"TFO cookies: {COOKIES[experiment.cookies]} (--cookies {experiment.cookies})."
        f"{_syns_in_words(selection, experiment.cookies)}"))


def _syns_in_words(selection: Selection, mode: CookieMode) -> str:
    loads = [load.record for loads in selection.cells.values() for load in loads
             if load.record and load.record.cookies and load.record.cookies.mode == mode]
    carried = sum(record.syn_data_connections or 0 for record in loads)
    of = sum(record.connections_with_request or 0 for record in loads)
    return f" Of {of} connections with TFO {share_of(carried / of)} carried their request in the SYN." if of else ""


def _over_tls(experiment: ExperimentRecord) -> str:
    return ALONE if experiment.server == "2013" else OVER_TLS.get(experiment.http, AS_RECORDED)


def _asked_for(selection: Selection) -> Iterator[Iterable[str]]:
    """Yield the URLs that each load that counts asked for; for loads without a record, the page's own URL."""
    for loads in selection.cells.values():
        yield from ((load.record and load.record.request_urls) or (load.url,) for load in loads)


def _https_share(urls: Iterable[str]) -> float:
    """Return which share of the requests went over TLS."""
    schemes = [url.partition(":")[0].lower() for url in urls]
    return sum(scheme in ("https", "wss") for scheme in schemes) / len(schemes) if schemes else 0.0
