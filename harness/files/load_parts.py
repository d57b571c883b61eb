"""The parts of a load's record: what stands inside of it as an object or a list (harness.files.load_record).

Each is read from JSON by msgspec: a wrong type, a negative count or a status that HTTP does not have is an error with
its place. Where something new is to be recorded, add a field with a default: older files lack it.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal

import msgspec

from harness.files.exchange import Fate, fate_of
from harness.files.transport import Box

Ms = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
"""A time, up to eleven days: what claims to have taken longer was not a load."""
Count = Annotated[int, msgspec.Meta(ge=0)]
CookieMode = Literal["warm", "cold", "domain"]
"""What is known of TFO cookies when a load begins: see harness.network.cookies."""
Counters = dict[str, dict[str, int]]
"""How much each of the kernel's counters grew over the load, at "user" and summed over all "servers", or of "loopback",
the one network namespace that both share."""
NetworkKind = Literal["star", "loopback"]
"""What a load was made over: the simulated network, or the machine's loopback, where servers hold their answers back
(experiments/localhost.py)."""
AnswerKind = Literal["exact", "stand-in", "missing", "failed"]
"""How a request of a load was answered: see ReceivedAnswer."""


@dataclass(frozen=True)
class Document:
    """The main document after its redirects; `status` 0: no head of an answer came. `bytes` are of its body.

    `recorded_bytes` are the sizes that it may have: of a page that loads itself again, those of each of its documents.
    """

    url: str
    status: Count
    bytes: Count
    recorded_bytes: tuple[Count, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a status that HTTP does not have (RFC 9110, section 15)."""
        if self.status and not 100 <= self.status <= 599:
            raise ValueError(f"{self.status} is no HTTP status")


@dataclass(frozen=True)
class Initiator:
    """What caused a request to `url`: `type` is DevTools' word for it (parser, script, ...), `by` the URL of the
    document, style sheet or script, `line` and `column` (from 0) where in it. The parser of that document stops for a
    `blocking` script or style sheet, its scripts for a `synchronous` XMLHttpRequest. `priority` is what Chrome gave it
    when it was asked for ("VeryLow" to "VeryHigh", "" where that is not known); an image that is `seen`, within the
    window, is raised to "High" once Chrome knows that.
    """

    url: str
    type: str
    by: str = ""
    line: Count = 0
    column: Count = 0
    blocking: bool = False
    synchronous: bool = False
    priority: str = ""
    seen: bool = False


@dataclass(frozen=True)
class UsedConnection:
    """A connection of Chrome's that carried `requests`. `start_ms` is from navigationStart; `connect_ms` None: never
    connected, or not seen. `id` is the net-log's number of its socket, which the HAR's entries give, too. Over `quic`,
    `connect_ms` is the whole handshake's, as far as requests waited for it. `early`: whether the server took the early
    data that Chrome sent, None where it sent none; `asked_late`: Chrome could have sent its first request so, and wrote
    that after the handshake. `sent_again`: packets of QUIC's whose content Chrome sent again. `answered`: whether bytes
    came over it. With TFO a connection stands for Chrome before its SYN has left, and that SYN may be lost.
    """

    id: int
    address: str = ""
    start_ms: float = 0.0
    connect_ms: Ms | None = None
    requests: Count = 0
    quic: bool = False
    early: bool | None = None
    asked_late: bool = False
    sent_again: Count = 0
    answered: bool = True


@dataclass(frozen=True)
class EarlyCounts:
    """Connections of a load that followed another visit of its page, by what servers and Chrome say of early data.

    The first request of `possible` ones may travel in early data: over TLS, with a method that changes nothing, and
    over HTTP/1 two of a host, since Chrome keeps two tickets for it. On `too_late` Chrome had a ticket, and wrote the
    request when the handshake was over, since its network thread had other work. `resumed` began with a ticket; the
    servers of `sent` got the request in early data, of `in_syn` of these with the SYN. Chrome says of `accepted` that
    early data were accepted. `over_tcp`: of a load over QUIC, the TCP connections that carried a request of https; a
    WebSocket is none (wss).
    """

    possible: Count
    resumed: Count
    sent: Count
    in_syn: Count
    accepted: Count
    too_late: Count = 0
    over_tcp: Count = 0


JUDGED = frozenset(Fate) - {Fate.CANCELLED, Fate.BROWSERS_OWN, Fate.AFTER_LOAD}
"""A load is judged by these, if they were not asked for after its load event."""
ASKED = JUDGED - {Fate.AS_RECORDED, Fate.HUNG_AS_RECORDED}
"""Of these, those that got an answer when the page was recorded."""
COMPARED = frozenset((Fate.COUNTED, Fate.FAILED, Fate.AS_RECORDED))
"""What each load of a page gets alike."""
NOT_MISSED = frozenset((Fate.CANCELLED, Fate.AS_RECORDED, Fate.HUNG_AS_RECORDED, Fate.CUT))
"""A load got as much of these as there was for it."""


