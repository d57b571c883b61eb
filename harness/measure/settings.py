"""Everything that is chosen for an experiment. Each choice is declared once, as a field of Settings:

    timeout_s: float = option("--timeout", TIMEOUT_S, 60.0, "how long a page may take to its load event", "SECONDS")

The parsers of tfo.py, experiments/localhost.py, sweep.py and others are made from these fields. As JSON they are what
client/experiment-*.json holds, what --resume compares, and what load_page.py gets. To read what is typed loads nothing
that an experiment needs, so that --help answers at once.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

import msgspec

from harness.browser.binary import CHROMES_OWN, PER_HOST
from harness.errors import InputError
from harness.files.hosts import CHOICES, HOST
from harness.files.load_parts import CookieMode
from harness.files.pages import BUNDLED
from harness.files.transport import Transport, middlebox_in_words
from harness.system.options import (
    DELAY_MS,
    RATE_MBIT,
    RUNS,
    SEED,
    SILENCE_S,
    TIMEOUT_S,
    USER_PORT,
    Decimal,
    OptionParser,
    Several,
    Whole,
    page_list_name,
    plain,
    quoted,
)
from harness.system.tcp import SYN_AGAIN_MS

RECORDED = "recorded"
H3 = "h3"
FACTOR = Decimal(0.01, 100)
BUFFER_KB = Decimal(16, 10_000)
"""Fewer than eleven packets show no rate; 10 MB take 4 Mbit/s 20 s."""
POINTS = Decimal(0.01, 99)
BEHIND_A_BOX_S = 30.0
"""--quiet-limit behind a middlebox: a SYN that is lost costs a second, also after the load event."""
RETRIES = Whole(0, 10)
OVERHEAD_LIMIT_S = 40.0
"""How long starting and ending Chrome may take besides the page's own limits before it is called hung."""


MINIMUM_PAIRS = 6
"""No interval of fewer pairs ends a cell, unless --min-pairs says so. How often the "95%" interval that did so held
the true improvement, in 600 simulated experiments each (normal, long-tailed and outlier-ridden noise of 1 to 4.5% a
load, --until-ci 3, at most 20 runs; pytest tests/measure/test_adaptive.py -k coverage repeats it in small):

    minimum     3       5       6       8      10
    held     70-80%  91-95%  91-95%  92-96%  94-96%

Six is also the least of which the smallest and the largest hold the true median with 95% confidence
(harness.analysis.stats.median_confidence: 1 - 2 * (1/2)^6 = 97%)."""
MOST_RUNS = 20
"""Measured runs of a page at which --until-ci gives up by default: about 20 times 2 loads of 6 s for each page."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """How a field of Settings is typed: behind `flag`, or one of the `others`, each with argparse's own words for it.

    `numbers`: whether it changes what is measured. Such a field is in the experiment's file, and an experiment goes on
    (--resume) only with the same. `swept`: whether sweep.py passes it on; --tfo it does not, since a sweep compares
    loads without and with TFO.
    """

    flag: str
    typed: dict[str, Any]
    numbers: bool = True
    swept: bool = True
    others: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def option(flag: str, read: Callable[[str], Any] | None, default: Any, help: str,  # noqa: A002 (as argparse calls it)
           metavar: str | None = None, *, choices: Sequence[str] | None = None, **more: Any) -> Any:
    """Declare a field of Settings with its option; the default stands behind its help.

    What is typed behind the flag is read by `read`, which says what may be; None: nothing is typed behind it.
    """
    how: dict[str, Any] = {"action": "store_true"} if read is None else \
        {"type": read, "metavar": metavar, "choices": choices}
    how["help"] = help + ("" if default in (None, False, ()) else f" ({_in_words(default)})")
    return field(default=default, metadata={"option": Option(flag=flag, typed=how, **more)})


def _in_words(default: object) -> str:
    if isinstance(default, tuple):
        return " ".join(map(plain, default))
    return plain(default) if isinstance(default, float) else str(default)


def home_rates_mbit(text: str) -> tuple[float, float | None]:
    """Read the rates of user's link, down and up; None up where it is the same. Raises argparse.ArgumentTypeError."""
    down, slash, up = text.partition("/")
    return RATE_MBIT(down), RATE_MBIT(up) if slash else None


