"""RULES: all that can speak against a load, in the order in which it is said, and how loads are judged by it.

The verdict on a load is the reasons against it, none if it counts. Nothing but records goes in: a load that was
measured long ago is judged like one that was measured just now. docs/method.md prints the table.

A rule of time is worth its row as long as an injected disturbance is missed without it: benchmarks/disturbed.py shows
that with --without.
"""

from collections.abc import Sequence
from dataclasses import replace

from harness.files.exchange import Fate
from harness.files.load_parts import WHOLE_RATIO
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.measure import coverage, rule, sameness
from harness.measure.rule import LATE, Blame, Limit, Rule, Times, Verdict, document_status, some, too_long
from harness.mirror.answers import DOCUMENT_IS_GOOD, FAILED_RATIO
from harness.netlog.page import led_on_in_words

OFTEN_UNSAID = frozenset((ReasonKind.BROWSER, ReasonKind.LED_ON))
"""A load that these speak against has often no load event, no document, and no logs of its servers either."""
NOTHING_CAME = OFTEN_UNSAID | {ReasonKind.NO_LOAD_EVENT}
LED_ON = frozenset((ReasonKind.LED_ON,))
"""All that is known of such a load is about the page to which it was led."""
WAITED, OTHERS_BUSY = Limit(ms=150.0, plt_ratio=0.40), Limit(ms=150.0, plt_ratio=0.25)


def of_time(kind: ReasonKind, limit: Limit, times: Times, *, words: str, measured: str, source: str = "") -> Rule:
    """Return a rule of what the machine did: each of the times in ms that `times` returns, by name, may be `limit`."""
    return Rule(kind=kind, threshold=limit, check=too_long(limit, times), words=words,
                measured=measured, source=source)


def waited(load: LoadRecord) -> bool:
    """Tell whether the page waited for a processor while programs that are not of the experiment had one."""
    kept, plt_ms = load.timekeeping, load.plt_ms
    if kept is None or not plt_ms:
        return False
    return (kept.others_busy_ms or 0.0) > OTHERS_BUSY.of(load.rtt_ms, plt_ms) \
        and (kept.page_waited_ms or 0.0) > WAITED.of(load.rtt_ms, plt_ms)


