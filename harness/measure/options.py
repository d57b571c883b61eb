"""The options of tfo.py, and which of them make no experiment."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.bootstrap import ROOT
from harness.browser.connection_limit import CHROMES_OWN, PER_HOST
from harness.errors import InputError
from harness.files.layout import HOST
from harness.files.pages import BUNDLED
from harness.measure.adaptive import MINIMUM_PAIRS, Goal
from harness.measure.attempts import RETRIES, RETRIES_ALLOWED
from harness.measure.latency import DELAYNET_MS, RECORDED, recorded_option
from harness.measure.limits import TimeLimits
from harness.measure.server_options import add_server_options, server_problems, tls_port_beside
from harness.network.cookies import CHOICES, WARM
from harness.system.options import (
    DELAY_MS,
    RATE_MBIT,
    RUNS,
    SEED,
    SILENCE_S,
    TIMEOUT_S,
    Decimal,
    OptionParser,
    page_list_name,
)

MAX_RUNS = 20
"""Measured runs of a page at which --until-ci gives up by default: about 20 times 2 loads of 6 s for each page."""

PAPER = {"bwhome": (4.0, 0.256), "buffer": 128.0, "bwnet": 1000.0, "http": "1.1", "predict": True}
"""What --paper stands for: in the paper (Radhakrishnan et al., TCP Fast Open, CoNEXT 2011) the client's link was the
only slow one, connections were kept alive, and Chrome opened some ahead of need."""
BUFFER_KB = Decimal(16, 10_000)
"""Fewer than eleven packets show no rate; 10 MB take 4 Mbit/s 20 s."""
PATIENCE_S = Decimal(1, 3600, or_zero=True)
Problems = tuple[tuple[object, str], ...]


def parse_arguments(description: str, words: Sequence[str] | None = None) -> argparse.Namespace:
    """Read tfo.py's command line, or `words` as one. Raises InputError for numbers that make no experiment."""
    parser = make_parser(description)
    words = sys.argv[1:] if words is None else words
    arguments = parser.parse_args(words)
    if arguments.paper:
        as_in_the_paper(arguments, words)
    arguments.tfos = [0, 1] if arguments.tfo == "both" else [int(arguments.tfo)]
    arguments.dir = arguments.dir.resolve()
    arguments.tls_port = tls_port_beside(arguments.port, arguments.tls_port)
    arguments.limits = TimeLimits(arguments.timeout, arguments.quiet, arguments.quiet_limit)
    arguments.goal = None if arguments.until_ci is None else \
        Goal(arguments.until_ci, arguments.max_runs or MAX_RUNS, arguments.min_pairs or MINIMUM_PAIRS)
    for wrong, problem in (*network_problems(arguments), *plan_problems(arguments)):
        if wrong:
            raise InputError(f"tfo.py: {problem}")
    if arguments.delaynet is None and arguments.rtt is None:
        arguments.delaynet = DELAYNET_MS
    return arguments


