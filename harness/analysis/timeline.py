"""What happened when in one page load, read back from its HAR and its JSON record.

Times are in ms from navigationStart, as Chrome's net-log gives them: to 1 ms. A request's life is cut into parts:

    start   dispatched    ready     sent            head        end
      |  queue  |dns|connect|tls|    |  send, wait    |  receive  |

Of the connection only what this request waited for counts: nothing when it stood already (keep-alive, HTTP/2).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from harness.analysis.initiators import initiators_of, read_warm_up
from harness.files.exchange import UNFINISHED, Exchange, Phases, Request
from harness.files.har import request_head_bytes
from harness.files.load_har import LoadLog, har_file, read_har
from harness.files.load_parts import Initiator
from harness.files.load_record import LoadRecord
from harness.files.results import LoadResult
from harness.files.urls import without_fragment
from harness.system.untrusted import UnreadableFileError

IMAGE, STYLE, DOCUMENT, SCRIPT, DATA, FONT, MEDIA = "image", "style", "document", "script", "data", "font", "media"

FETCHED = "empty"
"""Sec-Fetch-Dest of what is for no element of a page: fetch(), XMLHttpRequest, beacons."""
OF_WORKERS = ("worker", "sharedworker", "serviceworker")
"""Sec-Fetch-Dest of a worker's script, which over http Chrome does not say."""
PASSED_ON = ("navigate", "no-cors")
"""Sec-Fetch-Mode of what a service worker asks for in a page's place, with the Accept that Chrome gave it: documents,
pictures, style sheets. No script can fetch a document in the first of these modes, nor set Accept in the second."""
OF_SCRIPTS = "x-requested-with"
"""A header that only scripts send (jQuery and others, with what they fetch from their own site)."""
FONT_NAMES = (".woff2", ".woff", ".ttf", ".otf", ".eot")
FETCHED_WITH = frozenset(("origin", "range", "purpose", "sec-purpose"))
"""Headers of what is no script of another origin: fetched by a script, a part of a film, fetched ahead for later."""