CONTENT: tuple[Rule, ...] = (
    Rule(kind=ReasonKind.BROWSER, check=lambda load: [{"error": error} for error in load.errors], words="{error}",
         measured="Chrome or its network process ended before the load did"),
    Rule(kind=ReasonKind.LED_ON, check=lambda load: bool(load.moved_on_to), blame=Blame.PAGE,
         words=led_on_in_words("{load.moved_on_to}"),
         measured="a script or a Refresh led on to another page; a page that loads itself again is no other page"),
    Rule(kind=ReasonKind.NO_LOAD_EVENT, check=rule.no_load_event, unless=OFTEN_UNSAID,
         words="no load event{within}", measured="there was no load event"),
    Rule(kind=ReasonKind.NEVER_ENDED, check=rule.never_ended, unless=LED_ON,
         words="requests that never ended: {count}",
         measured="a request before the load event got no answer, and it did not hang when it was recorded"),
    Rule(kind=ReasonKind.NO_DOCUMENT, check=lambda load: document_status(load) is None, unless=NOTHING_CAME,
         words="the document never answered", measured="the document got no answer"),
    Rule(kind=ReasonKind.DOCUMENT_STATUS, blame=Blame.PAGE, unless=LED_ON,
         check=lambda load: document_status(load) not in (None, *DOCUMENT_IS_GOOD),
         words="the document answered {load.document.status}", measured="the document's status is not 200"),
    Rule(kind=ReasonKind.DOCUMENT_BYTES, check=rule.document_bytes, blame=Blame.PAGE,
         words="the document had {load.document.bytes} bytes, the recorded one has {sizes}", unless=LED_ON,
         measured="the document is not as large as recorded; of a page that loads itself again, as any of its recorded "
                  "documents"),
    Rule(kind=ReasonKind.UNKNOWN_ANSWERS, unless=LED_ON,
         check=lambda load: load.plt_ms is not None and load.answers is None,
         words="what it got is not known: its HAR cannot be read", measured="its HAR cannot be read"),
    Rule(kind=ReasonKind.FAILED_REQUESTS, check=coverage.failed_requests, blame=Blame.PAGE,
         words="{failed} of {total} requests failed: {why}", unless=LED_ON,
         threshold=f"over {FAILED_RATIO:.0%} of those before the load event",
         source="docs/data/sources-tried.tsv: what lacks more of its page today is another page",
         measured="requests failed, or the recording lacks their answers (an accident where servers refused or broke "
                  "off)"),
)
NETWORK: tuple[Rule, ...] = (
    Rule(kind=ReasonKind.SYN_AGAIN, check=rule.syn_again,
         words="SYN retransmitted by {where}: {count}",
         measured="a SYN was sent again that no full buffer of user's narrow link had lost",
         source="RFC 6298, section 2.1: after 1 s"),
    Rule(kind=ReasonKind.FULL_QUEUE, check=rule.full_queue,
         words="{name} at {where}: {count}", measured="the queue of a listening socket, or of UDP, was full"),
    Rule(kind=ReasonKind.DROPPED_PACKETS, check=lambda load: some(load.delay_line_drops or 0),
         words="packets dropped by the delay line: {count}", measured="the delay line dropped a packet"),
    Rule(kind=ReasonKind.DATA_WITHOUT_TFO, check=rule.data_without_tfo,
         words="TFO is off, but {count} connections carried data in the SYN",
         measured="with TFO off, a SYN carried data"),
    Rule(kind=ReasonKind.NO_COOKIE, check=rule.no_cookie,
         words="--cookies {load.cookies.mode}: only {load.cookies.first} of {load.cookies.visited} {givers} gave a "
         "cookie",
         measured="with `--cookies cold` or `domain`, a server (site) that Chrome used gave no cookie"),
    Rule(kind=ReasonKind.NO_DATA_WITH_TFO, check=rule.no_data_with_tfo,
         words="TFO is on, but only {load.syn_data_connections} of {load.connections_with_request} connections carried "
         "their request in the SYN{asked}",
         threshold=f"under {rule.SYN_DATA_SHARE:.0%}",
         source="RFC 7413, section 3: a SYN with a cookie carries data; docs/data/middleboxes.tsv: 30 of 30 without a "
         "box",
         measured="with TFO on, connections that carried their request in the SYN, or for a known reason did not: they "
         "asked for a cookie, a `--middlebox` touched their SYN, or a `--balancer` led to a server with another key"),
    Rule(kind=ReasonKind.BOX_PASSED,
         check=lambda load: some(load.middlebox.passed if load.middlebox else 0),
         words="{count} requests came in the SYN to servers behind the middlebox ({load.middlebox.box.value})",
         measured="a request in the SYN reached a server behind the `--middlebox`"),
    Rule(kind=ReasonKind.EARLY_UNASKED, check=rule.early_unasked,
         words="early data is off, but {count} connections brought their request in it",
         measured="without early data, a connection's first request came before the TLS handshake was over"),
    Rule(kind=ReasonKind.LITTLE_EARLY, check=rule.little_early,
         words="early data is on, but only {load.early_data.sent} of {possible} connections brought their request in "
         "it",
         threshold=f"under {rule.EARLY_SHARE:.0%} of those that could, and on which Chrome wrote it before the "
                   "handshake was over", source="docs/data/transports.tsv: all of these, in each row",
         measured="with early data, connections that brought their request in it"),
    Rule(kind=ReasonKind.EARLY_DISPUTED,
         check=lambda load: load.early_data is not None and load.early_data.sent > load.early_data.accepted,
         words="servers got early data on {load.early_data.sent} connections, and Chrome says that it was accepted "
         "on {load.early_data.accepted}",
         measured="the servers' logs and Chrome's net-log differ in the number of connections with early data"),
    Rule(kind=ReasonKind.TCP_BESIDE_QUIC,
         check=lambda load: some(load.early_data.over_tcp if load.early_data else 0),
         words="it is to go over QUIC, but {count} TCP connections carried requests of https",
         measured="with `--http h3`, a TCP connection carried a request of https; WebSockets (wss) may use TCP"),
    Rule(kind=ReasonKind.NOT_LOGGED, check=rule.not_logged, unless=NOTHING_CAME,
         words="the servers' logs know of {logged} of the {used} connections over which answers came",
         measured="the servers' logs lack a connection over which Chrome got something"),
)
TIME: tuple[Rule, ...] = (
    of_time(ReasonKind.SUSPENDED, Limit(ms=10.0), times=lambda kept: {"": kept.suspended_ms},
            words="the machine was suspended for {ms:.0f} ms",
            measured="the machine slept, by CLOCK_BOOTTIME less CLOCK_MONOTONIC",
            source="clock_gettime(2): without a suspend both run alike; between two readings less time passes"),
    of_time(ReasonKind.STOPPED, Limit(ms=30.0), times=lambda kept: kept.stopped_ms,
            words="{name} was stopped for {ms:.0f} ms: somebody sent it a signal or debugs it",
            measured="a process of Chrome was stopped; their states are read every 20 ms",
            source="harness/system/ticker.py: two looks in a row, more than a passing touch of a debugger or a shell"),
    of_time(ReasonKind.LATE_PACKETS, Limit(ms=15.0, rtt_ratio=0.10), times=lambda kept: {"": kept.delay_line_late_ms},
            words="packets were late by up to {ms:.0f} ms: the delay line could not run, another program kept the "
            "processor", measured="the delay line let a packet go late",
            source="docs/data/disturbances.tsv: on an idle virtual machine up to 13.5 ms, in loads as fast as others"),
    Rule(kind=ReasonKind.LATE_ANSWER, check=rule.late_answers, threshold=LATE,
         words="an answer of {host} was late by {ms:.0f} ms, and the page waited for it: its server or the network "
         "could not run in time", unless=frozenset((ReasonKind.LATE_PACKETS,)),
         measured="an answer on the critical path came late, see below",
         source="docs/data/time-rules.tsv: of 37 loads at 20 ms five were late by 5 to 60 ms in pages of 1 to 4 s"),
    of_time(ReasonKind.GAP, Limit(ms=60.0), times=lambda kept: {"": kept.gap_ms},
            words="the machine stood still for {ms:.0f} ms: another program, or its host, kept the processor",
            measured="a thread that sleeps 10 ms, with real-time priority where it may have it, woke late",
            source="docs/data/disturbances.tsv: 96 and 106 ms where all stood still for 100 ms; in loads of "
            "tests/corpus/loads that count 9 ms at most"),
    Rule(kind=ReasonKind.WAITED, check=waited,
         words="the page waited for a processor for {load.timekeeping.page_waited_ms:.0f} ms of its load: other "
         "programs kept them busy",
         threshold=f"over {WAITED}, if programs that are not of the experiment worked for over {OTHERS_BUSY}",
         measured="the main thread of Chrome's renderers could have run and got no processor (`/proc/PID/schedstat`)",
         source="measured for this rule: on two idle cores Chrome's processes wait for each other for 7% to 30%; with "
         "one core kept busy pages that waited for 34% took up to 9% longer, for 42% 15%"),
    of_time(ReasonKind.STEAL, Limit(ms=50.0, plt_ratio=0.20),
            times=lambda kept: {"": (kept.steal_ms or 0.0) / (kept.processors or 1)},
            words="the hypervisor gave the processor to others for {ms:.0f} ms of the load",
            measured="the hypervisor took the processors away (steal in `/proc/stat`, mean of all processors)",
            source="measured for this rule: 12 loads with 10% to 21% in small pieces took 2% less to 5% more time; "
            "with 28% to 51%, 10% to 40% more. /proc/stat counts in steps of 10 ms"),
)
BESIDE_OTHERS: tuple[Rule, ...] = (
    Rule(kind=ReasonKind.EARLY_LOAD_EVENT, compare=sameness.compared, forgives_warm_ups=True,
         words="got other answers than the page's other loads: its load event came before {late} of the {usual} "
         "answers that the others wait for ({one})",
         threshold=f"over {sameness.MOVED_RATIO:.0%} of these",
         source="benchmarks/sameness.py, docs/method.md (Another page): 0 of 207 unspoiled loads; wsj.com's of 2013 "
         "asks for 9 of 83 answers on either side of its load event",
         measured="answers that the page's other loads received before their load events, and this one after its own"),
    Rule(kind=ReasonKind.OTHER_ANSWERS, compare=sameness.compared, forgives_warm_ups=True,
         words="got other answers than the page's other loads: {count} of {usual} ({one})",
         threshold=f"one document, frame, script, style sheet or answer on the critical path; of the rest over "
         f"{sameness.REST_RATIO:.0%}, one at least",
         source="benchmarks/sameness.py, docs/method.md (Another page): 0 of 207 unspoiled loads differ by more",
         measured="answers differ from those of the page's other loads (a warm-up's may, once a load is measured)"),
    Rule(kind=ReasonKind.TOO_LITTLE, compare=coverage.compared,
         words="got {got} of the {wanted} {what}{without}",
         threshold=f"under {WHOLE_RATIO:.0%} of what the recording holds; where no load receives all of it, of what "
         "the page's best load received. The page's fault where the recording has HARs, and no load receives so much "
         "of what was recorded before the first message of a live connection; or where no load receives "
         f"{coverage.LEAST_RATIO:.0%} of any recording's answers, under which no load counts",
         measured="recorded answers that the load received, by number and by bytes (what the page cancelled or had in "
         "its cache counts; the same body for the same request counts once)",
         source="tests/corpus/loads/star.jsonl: real loads that were left alone got all of it"),
)
RULES: tuple[Rule, ...] = (*CONTENT, *NETWORK, *TIME, *BESIDE_OTHERS)


