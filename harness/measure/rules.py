"""RULES: all that can speak against a load, in the order in which it is said. docs/method.md prints this table.

A rule of time is worth its row as long as an injected disturbance is missed without it: benchmarks/disturbed.py shows
that with --without.
"""

from collections.abc import Iterable

from harness.analysis.answers import WHOLE_RATIO
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.measure import coverage, sameness, validity
from harness.measure.reason import Blame
from harness.measure.rule import Found, Limit, Rule, Section, Times, too_long
from harness.measure.timekeeping import LATE
from harness.mirror.answers import FAILED_RATIO
from harness.netlog import moved_on

OFTEN_UNSAID = frozenset((ReasonKind.BROWSER, ReasonKind.LED_ON, ReasonKind.CLOCK_SET_BACK))
"""A load that these speak against has often no load event, no document, and no logs of its servers either."""
NOTHING_CAME = OFTEN_UNSAID | {ReasonKind.NO_LOAD_EVENT}
LED_ON = frozenset((ReasonKind.LED_ON,))
"""All that is known of such a load is about the page to which it was led."""
CLOCK = Limit(ms=50.0)
WAITED, OTHERS_BUSY = Limit(ms=150.0, plt_ratio=0.40), Limit(ms=150.0, plt_ratio=0.25)


def clock_set_back(load: LoadRecord) -> Iterable[Found]:
    """Find out whether the clock was set back while Chrome started: then all requests seem to come later."""
    if load.clock_set_ms > CLOCK.ms:
        yield Found(ReasonKind.CLOCK_SET_BACK, {"ms": load.clock_set_ms})


def waited(load: LoadRecord) -> Iterable[Found]:
    """Find out whether the page waited for a processor while programs that are not of the experiment had one."""
    kept, plt_ms = load.timekeeping, load.plt_ms
    if kept and plt_ms and (kept.others_busy_ms or 0.0) > OTHERS_BUSY.of(load.rtt_ms, plt_ms) \
            and (kept.page_waited_ms or 0.0) > WAITED.of(load.rtt_ms, plt_ms):
        yield Found(ReasonKind.WAITED, {"ms": kept.page_waited_ms})


def of_time(kind: ReasonKind, limit: Limit, times: Times, *, words: str, measured: str, source: str = "") -> Rule:
    """Return a rule of what the machine did: each of the times in ms that `times` returns, by name, may be `limit`."""
    return Rule(kind=kind, section=Section.TIME, threshold=limit, check=too_long(kind, limit, times), words=words,
                measured=measured, source=source)