@dataclass(frozen=True)
class TimedRequest:
    """One request and its answer, with the times of its parts.

    `order` is its place among the load's requests by the time it was dispatched. `kind` is what it was asked for as
    (IMAGE, STYLE, ...). `connect` and `tls` are spans (start, end) of the connection's making that this request waited
    for, None without. `first` is true of the first request sent on its connection, `shared` of another one that waited
    for the same handshake, which only HTTP/2 knows: over HTTP/1 it waits until the answer before it is over.
    `tcp_ms` is how long all of the connection's TCP handshake took, waited for or not; 0 if it began before the load.
    `syn_bytes` is how much a SYN must carry to hold the whole request (its head and body), None over TLS, where the SYN
    carries the ClientHello. `connection` is "" for an answer from the cache. `status` is 0 without an answer,
    `mime_type` what its Content-Type says, `body_bytes` its body as it came. For a `synchronous` request the page's
    thread stood still.
    """

    order: int
    url: str
    kind: str
    referer: str
    redirect_to: str
    connection: str
    first: bool
    shared: bool
    start: float
    dispatched: float
    dns_ms: float
    connect: tuple[float, float] | None
    tls: tuple[float, float] | None
    sent: float
    head: float
    end: float
    syn_bytes: int | None
    status: int = 0
    mime_type: str = ""
    body_bytes: int = 0
    tcp_ms: float = 0.0
    synchronous: bool = False
    address: str = ""
    """The server's IP address; "" where the HAR does not say it."""
    of_worker: bool = False
    """Whether it is a worker's script or what that one imports, for which no load event waits (HTML, section 10.2)."""
    unread: bool = False
    """Whether nothing on the page gets to know its answer, as of a beacon or of what is fetched ahead for later."""
    entry: int = field(default=-1, compare=False)
    """Its place among the entries of the HAR."""
    initiator: Initiator | None = field(default=None, compare=False)
    """What Chrome says who asked for it, None where it says nothing."""

    @property
    def server(self) -> str:
        """What tells its server from others: hosts may share one (harness.files.layout)."""
        return self.address or urlsplit(self.url).hostname or ""

    @property
    def host(self) -> str:
        """``scheme://host:port``, what Chrome's limit of connections is counted by."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}"

    @property
    def connected(self) -> float:
        """When the connection stood that this request waited for; its start if it waited for none."""
        return max([self.start, *(handshake[1] for handshake in (self.connect, self.tls) if handshake)])


@dataclass(frozen=True)
class Timeline:
    """A load: its requests by the time they were dispatched, the page's load event, and when its scripts kept it busy.

    `parsed_ms` is the end of DOMContentLoaded, None if unknown. `long_tasks` are spans of the main thread's tasks of 50
    ms and more (W3C Long Tasks), in order, without the time in which it waited for a synchronous request; Chrome does
    not report all of them.
    """

    plt_ms: float
    parsed_ms: float | None
    requests: tuple[TimedRequest, ...]
    long_tasks: tuple[tuple[float, float], ...]


def read_timeline(load: LoadResult) -> Timeline | None:
    """Return what is known of `load`; None when it has no load event, or no HAR and JSON that can be read."""
    if load.plt_ms is None or load.record is None:
        return None
    try:
        log = read_har(har_file(load))
    except UnreadableFileError:
        return None     # no HAR beside a log of 2013, or one that was cut off: there is nothing to explain it with
    return make_timeline(log, load.record, load.plt_ms,
                         initiators_of(load.record, read_warm_up(load.log.parent.parent, load.page)))


def make_timeline(log: LoadLog, record: LoadRecord, plt_ms: float, initiators: Sequence[Initiator] = ()) -> Timeline:
    """Return the timeline of a load's `log` and `record`, and what Chrome says of its requests."""
    connections = {str(connection.id): (connection.start_ms, connection.start_ms + connection.connect_ms)
                   for connection in record.connections or () if connection.connect_ms is not None}
    ended = [(place, exchange, ((exchange.started or log.began) - log.began).total_seconds() * 1000)
             for place, exchange in enumerate(log.exchanges) if exchange.error != UNFINISHED]
    makers = _makers(ended)
    requests = [_request(place, exchange, start, connections, makers) for place, exchange, start in ended]
    if record.network == "loopback" and not record.tfo:
        requests = [_with_held_handshake(request, connections, record.rtt_ms) for request in requests]
    requests = _with_initiators(requests, initiators)
    requests.sort(key=lambda request: (request.dispatched, request.start, request.end))
    requests = _with_imports_of_workers(requests)
    tasks = sorted((float(start), float(start) + float(length)) for start, length in record.long_tasks)
    for request in requests:
        tasks = _without(tasks, request) if request.synchronous else tasks
    return Timeline(plt_ms, record.dom_content_loaded_ms,
                    tuple(replace(request, order=order) for order, request in enumerate(requests)), tuple(tasks))


def _with_initiators(requests: Sequence[TimedRequest], initiators: Sequence[Initiator]) -> list[TimedRequest]:
    """Return the requests in the order of their start, each URL's first with its first initiator, and so on."""
    said: dict[str, list[Initiator]] = defaultdict(list)
    for initiator in reversed(initiators):
        said[without_fragment(initiator.url)].append(initiator)
    in_order = sorted(requests, key=lambda request: (request.start, request.entry))
    return [replace(request, initiator=said[url].pop() if said[url] else None)
            for request in in_order for url in [without_fragment(request.url)]]


def _with_imports_of_workers(requests: Sequence[TimedRequest]) -> list[TimedRequest]:
    """Return the requests; what a worker asks for names its script as the Referer, and is the worker's, too.

    Only scripts ask for others: a service worker that fetches the page, to keep it, owns nothing that the page asks
    for. Where a worker waits (importScripts(), a synchronous XMLHttpRequest), the page's thread does not stand still.
    """
    marked: list[TimedRequest] = []
    workers: set[str] = set()
    for request in requests:
        of_worker = request.of_worker or request.referer in workers
        marked.append(replace(request, of_worker=of_worker, synchronous=request.synchronous and not of_worker))
        if request.of_worker or (of_worker and request.kind == SCRIPT):
            workers.add(request.url)
    return marked