def judge(loads: Sequence[LoadRecord], rules: Sequence[Rule] = RULES) -> list[Verdict]:
    """Return the verdict on each load of a page, all tries of all runs at one RTT in the order in which they were made.

    What only other loads can tell is said at once, also of earlier ones.
    """
    return together(loads, [alone(load, rules) for load in loads], rules)


def alone(load: LoadRecord, rules: Sequence[Rule] = RULES) -> Verdict:
    """Return the verdict on a load by those rules that need no other load.

    Of a load that broke off only a part came: whatever is wrong with that part is an accident, not the page's fault.
    """
    found: Verdict = []
    for each in rules:
        if each.check and not any(reason.kind in each.unless for reason in found):
            found += each.reasons(load, each.check(load))
    if _broke_off(load) and not any(reason.kind is ReasonKind.LED_ON for reason in found):
        return [replace(reason, blame=Blame.ACCIDENT) for reason in found]
    return found


def together(loads: Sequence[LoadRecord], verdicts: Sequence[Verdict],
             rules: Sequence[Rule] = RULES) -> list[Verdict]:
    """Return `verdicts`, and what else is wrong with the good loads of a page beside each other.

    Once there is a good measured load, the last try of a warm-up may have got other answers than the page's other
    loads: it is never counted, and without cookies and caches a page may take another turn.
    """
    are_good = [not verdict for verdict in verdicts]
    last = {(load.run, load.transport): place for place, load in enumerate(loads)}
    is_measured = any(load.run > 0 and good for load, good in zip(loads, are_good, strict=True))
    forgiven = {place for (run, _), place in last.items() if is_measured and run == 0}
    found = {compare: compare(loads, are_good) for compare in {each.compare for each in rules} if compare}
    judged = [[*verdict] for verdict in verdicts]
    for each in rules:
        for place, load in enumerate(loads):
            broken = found[each.compare][place] if each.compare else {}
            if each.kind in broken and not (each.forgives_warm_ups and place in forgiven):
                judged[place] += each.reasons(load, [broken[each.kind]])
    return judged


def _broke_off(load: LoadRecord) -> bool:
    """Tell whether the load, or its document's answer, ended before its time, or never began.

    A page may ask for its document's URL again, later, or take that back: this says nothing of the first answer.
    """
    document, each = load.document, load.answers.each if load.answers else ()
    return (load.plt_ms is None or document is None or not document.status
            or any(answer.error and answer.url == document.url and not answer.late
                   and answer.fate is not Fate.CANCELLED for answer in each))