def rtts_ms(text: str) -> list[float]:
    """Read RTTs in ms with commas between them; return the one-way delays. Raises argparse.ArgumentTypeError."""
    return [rtt_ms / 2 for rtt_ms in Several(Decimal(2 * DELAY_MS.low, 2 * DELAY_MS.high))(text.replace(",", " "))]


def as_recorded(text: str) -> str:
    """Read what --rtt says: recorded, or recorded*2. Raises argparse.ArgumentTypeError."""
    match = re.fullmatch(rf"{RECORDED}(?:\*(.+))?", text, re.DOTALL)
    if match is None:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not recorded, or recorded*2; an RTT that all servers have "
                                         "is twice one of --delays")
    return text if match[1] is None else f"{RECORDED}*{FACTOR(match[1]):g}"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is loaded, over which network, from which servers, by which Chrome, and how often. Units are in the names.

    Raises nothing: what makes no experiment is in `problems`.
    """

    name: str = option("--name", page_list_name, BUNDLED, "pages to load: NAME.pages, NAME/ and NAME.fetchlog/",
                       swept=False)

    paper: bool = option("--paper", None, False, "the paper's network and browser: --bwhome 4/0.256 --buffer 128 "
                         "--bwnet 1000 --http 1.1 --predict")
    bw_home_mbit: float = option("--bwhome", home_rates_mbit, 1000.0, "bandwidth of user's link, Mbit/s, both ways "
                                 "unless UP is given", "DOWN[/UP]")
    bw_home_up_mbit: float | None = None
    buffer_kb: float | None = option("--buffer", BUFFER_KB, None, "what fits into the queue before user's link, each "
                                     "way, in units of 1000 bytes (1000 packets)", "KB")
    delayhome_ms: float = option("--delayhome", DELAY_MS, 0.0, "one-way delay of user's link, ms", "MS")
    bw_net_mbit: float = option("--bwnet", RATE_MBIT, 4.0, "bandwidth of each server's link, Mbit/s", "MBIT")
    delays_ms: Sequence[float] = option(
        "--delays", Several(DELAY_MS), (10.0, 50.0, 100.0), "one-way delays of the servers' links in ms, one after the "
        "other; the RTT is twice that", '"10 50 100"', numbers=False, others={
            "--delaynet": {"type": Several(DELAY_MS), "metavar": "MS", "help": "the same for one"},
            "--sweep-rtt": {"type": rtts_ms, "metavar": "2,5,...", "help": "twice these delays instead, the RTTs: from "
                            "which RTT on does TFO matter? (2,5,10,20,50,100,200 takes the paper's pages half an "
                            "hour)"}})
    rtt: str | None = option("--rtt", as_recorded, None, "each server as far away as it was when it was recorded, or K "
                             "times that; with --delays scaled, so that the median RTT is twice that delay",
                             "recorded[*K]")
    think: str | None = option("--think", str, None, "before each answer a server waits as it did when it was "
                               "recorded: the time to the first byte, less a round trip", choices=(RECORDED,))
    layout: str = option("--layout", str, HOST, "which host names share a server: none; those of a registrable domain; "
                         "all; those that shared an address when they were recorded", choices=CHOICES)

    port: int = option("--port", USER_PORT, 8000, "port of every server", "PORT", numbers=False, swept=False)
    tls_port: int | None = option("--tls-port", USER_PORT, None, "port of every server for https (--port + 1)", "PORT",
                                  numbers=False, swept=False)
    http: str = option("--http", str, "1.0", "1.0: http opens a connection for every request, https is as recorded "
                       "(HTTP/2 where that was spoken, else 1.1); 1.1: both keep connections alive, no HTTP/2; h2: "
                       "https offers HTTP/2 everywhere; h3: https speaks HTTP/3 over QUIC, and TCP carries WebSockets "
                       "only, beside loads with h2 to compare it with; recorded: http keeps connections alive, https "
                       "is as recorded. Where HTTP/1.1 is spoken, what the site closed after its answers is closed",
                       choices=("1.0", "1.1", "h2", "h3", "recorded"))
    early: str | None = option("--early", str, None, "TLS 1.3 early data (0-RTT): on: loads with it beside loads "
                               "without; off: loads that could send some, and do not. Each load follows a visit of the "
                               "page that counts for nothing, from which Chrome has the servers' session tickets",
                               choices=("on", "off"), swept=False)
    compare_transports: bool = option("--compare-transports", None, False, "TCP, TFO, early data, both, QUIC and QUIC "
                                      "with early data, beside each other on the same pages: --early and --http are "
                                      "all that they can be", swept=False)
    server: str = option("--server", str, "threaded", "2013: the old single-threaded server, to see what it did to the "
                         "results", choices=("threaded", "2013"))

    middlebox: str | None = option("--middlebox", middlebox_in_words, None, "what stands on the way to the servers, or "
                                   "to a share of them: it spoils each SYN of TFO, see docs/experiments.md",
                                   "strip-option|drop-option|drop-syn-data|trim-data[:SHARE]")
    balancer: int = option("--balancer", Whole(1, 64), 1, "so many servers with cookie keys of their own behind each "
                           "address: a cookie fits one time in N", "N")

    post_quantum: bool = option("--post-quantum", None, False, "leave Chrome's ClientHello as it is: longer than a SYN "
                                "can carry, so that TFO saves nothing over https")
    cookies: CookieMode = option("--cookies", str, "warm", "TFO cookies that are known when a load begins: warm, those "
                                 "of earlier loads; cold, none, as on a first visit; domain, none, but a site's first "
                                 "server gives it for all of them", choices=get_args(CookieMode))
    predict: bool = option("--predict", None, False, "let Chrome open connections ahead of need")
    connections_per_host: int = option("--connections-per-host", PER_HOST, CHROMES_OWN, "how many connections Chrome "
                                       "opens to a host at a time, over HTTP/1", "N")
    pcap: bool = option("--pcap", None, False, "keep a capture of each load's packets beside its log: "
                        "docs/wireshark.md", swept=False)
    timeout_s: float = option("--timeout", TIMEOUT_S, 60.0, "how long a page may take to its load event", "SECONDS")
    quiet_s: float = option("--quiet", SILENCE_S, 1.5, "silence on the network that ends a load after its load event; "
                            "half a second is enough where the kernel says that nothing is under way", "SECONDS")
    quiet_limit_s: float = option("--quiet-limit", SILENCE_S, 10.0, "longest wait for that silence: what a page still "
                                  "loads then is cut off, and does not count against it "
                                  f"(behind a --middlebox {BEHIND_A_BOX_S:g})", "SECONDS")

    tfo: str = option("--tfo", str, "both", "without TFO, with it, or both", choices=("0", "1", "both"), swept=False)
    testruns: int = option("--testruns", RUNS, 4, "loads of each page; the first warms up", "N", others={
        "--quick": {"action": "store_const", "const": 2, "help": "one measured load of each page, not three"}})
    retries: int = option("--retries", RETRIES, 2, "how often a load that failed by accident is measured again, at the "
                          "end of its run", "N", numbers=False)
    until_ci: float | None = option("--until-ci", POINTS, None, "after these runs, load each page more often until "
                                    "half the width of its improvement's 95%% interval is under so many percentage "
                                    "points", "POINTS")
    max_runs: int = option("--max-runs", RUNS, MOST_RUNS, "with --until-ci: at most so many measured runs of each page",
                           "N")
    min_pairs: int = option("--min-pairs", RUNS, MINIMUM_PAIRS, "with --until-ci: never stop before so many pairs of "
                            "loads; the interval of fewer than this is often too narrow", "N")
    seed: int = option("--seed", SEED, 1, "decides which of TFO off and on goes first", "N")

    @property
    def https_port(self) -> int:
        """The port of every server for https."""
        return self.port + 1 if self.tls_port is None else self.tls_port

    @property
    def transports(self) -> list[Transport]:
        """What is measured beside each other: TFO off and on, unless early data or QUIC is asked for."""
        if self.compare_transports:
            return [*Transport]
        if self.http == H3:
            return [Transport.QUIC, Transport.QUIC_EARLY] if self.early == "on" else [Transport.TCP, Transport.QUIC]
        if self.early == "on":
            return [Transport.TCP, Transport.EARLY]
        return [Transport(tfo) for tfo in (0, 1) if self.tfo in ("both", str(tfo))]

    @property
    def warm_pairs(self) -> bool:
        """Whether each load follows an untimed visit of its page, from which Chrome has the servers' tickets."""
        return self.compare_transports or self.early is not None or self.http == H3

    @property
    def warm_ups(self) -> list[Transport]:
        """Over which transports run 0 is: the visit before each load warms it up, so that one tells the initiators."""
        return self.transports[:1] if self.warm_pairs else self.transports

    @property
    def longest_load_s(self) -> float:
        """A load_page.py that runs for longer than this hangs."""
        return (self.timeout_s + self.quiet_limit_s) * (1 + self.warm_pairs) + OVERHEAD_LIMIT_S

    @property
    def unusual(self) -> list[str]:
        """The options that change what is measured, and are not as by default, as they are typed.

        Those of NAMED_ELSEWHERE stand in the table, or change how sure it is.
        """
        implied = {*NAMED_ELSEWHERE,
                   *(name for stands in STAND_FOR if getattr(self, stands) for name in STAND_FOR[stands])}
        differing = {name: value for name, value in self.to_json().items() if name in OPTIONS and name not in implied
                     and value != getattr(BY_DEFAULT, name)}
        if self.bw_home_up_mbit is not None and "bw_home_mbit" not in implied:
            differing["bw_home_mbit"] = f"{plain(self.bw_home_mbit)}/{plain(self.bw_home_up_mbit)}"
        return [OPTIONS[name].flag + ("" if value is True else f" {_in_words(value)}")
                for name, value in differing.items()]

    def problems(self) -> Iterator[str]:
        """Say what makes no experiment, in words."""
        longest_ms = max(self.delays_ms, default=0.0) + self.delayhome_ms
        for wrong, problem in (
            (2 * longest_ms >= SYN_AGAIN_MS,
             f"--delays, --delayhome: together under {SYN_AGAIN_MS / 2:g} ms: at an RTT of {SYN_AGAIN_MS / 1000:g} s "
             "every SYN is sent again, and no load would count"),
            (self.rtt not in (None, RECORDED) and self.delays_ms,
             "--rtt recorded*K: with other delays the recorded RTTs are scaled to these already; leave out *K, or "
             "them"),
            (self.https_port == self.port or self.https_port > USER_PORT.high,
             f"--port, --tls-port: one port cannot speak both, and there is none after {USER_PORT.high}"),
            (self.early == "on" and self.http == "1.0",
             "--early on: over HTTP/1.0 every request opens a connection, and Chrome keeps two tickets a host; say "
             "--http h2"),
            (self.http == "h3" and (self.middlebox or self.balancer > 1),
             "--http h3: QUIC has no SYN that --middlebox or --balancer could spoil; leave one of them out"),
            (self.until_ci is None and (self.max_runs, self.min_pairs) != (MOST_RUNS, MINIMUM_PAIRS),
             "--max-runs, --min-pairs: only together with --until-ci"),
            (self.quiet_s > self.quiet_limit_s, "--quiet: longer than --quiet-limit waits for it, "
             f"{self.quiet_limit_s:g} s"),
        ):
            if wrong:
                yield problem
        for one, other in NOT_TOGETHER:
            if all(getattr(self, name) != getattr(BY_DEFAULT, name) for name in (one, other)):
                yield f"{_flag(one)}: makes no experiment together with {_flag(other)}; leave one of them out"

    def to_json(self) -> dict[str, Any]:
        """Return what changes the numbers, as it stands in the experiment's file."""
        return {name: value for name, value in vars(self).items() if name not in OPTIONS or OPTIONS[name].numbers}