def _without(tasks: Sequence[tuple[float, float]], waited: TimedRequest) -> list[tuple[float, float]]:
    """Return the tasks without the time in which they waited for a request."""
    parts: list[tuple[float, float]] = []
    for start, end in tasks:
        waits = waited.start < end and start < waited.end
        parts += [(start, waited.start), (waited.end, end)] if waits else [(start, end)]
    return [(start, end) for start, end in parts if start < end]


def _makers(ended: Sequence[tuple[int, Exchange, float]]) -> dict[str, tuple[int, float]]:
    """Return for each connection the place of the exchange that was the first sent on it, and when it was sent.

    `ended` are exchanges, each with its place in the HAR before it, and its start behind it, in ms.
    """
    makers: dict[str, tuple[int, float]] = {}
    for place, exchange, start in ended:
        connection, sent = exchange.connection, start + exchange.phases.until_asked
        if connection and (connection not in makers or sent < makers[connection][1]):
            makers[connection] = place, sent
    return makers


def _request(place: int, exchange: Exchange, start: float, connections: dict[str, tuple[float, float]],
             makers: dict[str, tuple[int, float]]) -> TimedRequest:
    """Return the exchange at a `place` in the HAR as a request of a timeline, from `start` on, in ms.

    `connections` say when each connection's TCP handshake began and ended, `makers` what `_makers` found.
    """
    phases, asked, answer, connection = exchange.phases, exchange.request, exchange.answer, exchange.connection
    sent = start + phases.until_asked
    maker, ready = makers.get(connection, (place, sent))
    dns_ms = max(0.0, phases.dns)
    plain = asked.url.startswith("http:")
    first = maker == place
    connect = tls = None
    if first or exchange.over_http2:
        connect, tls = _handshakes(phases, connections.get(connection), start, min(sent, ready), plain=plain)
    dispatched = max(start, connect[0] - dns_ms) if connect and first else sent
    return TimedRequest(
        order=0, entry=place, url=asked.url, kind=kind_of(exchange), referer=asked.header("referer"),
        redirect_to=answer.redirect_url, connection=connection, first=first,
        shared=not first and connect is not None, start=start,
        dispatched=min(dispatched, sent), dns_ms=dns_ms, connect=connect, tls=tls, sent=sent,
        head=start + phases.until_head, end=start + phases.total,
        of_worker=asked.header("sec-fetch-dest") in OF_WORKERS,
        syn_bytes=request_head_bytes(exchange) + asked.body_bytes if plain else None,
        status=answer.status, mime_type=answer.mime_type, body_bytes=max(0, answer.body_bytes),
        tcp_ms=_tcp_ms(connections.get(connection)), synchronous=exchange.synchronous, address=exchange.address,
        unread=is_unread(asked))


def _with_held_handshake(request: TimedRequest, connections: dict[str, tuple[float, float]],
                         rtt_ms: float) -> TimedRequest:
    """Return a request with the TCP handshake put back that its server, on loopback, held for (harness.replay.held).

    There a connect takes no time, and what is asked for first on a connection is held for one round trip more. As in a
    network, that stands between the connection's begin and the sending of the request, or of the ClientHello.
    """
    if not (request.first or request.shared) or request.connection not in connections:
        return request
    begin, stands = connections[request.connection][0], connections[request.connection][0] + rtt_ms
    if stands <= request.start:
        return request
    begin = max(begin, request.start)
    if request.tls:
        hello = min(max(stands, request.tls[0]), request.tls[1])
        return replace(request, connect=(begin, hello), tls=(hello, request.tls[1]), tcp_ms=rtt_ms)
    sent = min(max(request.sent, stands), request.head)
    return replace(request, connect=(begin, min(stands, sent)), sent=sent, tcp_ms=rtt_ms)


