"""The requests of one page at one RTT, TFO off and on: the figure, what it shows in sentences, and its numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from harness.analysis.selection import Selection
from harness.analysis.shown import ShownLoad
from harness.files.results import Results
from harness.show.answers import doubtful_words
from harness.show.inline_svg import inline_svg
from harness.show.labels import TFO_NAMES
from harness.show.records import ANSWERS, PHASES, ShownRequest
from harness.show.report.tables import Table, columns, known, number
from harness.show.requests_figure import Compared, Pair, compare_loads, draw_figure


@dataclass(frozen=True)
class Waterfall:
    """`summary` says in sentences what `svg` shows; `detailed` is False when neither load has a HAR."""

    rtt: str
    svg: Markup
    detailed: bool
    summary: list[str]
    table: Table


def make_waterfalls(results: Results, selection: Selection, page: str, number: int) -> Iterator[Waterfall]:
    """Give a page's waterfalls, one for each RTT at which there is a load to draw. `number` counts the pages."""
    for place, rtt_ms in enumerate(results.rtts_ms):
        compared, figure = compare_loads(selection, page, rtt_ms), draw_figure(results, selection, page, rtt_ms)
        if compared is None or figure is None:
            continue
        rtt, summary = f"{selection.rtt_name(rtt_ms)} ms", list(_summary(compared.loads, compared.pairs))
        detailed = any(request and request.phases_ms for pair in compared.pairs for request in pair)
        label = " ".join([f"Waterfall of {len(compared.pairs)} requests.", *summary])
        yield Waterfall(rtt, Markup(inline_svg(figure, f"waterfall-{number}-{place}", label)), detailed, summary,
                        request_table(compared, results.urls[page], rtt, detailed=detailed))


def _url(pair: Pair) -> str:
    request = pair[0] or pair[1]
    return request.url if request else ""


def _summary(loads: Sequence[ShownLoad | None], pairs: Sequence[Pair]) -> Sequence[str]:
    lines = []
    for tfo, (name, shown) in enumerate(zip(TFO_NAMES, loads, strict=True)):
        if shown is None:
            lines.append(f"{name}: no load to draw.")
            continue
        event = f", load event after {shown.load.plt_ms / 1000:.3f} s" if shown.load.plt_ms else ""
        if record := shown.load.record:
            event += "".join(f", {name} after {at_ms / 1000:.3f} s" for name, at_ms in (
                ("FCP", record.fcp_ms), ("LCP", record.lcp_ms)) if at_ms is not None)
        lines.append(f"{name}: {shown.which}, {len(shown.requests)} requests{event}"
                     f"{_connect_words([pair[tfo] for pair in pairs])}.{doubtful_words(shown.doubtful)}")
    return lines


def _connect_words(requests: Sequence[ShownRequest | None]) -> str:
    known = [request.phases_ms for request in requests if request and request.phases_ms]
    if not known:
        return ""
    connect_ms = sum(phases[PHASES.index("connect")] for phases in known)
    return f"; {connect_ms / 1000:.3f} s of connecting in all requests together"


def request_table(compared: Compared, url: str, rtt: str, *, detailed: bool) -> Table:
    """Return every request of both loads, two rows under its URL."""
    measured = [f"{name} (ms)" for name in ("Start", *(PHASES if detailed else ()), "End")]
    heads = columns("Load", *measured, "Bytes", words=("Status", "Connection"))
    order = " without TFO" if all(compared.loads) else ""
    return Table(f"Requests of {url} at {rtt} RTT, in the order of their start{order}", heads, [
        (f"{position}. {_url(pair)}", [_row(name, request, detailed=detailed)
                                       for name, request in zip(TFO_NAMES, pair, strict=True) if request])
        for position, pair in enumerate(compared.pairs, start=1)])


def _row(name: str, request: ShownRequest, *, detailed: bool) -> list[str]:
    phases = request.phases_ms or (None,) * len(PHASES)
    times = (request.start_ms, *(phases if detailed else ()), request.end_ms)
    status = ", ".join(filter(None, (request.status, request.error, ANSWERS.get(request.answer))))
    return [name, *(number(ms, "{:.0f}") for ms in times), number(request.bytes), known(status),
            known(request.connection)]
