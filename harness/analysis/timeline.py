"""What happened when in one page load, read back from its HAR and its JSON record.

Times are in ms from navigationStart, as Chrome's net-log gives them: to 1 ms. A request's life is cut into parts:

    start   dispatched    ready     sent            head        end
      |  queue  |dns|connect|tls|    |  send, wait    |  receive  |

Of the connection only what this request waited for counts: nothing when it stood already (keep-alive, HTTP/2).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from urllib.parse import urlsplit

from harness.analysis.asked_for import SCRIPT, initiators_of, is_unread, kind_of, read_warm_up
from harness.files.exchange import UNFINISHED, Exchange, Phases
from harness.files.har import LoadLog, read_har, request_head_bytes
from harness.files.load_parts import Initiator
from harness.files.load_record import LoadRecord
from harness.files.results import LoadResult
from harness.files.urls import without_fragment
from harness.system.untrusted import UnreadableFileError

OF_WORKERS = ("worker", "sharedworker", "serviceworker")
"""Sec-Fetch-Dest of a worker's script, which over http Chrome does not say."""
SpanMs = tuple[float, float]
"""From when to when, in ms."""


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
    start_ms: float
    dispatched_ms: float
    dns_ms: float
    connect: SpanMs | None
    tls: SpanMs | None
    sent_ms: float
    head_ms: float
    end_ms: float
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
        """What tells its server from others: hosts may share one (harness.files.hosts)."""
        return self.address or urlsplit(self.url).hostname or ""

    @property
    def host(self) -> str:
        """``scheme://host:port``, what Chrome's limit of connections is counted by."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}"

    @property
    def connected_ms(self) -> float:
        """When the connection stood that this request waited for; its start if it waited for none."""
        return max([self.start_ms, *(handshake[1] for handshake in (self.connect, self.tls) if handshake)])


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
    long_tasks: tuple[SpanMs, ...]


def read_timeline(load: LoadResult) -> Timeline | None:
    """Return what is known of `load`; None when it has no load event, or no HAR and JSON that can be read."""
    if load.plt_ms is None or load.record is None:
        return None
    try:
        log = read_har(load.har)
    except UnreadableFileError:
        return None     # no HAR beside a log of 2013, or one that was cut off: there is nothing to explain it with
    return make_timeline(log, load.record, load.plt_ms,
                         initiators_of(load.record, read_warm_up(load.log.parent.parent, load.page)))


def make_timeline(log: LoadLog, record: LoadRecord, plt_ms: float, initiators: Sequence[Initiator] = ()) -> Timeline:
    """Return the timeline of a load's `log` and `record`, and what Chrome says of its requests."""
    sockets = {str(socket.id): (socket.start_ms, socket.start_ms + socket.connect_ms)
               for socket in record.connections or () if socket.connect_ms is not None}
    held_ms = record.rtt_ms if record.network == "loopback" and not record.tfo else 0.0
    ended = sorted((((exchange.started or log.began) - log.began).total_seconds() * 1000, place)
                   for place, exchange in enumerate(log.exchanges) if exchange.error != UNFINISHED)
    makers: dict[str, tuple[float, int]] = {}       # of each connection: when its first request was sent, and which
    for sent in sorted((start + log.exchanges[place].phases.until_asked, place) for start, place in ended):
        makers.setdefault(log.exchanges[sent[1]].connection, sent)
    said: dict[str, list[Initiator]] = defaultdict(list)
    for initiator in reversed(initiators):          # each URL's first request has its first initiator, and so on
        said[without_fragment(initiator.url)].append(initiator)
    requests = []
    for start, place in ended:
        exchange = log.exchanges[place]
        url_said = said[without_fragment(exchange.request.url)]
        requests.append(_request(exchange, start, place, makers[exchange.connection], sockets.get(exchange.connection),
                                 held_ms, url_said.pop() if url_said else None))
    requests = _in_order(sorted(requests, key=attrgetter("dispatched_ms", "start_ms", "end_ms")))
    tasks = sorted((start, start + length) for start, length in record.long_tasks)
    for request in requests:
        tasks = _without(tasks, request) if request.synchronous else tasks
    return Timeline(plt_ms, record.dom_content_loaded_ms, tuple(requests), tuple(tasks))