def _tcp_ms(connection: tuple[float, float] | None) -> float:
    return connection[1] - connection[0] if connection and connection[0] >= 0 else 0.0


def _handshakes(phases: Phases, connection: tuple[float, float] | None, start: float, ready: float,
                *, plain: bool) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """Return the spans of the TCP and the TLS handshake that a request sent at `ready` or later waited for."""
    if ready <= start or (connection is None and phases.connect < 0):
        return None, None               # the connection stood before the request was made
    if connection is None:
        connection = ready - phases.connect, ready - max(0.0, phases.ssl)
    begin, connected = (min(max(at, start), ready) for at in connection)
    if connected <= start:
        return (None, None) if plain else ((start, start), (start, ready))
    return (begin, connected), ((connected, ready) if not plain and ready > connected else None)


def kind_of(exchange: Exchange) -> str:
    """Return what an exchange was for, from what Chrome says with the request and from the answer's type.

    Chrome says it with Accept, of what it loads itself, and over https with Sec-Fetch-Dest (Fetch Metadata). A script
    may say any Accept with what it fetches: text/html for a part of a page (jQuery's load(), Turbo).
    """
    asked = exchange.request
    accept, dest = asked.header("accept"), asked.header("sec-fetch-dest")
    is_passed_on = asked.header("sec-fetch-mode") in PASSED_ON and accept not in ("", "*/*")
    if (dest == FETCHED and not is_passed_on) or asked.header(OF_SCRIPTS):
        return DATA         # whatever its type and its Accept are: no load event waits for what a script reads
    for prefix, kind in (("text/html", DOCUMENT), ("text/css", STYLE), ("image/", IMAGE)):
        if accept.startswith(prefix):
            return kind
    return kind_of_type(exchange.answer.mime_type) or _kind_of_any_type(exchange)


def kind_of_type(mime_type: str) -> str:
    """Return what an answer of this type was asked for as, "" where the type does not say it."""
    if "javascript" in mime_type or "ecmascript" in mime_type:
        return SCRIPT
    if "font" in mime_type:
        return FONT
    return MEDIA if mime_type.startswith(("audio/", "video/")) else ""


def _kind_of_any_type(exchange: Exchange) -> str:
    """Return what a request was for whose answer's type does not say it: scripts and fonts are taken whatever it is.

    JSONP often is text/html, a font application/octet-stream, a 404 anything. Over http a script shows where it is of
    another origin: what scripts themselves fetch from there (XMLHttpRequest, fetch) says for whom it is (Origin, RFC
    6454), a part of a film has a Range. A font shows by its name.
    """
    asked = exchange.request
    if dest := asked.header("sec-fetch-dest"):
        return {"script": SCRIPT, "font": FONT}.get(dest, DATA)
    if asked.method != "GET" or asked.header("accept") != "*/*":
        return DATA
    url, by = urlsplit(asked.url), urlsplit(exchange.initiator or asked.header("referer"))
    if url.path.lower().endswith(FONT_NAMES):
        return FONT
    is_of_another_origin = by[:2] not in (("", ""), url[:2])
    return SCRIPT if is_of_another_origin and not any(map(asked.header, FETCHED_WITH)) else DATA


def is_unread(asked: Request) -> bool:
    """Tell whether nothing on the page gets to know a request's answer: navigator.sendBeacon(), <a ping>, prefetch.

    Such a request is for no element of the page ("empty"), and may not be read across origins ("no-cors"); what scripts
    read says "cors" or "same-origin" (Fetch Metadata). Beacons and pings are posted: a GET or HEAD of this kind is a
    fetch() whose answer is not read, but heard of, as by scripts that look for a blocker of advertisements. Chrome says
    of what is fetched ahead that it is (Sec-Purpose), over http of nothing else.
    """
    return asked.header("sec-purpose").startswith("prefetch") or (
        asked.method == "POST" and asked.header("sec-fetch-dest") == FETCHED
        and asked.header("sec-fetch-mode") == "no-cors")