@dataclass(frozen=True)
class ReceivedAnswer:
    """What one request of the load got. `identity` is the recorded transaction that was sent, as the server names it.

    `kind`: "exact" (what was recorded for this request), "stand-in" (something near it), "missing" (404, nothing is
    near), "failed" (no answer came). `critical`: it lies on the load's critical path, None where that is not known.
    `purpose` is what it was asked for as (harness.analysis.asked_for.kind_of), `error` Chrome's name of what went
    wrong. `late`: it was asked for after the load event. `expected`: it got no answer when the page was recorded
    either, from a server that answered others (which then sends a 504, or nothing) or from a host that answered nothing
    (which then is not there). `bytes` are the body's when decoded, `wire_bytes` those of it that crossed the network;
    None in records from before they were kept.
    """

    url: str
    kind: AnswerKind
    identity: str = ""
    status: Count = 0
    bytes: Count = 0
    critical: bool | None = None
    purpose: str = ""
    error: str = ""
    late: bool = False
    expected: bool = False
    wire_bytes: Count | None = None

    @cached_property
    def fate(self) -> Fate:
        """What became of it."""
        return fate_of(self.url, self.error, answered=self.kind != "failed", expected=self.expected)

    def is_one_of(self, fates: frozenset[Fate]) -> bool:
        """Tell whether it was asked for before the load event, and had one of these fates."""
        return not self.late and self.fate in fates


WHOLE_RATIO = 0.90
"""A load that gets this share of the recorded answers and bytes has the page whole (harness.measure.coverage)."""


@dataclass(frozen=True)
class Coverage:
    """How many recorded answers the recording has for the page, of how many bytes, and how much of it the load got.

    `of_a_load`: the recording is what one load of Chrome's asked for up to its load event, so another load asks for it,
    too. What the scraper of 2013 stored may be more than a load of today asks for. Of a page with live connections only
    what it had asked for before the first message is counted. `lost` are the URLs of the first few recorded answers
    that the load did not get.
    """

    recorded: Count
    recorded_bytes: Count
    got: Count
    got_bytes: Count
    of_a_load: bool = False
    lost: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The share of the recorded answers, or of their bytes if that is less, that the load got."""
        return min(got / held if held else 1.0 for got, held in ((self.got, self.recorded),
                                                                 (self.got_bytes, self.recorded_bytes)))


@dataclass(frozen=True)
class ReceivedAnswers:
    """How many of the load's requests got which kind of answer (see ReceivedAnswer), and `each`, as far as known.

    What was asked for after the load event, what the page itself cancelled and what came from Chrome's cache are not
    counted; the last are not in `each` either, but in `from_cache`: the identity of each such answer up to the load
    event, "" where no server of this load had sent it. Those in `failed_as_recorded` got no answer when the page was
    recorded either, and no other number counts them.
    """

    exact: Count
    stand_in: Count
    missing: Count
    failed: Count
    each: tuple[ReceivedAnswer, ...] = ()
    coverage: Coverage | None = None
    from_cache: tuple[str, ...] = ()
    failed_as_recorded: Count = 0


@dataclass(frozen=True)
class LateAnswer:
    """The server `host` was silent for `late_ms` longer than it should have been, from `start_ms` of the load on.

    `critical`: the load event waited for it. `rtt_ms`: the RTT to this server, None where all have the load's.
    """

    host: str
    start_ms: float
    late_ms: float
    critical: bool
    rtt_ms: Ms | None = None


@dataclass(frozen=True)
class Timekeeping:
    """How well the machine kept time from the navigation to the load event, in ms; None: not measured.

    `late` are the answers that came late, the latest first. `delay_line_late_ms`: by how much it released a packet
    late at most. `steal_ms`: time the hypervisor gave to others, summed over all `processors`. `gap_ms`: by how much
    a ticker beside the load was late at most. `suspended_ms`: growth of CLOCK_BOOTTIME over CLOCK_MONOTONIC.
    `page_waited_ms`: the main thread of Chrome's renderer could have run and got no processor;
    `page_waited_for_others_ms`: the most of that for which others than Chrome can have been the reason, after the
    document's first byte. `others_busy_ms`: processor time, summed over all processors, of programs that are not of
    the experiment and are as important (nice(1)). `stopped_ms`: how long processes of Chrome stood stopped, by name.
    """

    late: tuple[LateAnswer, ...] = ()
    delay_line_late_ms: float | None = None
    steal_ms: float | None = None
    processors: int | None = None
    gap_ms: float | None = None
    suspended_ms: float | None = None
    page_waited_ms: float | None = None
    page_waited_for_others_ms: float | None = None
    others_busy_ms: float | None = None
    stopped_ms: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class CookieCounts:
    """The TFO cookies of a load with TFO. `mode`: what `user` knew of them (harness.network.cookies).

    `given`: how many SYN-ACKs brought a cookie, so many connections had asked for one instead of carrying data. `first`
    is how many servers (cold) or sites (domain) gave one; `visited` is to how many of them Chrome sent requests.
    """

    mode: CookieMode
    given: Count
    first: Count
    visited: Count


@dataclass(frozen=True)
class MiddleboxCounts:
    """What a middlebox did in the load: of the `seen` SYNs that came to it, `touched` were spoilt. It stands before
    `servers` of the servers, and `passed` requests reached these in the SYN all the same.
    """

    box: Box
    servers: Count
    seen: Count
    touched: Count
    passed: Count

    @property
    def dropped(self) -> int:
        """How many of the SYNs it dropped."""
        return self.touched if self.box.drops else 0


@dataclass(frozen=True)
class CaptureCounts:
    """What became of the capture of the load's packets (--pcap)."""

    packets: Count
    dropped: Count
    problem: str | None = None


@dataclass(frozen=True)
class Environment:
    """What the load was measured on; see harness.system.environment. `argv` is Chrome's command line."""

    kernel: str | None = None
    machine: str | None = None
    cpus: int | None = None
    python: str | None = None
    git: str | None = None
    versions: dict[str, str] | None = None
    argv: tuple[str, ...] | None = None
    measured_rtt_ms: dict[str, float] = field(default_factory=dict)
    load_average: float | None = None
    sysctls: dict[str, str] = field(default_factory=dict)
