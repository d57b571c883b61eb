"""TIME: the rules of what the machine did to a load.

A rule of time is worth its row as long as an injected disturbance is missed without it: benchmarks/disturbed.py shows
that with --without.
"""

from collections.abc import Callable, Iterator, Mapping

from harness.files.load_parts import LateAnswer, Timekeeping
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.measure.network_rules import is_lossy
from harness.measure.rule import Limit, Rule, rule

TIME: list[Rule] = []
LATE = Limit(ms=3.0, rtt_ratio=0.10, plt_ratio=0.02, most_ms=50.0)
"""By how much an answer may be late that the load event waited for: docs/method.md tells how often undisturbed
loads are."""
WAITED, OTHERS_BUSY = Limit(ms=150.0, plt_ratio=0.40), Limit(ms=150.0, plt_ratio=0.25)


def of_time(kind: ReasonKind, limit: Limit, measured: str, words: str, *, source: str,
            times_ms: Callable[[Timekeeping], Mapping[str, float | None]]) -> None:
    """Add the rule that none of `times_ms`, by names that the `words` may tell, may be over `limit`."""
    @rule(TIME, kind, measured, threshold=limit, source=source)
    def too_long(load: LoadRecord) -> Iterator[str]:
        kept, plt_ms = load.timekeeping, load.plt_ms
        for name, ms in (times_ms(kept) if kept and plt_ms else {}).items():
            if ms and ms > limit.of(load.rtt_ms, plt_ms or 0.0):
                yield words.format(name=name, ms=ms)


of_time(ReasonKind.SUSPENDED, Limit(ms=10.0), "the machine slept, by CLOCK_BOOTTIME less CLOCK_MONOTONIC",
        "the machine was suspended for {ms:.0f} ms",
        source="clock_gettime(2): without a suspend both run alike; between two readings less time passes",
        times_ms=lambda kept: {"": kept.suspended_ms})
of_time(ReasonKind.STOPPED, Limit(ms=30.0), "a process of Chrome was stopped; their states are read every 20 ms",
        "{name} was stopped for {ms:.0f} ms: somebody sent it a signal or debugs it",
        source="harness/system/ticker.py: two looks in a row, more than a passing touch of a debugger or a shell",
        times_ms=lambda kept: kept.stopped_ms)
of_time(ReasonKind.LATE_PACKETS, Limit(ms=15.0, rtt_ratio=0.10), "the delay line let a packet go late",
        "packets were late by up to {ms:.0f} ms: the delay line could not run, another program kept the processor",
        source="docs/data/disturbances.tsv: on an idle virtual machine up to 13.5 ms, in loads as fast as others",
        times_ms=lambda kept: {"": kept.delay_line_late_ms})


@rule(TIME, ReasonKind.LATE_ANSWER, "an answer on the critical path came late, see below", threshold=LATE,
      unless=(ReasonKind.LATE_PACKETS,),
      source="docs/data/time-rules.tsv: of 37 loads at 20 ms five were late by 5 to 60 ms in pages of 1 to 4 s")
def _late_answer(load: LoadRecord) -> Iterator[str]:
    """Tell of the latest answer only.

    Where a buffer of the simulated network lost something, or a middlebox a SYN or its data, an answer may be late for
    as long as TCP takes to notice.
    """
    touched = load.middlebox.touched if load.middlebox else 0
    if load.timekeeping and load.plt_ms and not touched and not is_lossy(load):
        for answer in load.timekeeping.late:
            if is_too_late(answer, load.rtt_ms, load.plt_ms):
                yield (f"an answer of {answer.host} was late by {answer.late_ms:.0f} ms, and the page waited for it: "
                       "its server or the network could not run in time")
                return


def is_too_late(answer: LateAnswer, rtt_ms: float, plt_ms: float) -> bool:
    """Tell whether the page waited for an answer that was later than it may be in a load of `plt_ms` at `rtt_ms`.

    If each server has an RTT of its own (tfo.py --rtt), it is judged by its server's. Late answers that the page did
    not wait for do not count: when it asks dozens of servers at once, they wait for each other, and it for none.
    """
    return answer.critical and answer.late_ms > LATE.of(rtt_ms if answer.rtt_ms is None else answer.rtt_ms, plt_ms)


of_time(ReasonKind.GAP, Limit(ms=60.0),
        "a thread that sleeps 10 ms, with real-time priority where it may have it, woke late",
        "the machine stood still for {ms:.0f} ms: another program, or its host, kept the processor",
        source="docs/data/disturbances.tsv: 96 and 106 ms where all stood still for 100 ms; in loads of "
        "tests/corpus/loads that count 9 ms at most",
        times_ms=lambda kept: {"": kept.gap_ms})


@rule(TIME, ReasonKind.WAITED,
      "the main thread of Chrome's renderers could have run and got no processor (`/proc/PID/schedstat`)",
      threshold=f"over {WAITED}, if programs that are not of the experiment worked for over {OTHERS_BUSY}",
      source="measured for this rule: on two idle cores Chrome's processes wait for each other for 7% to 30%; with "
      "one core kept busy pages that waited for 34% took up to 9% longer, for 42% 15%")
def _waited(load: LoadRecord) -> Iterator[str]:
    kept, plt_ms = load.timekeeping, load.plt_ms
    if kept and plt_ms and (kept.others_busy_ms or 0.0) > OTHERS_BUSY.of(load.rtt_ms, plt_ms) \
            and (waited_ms := kept.page_waited_ms or 0.0) > WAITED.of(load.rtt_ms, plt_ms):
        yield f"the page waited for a processor for {waited_ms:.0f} ms of its load: other programs kept them busy"


of_time(ReasonKind.STEAL, Limit(ms=50.0, plt_ratio=0.20),
        "the hypervisor took the processors away (steal in `/proc/stat`, mean of all processors)",
        "the hypervisor gave the processor to others for {ms:.0f} ms of the load",
        source="measured for this rule: 12 loads with 10% to 21% in small pieces took 2% less to 5% more time; with "
        "28% to 51%, 10% to 40% more. /proc/stat counts in steps of 10 ms",
        times_ms=lambda kept: {"": (kept.steal_ms or 0.0) / (kept.processors or 1)})