def make_parser(description: str) -> argparse.ArgumentParser:
    """Return what knows tfo.py's options."""
    parser = OptionParser(description=description)
    parser.add_argument("--name", type=page_list_name, default=BUNDLED,
                        help="pages to load: NAME.pages, NAME/ and NAME.fetchlog/")
    parser.add_argument("--dir", type=Path, default=ROOT, help="where these are, and the results go (the project)")
    parser.add_argument("--paper", action="store_true", help="the paper's network and browser: --bwhome 4/0.256 "
                        "--buffer 128 --bwnet 1000 --http 1.1 --predict")
    parser.add_argument("--bwhome", type=home_rates_mbit, default=(1000.0, None), metavar="DOWN[/UP]",
                        help="bandwidth of user's link, Mbit/s, both ways unless UP is given (1000)")
    parser.add_argument("--buffer", type=BUFFER_KB, metavar="KB", help="what fits into the queue before user's link, "
                        "each way, in units of 1000 bytes (1000 packets)")
    parser.add_argument("--delayhome", type=DELAY_MS, default=0.0, help="one-way delay of user's link, ms (0)")
    parser.add_argument("--bwnet", type=RATE_MBIT, default=4.0, help="bandwidth of each server's link, Mbit/s (4)")
    parser.add_argument("--delaynet", type=DELAY_MS, help="one-way delay of each server's link, ms (10)")
    parser.add_argument("--rtt", type=recorded_option, metavar="recorded[*K]", help="each server as far away as it was "
                        "when it was recorded, or K times that; with --delaynet scaled, so that the median RTT is "
                        "twice that delay")
    parser.add_argument("--think", choices=[RECORDED], help="before each answer a server waits as it did when it was "
                        "recorded: the time to the first byte, less a round trip")
    add_server_options(parser)
    parser.add_argument("--tfo", choices=["0", "1", "both"], default="both",
                        help="without TFO, with it, or both (both)")
    parser.add_argument("--testruns", type=RUNS, default=4, help="loads of each page; the first warms up (4)")
    parser.add_argument("--retries", type=RETRIES_ALLOWED, default=RETRIES, metavar="N", help="how often a load that "
                        "failed by accident is measured again, at the end of its run (%(default)s)")
    parser.add_argument("--post-quantum", action="store_true", help="leave Chrome's ClientHello as it is: longer than "
                        "a SYN can carry, so that TFO saves nothing over https")
    parser.add_argument("--predict", action="store_true", help="let Chrome open connections ahead of need")
    parser.add_argument("--cookies", choices=CHOICES, default=WARM, help="TFO cookies that are known when a load "
                        "begins: warm, those of earlier loads; cold, none, as on a first visit; domain, none, but a "
                        "site's first server gives it for all of them (%(default)s)")
    parser.add_argument("--layout", default=HOST, metavar="host|domain|one|recorded|FILE", help="which host names "
                        "share a server: none; those of a registrable domain; all; those that shared an address when "
                        "they were recorded; or as a file says, lines of: host server (%(default)s)")
    parser.add_argument("--connections-per-host", type=PER_HOST, default=CHROMES_OWN, metavar="N", help="how many "
                        "connections Chrome opens to a host at a time, over HTTP/1 (%(default)s)")
    parser.add_argument("--until-ci", type=Decimal(0.01, 99), metavar="POINTS",
                        help="after these runs, load each page more often until "
                        "half the width of its improvement's 95%% interval is under so many percentage points")
    parser.add_argument("--max-runs", type=RUNS, metavar="N",
                        help=f"with --until-ci: at most so many measured runs of each page ({MAX_RUNS})")
    parser.add_argument("--min-pairs", type=RUNS, metavar="N", help="with --until-ci: never stop before so many pairs "
                        f"of loads; the interval of fewer than {MINIMUM_PAIRS} is often too narrow ({MINIMUM_PAIRS})")
    parser.add_argument("--pcap", action="store_true", help="keep a capture of each load's packets beside its log: "
                        "docs/wireshark.md")
    parser.add_argument("--timeout", type=TIMEOUT_S, default=TimeLimits.load_s,
                        help="seconds a page may take to its load event (60)")
    parser.add_argument("--quiet", type=SILENCE_S, default=TimeLimits.quiet_s, metavar="SECONDS",
                        help="silence on the network that ends a load after its load event (%(default)s)")
    parser.add_argument("--quiet-limit", type=SILENCE_S, default=TimeLimits.quiet_limit_s, metavar="SECONDS",
                        help="longest wait for that silence: what a page still loads then is cut off, and does not "
                        "count against it (%(default)s)")
    parser.add_argument("--seed", type=SEED, default=1, help="decides which of TFO off and on goes first (1)")
    parser.add_argument("--on-user", metavar="COMMAND", help="load no pages, but run this on `user` while the servers "
                        "are up, such as bash; hack_dns leads to them")
    parser.add_argument("--patience", type=PATIENCE_S, default=30.0, metavar="SECONDS", help="how long to wait for "
                        "other programs to leave the machine alone before anything is measured (30)")
    parser.add_argument("--resume", action="store_true", help="go on with the experiment at this delay that is in "
                        "client/: measure only what is missing of it")
    parser.add_argument("--dry-run", nargs="?", const="load", choices=["load", "check"],
                        help="measure nothing: check that all is ready, and load each page once without delay to see "
                             "whether it is fit (with =check: load nothing)")
    return parser


def as_in_the_paper(arguments: argparse.Namespace, words: Sequence[str]) -> None:
    """Set the options that --paper stands for. Raises InputError where one of them was given besides."""
    for option, value in PAPER.items():
        if any(word.partition("=")[0] == f"--{option}" for word in words):
            raise InputError(f"tfo.py: --paper: says what --{option} is; leave one of them out")
        setattr(arguments, option, value)


def home_rates_mbit(text: str) -> tuple[float, float | None]:
    """Read the rates of user's link, down and up; None up where it is the same. Raises argparse.ArgumentTypeError."""
    down, slash, up = text.partition("/")
    return RATE_MBIT(down), RATE_MBIT(up) if slash else None


def network_problems(arguments: argparse.Namespace) -> Problems:
    """Tell what makes no network, each with what to say."""
    return (
        ((arguments.delaynet or 0.0) + arguments.delayhome > DELAY_MS.high,
         f"--delaynet, --delayhome: together at most {DELAY_MS.high:g} ms"),
        (arguments.rtt and arguments.delayhome,
         "--rtt recorded: says all of how far away each server is; leave out --delayhome"),
        (arguments.rtt and arguments.rtt.factor is not None and arguments.delaynet is not None,
         "--rtt recorded*K: with other delays the recorded RTTs are scaled to these already; leave out *K, or them"),
        (arguments.quiet > arguments.quiet_limit, "--quiet: longer than --quiet-limit waits for it"),
        (arguments.resume and arguments.on_user, "--resume: loads pages, and --on-user loads none; leave one out"),
        (arguments.buffer and arguments.delayhome,
         "--buffer: stands before user's link, which is then to have no delay; say --delaynet instead of --delayhome"),
        *server_problems(arguments),
    )


def plan_problems(arguments: argparse.Namespace) -> Problems:
    """Tell what makes no plan of page loads, each with what to say."""
    min_pairs = arguments.goal.min_pairs if arguments.goal else MINIMUM_PAIRS
    least = max(min_pairs, arguments.testruns - 1)
    return (
        (arguments.until_ci is not None and arguments.tfo != "both",
         "--until-ci: compares TFO off and on; leave out --tfo"),
        (arguments.max_runs is not None and arguments.until_ci is None, "--max-runs: only together with --until-ci"),
        (arguments.min_pairs is not None and arguments.until_ci is None, "--min-pairs: only together with --until-ci"),
        (arguments.goal and arguments.goal.max_runs < least,
         f"--max-runs: at least {least}: an interval of fewer than {min_pairs} runs is not believed, "
         "and the runs of --testruns are done anyway"),
    )