BY_DEFAULT = Settings()
OPTIONS: dict[str, Option] = {each.name: each.metadata["option"] for each in fields(Settings) if each.metadata}
"""Each field's option."""
STAND_FOR: dict[str, dict[str, Any]] = {
    "paper": {"bw_home_mbit": 4.0, "bw_home_up_mbit": 0.256, "buffer_kb": 128.0, "bw_net_mbit": 1000.0, "http": "1.1",
              "predict": True},
    "compare_transports": {"http": "h2", "early": None}}
"""What --paper and --compare-transports stand for. In the paper (Radhakrishnan et al., TCP Fast Open, CoNEXT 2011) the
client's link was the only slow one, connections were kept alive, and Chrome opened some ahead of need."""


NOT_TOGETHER = (
    ("rtt", "delayhome_ms"),                # says all of how far away each server is
    ("buffer_kb", "delayhome_ms"),          # stands before user's link, which is then to have no delay
    ("server", "http"), ("server", "warm_pairs"),       # 2013's server speaks HTTP/1.0 only,
    ("server", "balancer"),                             # and has one socket
    ("cookies", "middlebox"), ("cookies", "balancer"),  # what spoils TFO is told by connections with a cookie
    ("cookies", "warm_pairs"),              # the visit before each load gets the cookies
    ("post_quantum", "warm_pairs"),         # a ClientHello that is longer than a SYN leaves no room for early data
    ("until_ci", "warm_pairs"), ("until_ci", "tfo"),    # compares TFO off and on
    ("tfo", "warm_pairs"),                  # which say what is compared
)
"""Fields, and Settings.warm_pairs, of which only one may be other than by default; and why."""