def _in_order(requests: Sequence[TimedRequest]) -> list[TimedRequest]:
    """Return the requests with their `order`; what a worker asks for names its script as the Referer, and is its, too.

    Only scripts ask for others: a service worker that fetches the page, to keep it, owns nothing that the page asks
    for. Where a worker waits (importScripts(), a synchronous XMLHttpRequest), the page's thread does not stand still.
    """
    marked: list[TimedRequest] = []
    workers: set[str] = set()
    for order, request in enumerate(requests):
        of_worker = request.of_worker or request.referer in workers
        marked.append(replace(request, order=order, of_worker=of_worker,
                              synchronous=request.synchronous and not of_worker))
        if request.of_worker or (of_worker and request.kind == SCRIPT):
            workers.add(request.url)
    return marked


def _without(tasks: Sequence[SpanMs], waited: TimedRequest) -> list[SpanMs]:
    """Return the tasks without the time in which they waited for a request."""
    parts: list[SpanMs] = []
    for start, end in tasks:
        waits = waited.start_ms < end and start < waited.end_ms
        parts += [(start, waited.start_ms), (waited.end_ms, end)] if waits else [(start, end)]
    return [(start, end) for start, end in parts if start < end]


def _request(exchange: Exchange, start: float, place: int, maker: tuple[float, int],  # noqa: PLR0917
             socket: SpanMs | None, held_ms: float, initiator: Initiator | None) -> TimedRequest:
    """Return an exchange, which began at `start`, as a request of a timeline; `place` is its own in the HAR.

    `maker` is its connection's first request: when that was sent, and its place. `socket` is when the connection's TCP
    handshake began and ended, `held_ms` for how long servers on loopback held the first answers (see `_held`).
    """
    phases, asked, answer = exchange.phases, exchange.request, exchange.answer
    sent, head = start + phases.until_asked, start + phases.until_head
    dns_ms, plain, first = max(0.0, phases.dns), asked.url.startswith("http:"), place == maker[1]
    connect, tls = _handshakes(phases, socket, start, min(sent, maker[0]), plain=plain) \
        if first or exchange.over_http2 else (None, None)
    shared = not first and connect is not None
    dispatched = min(sent, max(start, connect[0] - dns_ms)) if connect and first else sent
    tcp_ms = socket[1] - socket[0] if socket and socket[0] >= 0 else 0.0
    if held_ms and socket and (first or shared) and socket[0] + held_ms > start:
        connect, tls, sent = _held(max(socket[0], start), socket[0] + held_ms, tls, sent, head)
        tcp_ms = held_ms
    return TimedRequest(
        order=0, url=asked.url, kind=kind_of(exchange), referer=asked.header("referer"),
        redirect_to=answer.redirect_url, connection=exchange.connection, first=first, shared=shared,
        start_ms=start, dispatched_ms=dispatched, dns_ms=dns_ms, connect=connect, tls=tls, sent_ms=sent, head_ms=head,
        end_ms=start + phases.total, of_worker=asked.header("sec-fetch-dest") in OF_WORKERS,
        syn_bytes=request_head_bytes(exchange) + asked.body_bytes if plain else None,
        status=answer.status, mime_type=answer.mime_type, body_bytes=max(0, answer.body_bytes), tcp_ms=tcp_ms,
        synchronous=exchange.synchronous, address=exchange.address, unread=is_unread(asked), entry=place,
        initiator=initiator)


def _handshakes(phases: Phases, socket: SpanMs | None, start: float, ready: float, *,
                plain: bool) -> tuple[SpanMs | None, SpanMs | None]:
    """Return the spans of the TCP and the TLS handshake that a request sent at `ready` or later waited for."""
    if ready <= start or (socket is None and phases.connect < 0):
        return None, None               # the connection stood before the request was made
    begin, connected = (min(max(at, start), ready) for at in socket or (ready - phases.connect,
                                                                        ready - max(0.0, phases.ssl)))
    if connected <= start:
        return (None, None) if plain else ((start, start), (start, ready))
    return (begin, connected), ((connected, ready) if not plain and ready > connected else None)


def _held(begin: float, stands: float, tls: SpanMs | None, sent: float,
          head: float) -> tuple[SpanMs, SpanMs | None, float]:
    """Return the handshakes, and when a request was sent, on loopback, whose server held its answer for the first one.

    There a connect takes no time, and what is asked for first on a connection is held for one round trip more
    (harness.replay.connection). As in a network, that stands between the connection's begin and the sending of the
    request, or of the ClientHello.
    """
    if tls:
        hello = min(max(stands, tls[0]), tls[1])
        return (begin, hello), (hello, tls[1]), sent
    sent = min(max(sent, stands), head)
    return (begin, min(stands, sent)), None, sent