CONTENT: tuple[Rule, ...] = (
    Rule(kind=ReasonKind.BROWSER, section=Section.CONTENT, check=validity.browser, words="{error}",
         measured="Chrome or its network process ended before the load did"),
    Rule(kind=ReasonKind.LED_ON, section=Section.CONTENT, check=validity.browser, blame=Blame.PAGE,
         words=moved_on.in_words("{url}"),
         measured="a script or a Refresh led on to another page; a page that loads itself again is no other page"),
    Rule(kind=ReasonKind.CLOCK_SET_BACK, section=Section.CONTENT, check=clock_set_back, threshold=CLOCK,
         words="the machine's clock was set back by {ms:.0f} ms while Chrome started",
         measured="the wall clock was set back while Chrome started, by the page's times and those of the net-log",
         source="3 ms at most otherwise"),
    Rule(kind=ReasonKind.NO_LOAD_EVENT, section=Section.CONTENT, check=validity.load_event, unless=OFTEN_UNSAID,
         words="no load event{within}", measured="there was no load event"),
    Rule(kind=ReasonKind.NEVER_ENDED, section=Section.CONTENT, check=validity.load_event, unless=LED_ON,
         words="requests that never ended: {count}",
         measured="a request before the load event got no answer, and it did not hang when it was recorded"),
    Rule(kind=ReasonKind.NO_DOCUMENT, section=Section.CONTENT, check=validity.document, unless=NOTHING_CAME,
         words="the document never answered", measured="the document got no answer"),
    Rule(kind=ReasonKind.DOCUMENT_STATUS, section=Section.CONTENT, check=validity.document, blame=Blame.PAGE,
         words="the document answered {status}", measured="the document's status is not 200", unless=LED_ON),
    Rule(kind=ReasonKind.DOCUMENT_BYTES, section=Section.CONTENT, check=validity.document, blame=Blame.PAGE,
         words="the document had {bytes} bytes, the recorded one has {sizes}", unless=LED_ON,
         measured="the document is not as large as recorded; of a page that loads itself again, as any of its recorded "
                  "documents"),
    Rule(kind=ReasonKind.UNKNOWN_ANSWERS, section=Section.CONTENT, check=validity.load_event, unless=LED_ON,
         words="what it got is not known: its HAR cannot be read", measured="its HAR cannot be read"),
    Rule(kind=ReasonKind.FAILED_REQUESTS, section=Section.CONTENT, check=coverage.failed_or_lost, blame=Blame.PAGE,
         words="{failed} of {total} requests failed: {why}", unless=LED_ON,
         threshold=f"over {FAILED_RATIO:.0%} of those before the load event",
         measured="requests failed, or the recording lacks their answers (an accident where servers refused or broke "
                  "off)"),
    Rule(kind=ReasonKind.HALF_OF_RECORDING, section=Section.CONTENT, check=coverage.failed_or_lost, blame=Blame.PAGE,
         words="got only {got} of the {wanted} {what}{without}", unless=LED_ON,
         threshold=f"under {coverage.LEAST_RATIO:.0%} of what the recording holds",
         measured="recorded answers that the load received, by number",
         source="recordings of 2013 hold more than today's Chrome asks for, but not that much more"),
)
NETWORK: tuple[Rule, ...] = (
    Rule(kind=ReasonKind.SYN_AGAIN, section=Section.NETWORK, check=validity.network,
         words="SYN retransmitted by {where}: {count}",
         measured="a SYN was sent again that no full buffer of user's narrow link had lost",
         source="after 1 s, RFC 6298, section 2.1"),
    Rule(kind=ReasonKind.FULL_QUEUE, section=Section.NETWORK, check=validity.network,
         words="{name} at {where}: {count}", measured="the queue of a listening socket, or of UDP, was full"),
    Rule(kind=ReasonKind.DROPPED_PACKETS, section=Section.NETWORK, check=validity.network,
         words="packets dropped by the delay line: {count}", measured="the delay line dropped a packet"),
    Rule(kind=ReasonKind.DATA_WITHOUT_TFO, section=Section.NETWORK, check=validity.fastopen,
         words="TFO is off, but {count} connections carried data in the SYN",
         measured="with TFO off, a SYN carried data"),
    Rule(kind=ReasonKind.NO_COOKIE, section=Section.NETWORK, check=validity.fastopen,
         words="--cookies {mode}: only {first} of {visited} {givers} gave a cookie{lost}",
         measured="with `--cookies cold` or `domain`, a server (site) that Chrome used gave no cookie"),
    Rule(kind=ReasonKind.NO_DATA_WITH_TFO, section=Section.NETWORK, check=validity.fastopen,
         words="TFO is on, but only {in_syn} of {carried} connections carried their request in the SYN{asked}",
         threshold=f"under {validity.SYN_DATA_SHARE:.0%}",
         measured="with TFO on, connections that carried their request in the SYN, or for a known reason did not: they "
         "asked for a cookie, a `--middlebox` touched their SYN, or a `--balancer` led to a server with another key"),
    Rule(kind=ReasonKind.BOX_PASSED, section=Section.NETWORK, check=validity.fastopen,
         words="{count} requests came in the SYN to servers behind the middlebox ({box})",
         measured="a request in the SYN reached a server behind the `--middlebox`"),
    Rule(kind=ReasonKind.EARLY_UNASKED, section=Section.NETWORK, check=validity.early_data,
         words="early data is off, but {count} connections brought their request in it",
         measured="without early data, a connection's first request came before the TLS handshake was over"),
    Rule(kind=ReasonKind.LITTLE_EARLY, section=Section.NETWORK, check=validity.early_data,
         words="early data is on, but only {sent} of {possible} connections brought their request in it, not {others}",
         threshold=f"under {validity.EARLY_SHARE:.0%} of those that could, and on which Chrome wrote it before the "
                   "handshake was over",
         measured="with early data, connections that brought their request in it"),
    Rule(kind=ReasonKind.EARLY_DISPUTED, section=Section.NETWORK, check=validity.early_data,
         words="servers got early data on {servers} connections, and Chrome says that it was accepted on {chrome}",
         measured="the servers' logs and Chrome's net-log differ in the number of connections with early data"),
    Rule(kind=ReasonKind.TCP_BESIDE_QUIC, section=Section.NETWORK, check=validity.early_data,
         words="it is to go over QUIC, but {count} TCP connections carried requests of https",
         measured="with `--http h3`, a TCP connection carried a request of https; WebSockets (wss) may use TCP"),
    Rule(kind=ReasonKind.NOT_LOGGED, section=Section.NETWORK, check=validity.server_logs, unless=NOTHING_CAME,
         words="the servers' logs know of {logged} of the {used} connections over which answers came",
         measured="the servers' logs lack a connection over which Chrome got something"),
)
TIME: tuple[Rule, ...] = (
    of_time(ReasonKind.SUSPENDED, Limit(ms=10.0), times=lambda kept: {"": kept.suspended_ms},
            words="the machine was suspended for {ms:.0f} ms", measured="the machine slept, by "
            "CLOCK_BOOTTIME less CLOCK_MONOTONIC", source="the time between two readings is less"),
    of_time(ReasonKind.STOPPED, Limit(ms=30.0), times=lambda kept: kept.stopped_ms,
            words="{name} was stopped for {ms:.0f} ms: somebody sent it a signal or debugs it",
            measured="a process of Chrome was stopped; their states are read every 20 ms",
            source="two looks in a row: more than a passing touch of a debugger or a shell"),
    of_time(ReasonKind.LATE_PACKETS, Limit(ms=15.0, rtt_ratio=0.10), times=lambda kept: {"": kept.delay_line_late_ms},
            words="packets were late by up to {ms:.0f} ms: the delay line could not run, another program kept the "
            "processor", measured="the delay line let a packet go late",
            source="of thousands, a few were up to 13.5 ms late on an idle virtual machine, and no answer for that"),
    Rule(kind=ReasonKind.LATE_ANSWER, section=Section.TIME, check=validity.late_answers, threshold=LATE,
         words="an answer of {host} was late by {ms:.0f} ms, and the page waited for it: its server or the network "
         "could not run in time", unless=frozenset((ReasonKind.LATE_PACKETS,)),
         measured="an answer on the critical path came late, see below",
         source="of 37 loads at 20 ms five were late by 5 to 60 ms in pages of 1 to 4 s"),
    of_time(ReasonKind.GAP, Limit(ms=60.0), times=lambda kept: {"": kept.gap_ms},
            words="the machine stood still for {ms:.0f} ms: another program, or its host, kept the processor",
            measured="a thread that sleeps 10 ms, with real-time priority where it may have it, woke late"),
    Rule(kind=ReasonKind.WAITED, section=Section.TIME, check=waited,
         words="the page waited for a processor for {ms:.0f} ms of its load: other programs kept them busy",
         threshold=f"over {WAITED}, if programs that are not of the experiment worked for over {OTHERS_BUSY}",
         measured="the main thread of Chrome's renderers could have run and got no processor (`/proc/PID/schedstat`)",
         source="on two idle cores Chrome's processes wait for each other for 7% to 30%; with one core kept busy pages "
         "that waited for 34% took up to 9% longer, for 42% 15%"),
    of_time(ReasonKind.STEAL, Limit(ms=50.0, plt_ratio=0.20),
            times=lambda kept: {"": (kept.steal_ms or 0.0) / (kept.processors or 1)},
            words="the hypervisor gave the processor to others for {ms:.0f} ms of the load",
            measured="the hypervisor took the processors away (steal in `/proc/stat`, mean of all processors)",
            source="12 loads with 10% to 21% in small pieces took 2% less to 5% more time; with 28% to 51%, 10% to 40% "
            "more. /proc/stat counts in steps of 10 ms"),
)
BESIDE_OTHERS: tuple[Rule, ...] = (
    Rule(kind=ReasonKind.EARLY_LOAD_EVENT, section=Section.CONTENT, compare=sameness.compared, forgives_warm_ups=True,
         words="got other answers than the page's other loads: its load event came before {late} of the {usual} "
         "answers that the others wait for ({one})",
         threshold=f"over {sameness.MOVED_RATIO:.0%} of these",
         measured="answers that the page's other loads received before their load events, and this one after its own"),
    Rule(kind=ReasonKind.OTHER_ANSWERS, section=Section.CONTENT, compare=sameness.compared, forgives_warm_ups=True,
         words="got other answers than the page's other loads: {missing} missing, {other} with other status, bytes or "
         "error, {more} more ({one})",
         threshold=f"one document, frame, script, style sheet or answer on the critical path; of the rest over "
         f"{sameness.REST_RATIO:.0%}, one at least", source="docs/method.md: how often undisturbed loads differ",
         measured="answers differ from those of the page's other loads (a warm-up's may, once a load is measured)"),
    Rule(kind=ReasonKind.TOO_LITTLE, section=Section.CONTENT, compare=coverage.compared,
         words="got {got} of the {wanted} {what}{without}",
         threshold=f"under {WHOLE_RATIO:.0%} of what the recording holds; where no load receives all of it, of what "
         "the page's best load received. The page's fault where the recording has HARs, and no load receives so much "
         "of what was recorded before the first message of a live connection",
         measured="recorded answers that the load received, by number and by bytes (what the page cancelled or had in "
         "its cache counts; the same body for the same request counts once)"),
)
RULES: tuple[Rule, ...] = (*CONTENT, *NETWORK, *TIME, *BESIDE_OTHERS)