def _flag(name: str) -> str:
    return OPTIONS[name].flag if name in OPTIONS else "--early, --http h3 or --compare-transports"


NAMED_ELSEWHERE = frozenset(("http", "name", "testruns", "until_ci", "max_runs", "min_pairs", "seed", "timeout_s",
                             "quiet_s", "quiet_limit_s"))


def read_settings(text: str) -> Settings:
    """Read settings as JSON; what is not in it is as by default. Raises InputError."""
    try:
        return msgspec.json.decode(text, type=Settings)
    except msgspec.DecodeError as error:
        raise InputError(f"not settings: {error}; see harness/measure/settings.py") from None


def add_options(parser: argparse.ArgumentParser, names: Iterable[str] = OPTIONS, **reads: Callable[[str], Any]) -> None:
    """Add the options of the fields with these `names`; `reads`: how a program of its own reads one of them.

    What is not typed is not in the parser's result (see `settings_of`).
    """
    for name in names:
        own = {"type": reads[name]} if name in reads else {}
        group = parser.add_mutually_exclusive_group()
        group.add_argument(OPTIONS[name].flag, dest=name, default=argparse.SUPPRESS, **OPTIONS[name].typed | own)
        for flag, how in OPTIONS[name].others.items():
            group.add_argument(flag, dest=name, default=argparse.SUPPRESS, **how)


def settings_of(parser: OptionParser, arguments: argparse.Namespace, **fixed: Any) -> Settings:
    """Return as Settings what `parser` found typed, with what is `fixed` in its program, and all else by default.

    Ends the program with a line and exit status 2 where that makes no experiment.
    """
    given = {name: value for name, value in vars(arguments).items() if name in OPTIONS}
    if rates_mbit := given.get("bw_home_mbit"):
        given["bw_home_mbit"], given["bw_home_up_mbit"] = rates_mbit
    for name, says in STAND_FOR.items():
        if given.get(name):
            for said in (said for said in says if said in given and said in OPTIONS):
                parser.error(f"{OPTIONS[name].flag}: says what {OPTIONS[said].flag} is; leave one of them out")
            given |= says
    if given.get("rtt"):
        given.setdefault("delays_ms", ())
    if given.get("middlebox"):
        given.setdefault("quiet_limit_s", BEHIND_A_BOX_S)
    settings = replace(Settings(**fixed), **given)
    for problem in settings.problems():
        parser.error(problem)
    return settings
