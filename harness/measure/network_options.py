"""The options of tfo.py that say what the network is like: its links, how far away servers are, who shares one."""

import argparse
from collections.abc import Sequence

from harness.errors import InputError
from harness.files.layout import HOST
from harness.measure.latency import RECORDED, recorded_option
from harness.measure.server_options import Problems
from harness.network.star import SYN_AGAIN_MS
from harness.system.options import DELAY_MS, RATE_MBIT, Decimal, Several

PAPER = {"bwhome": (4.0, 0.256), "buffer": 128.0, "bwnet": 1000.0, "http": "1.1", "predict": True}
"""What --paper stands for: in the paper (Radhakrishnan et al., TCP Fast Open, CoNEXT 2011) the client's link was the
only slow one, connections were kept alive, and Chrome opened some ahead of need."""
BUFFER_KB = Decimal(16, 10_000)
"""Fewer than eleven packets show no rate; 10 MB take 4 Mbit/s 20 s."""


def add_network_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the star: --paper and those of its links, --rtt, --think and --layout."""
    parser.add_argument("--paper", action="store_true", help="the paper's network and browser: --bwhome 4/0.256 "
                        "--buffer 128 --bwnet 1000 --http 1.1 --predict")
    parser.add_argument("--bwhome", type=home_rates_mbit, default=(1000.0, None), metavar="DOWN[/UP]",
                        help="bandwidth of user's link, Mbit/s, both ways unless UP is given (1000)")
    parser.add_argument("--buffer", type=BUFFER_KB, metavar="KB", help="what fits into the queue before user's link, "
                        "each way, in units of 1000 bytes (1000 packets)")
    parser.add_argument("--delayhome", type=DELAY_MS, default=0.0, help="one-way delay of user's link, ms (0)")
    parser.add_argument("--bwnet", type=RATE_MBIT, default=4.0, help="bandwidth of each server's link, Mbit/s (4)")
    delays = parser.add_mutually_exclusive_group()
    delays.add_argument("--delays", type=Several(DELAY_MS), metavar='"10 50 100"', help="one-way delays of the "
                        "servers' links in ms, one after the other; the RTT is twice that (10 50 100)")
    delays.add_argument("--delaynet", type=Several(DELAY_MS), dest="delays", metavar="MS", help="the same for one")
    delays.add_argument("--sweep-rtt", type=rtts_ms, metavar="2,5,...", help="RTTs in ms instead: from "
                        "which RTT on does TFO matter? (2,5,10,20,50,100,200 takes the paper's pages half an hour)")
    parser.add_argument("--rtt", type=recorded_option, metavar="recorded[*K]", help="each server as far away as it was "
                        "when it was recorded, or K times that; with --delays scaled, so that the median RTT is "
                        "twice that delay")
    parser.add_argument("--think", choices=[RECORDED], help="before each answer a server waits as it did when it was "
                        "recorded: the time to the first byte, less a round trip")
    parser.add_argument("--layout", default=HOST, metavar="host|domain|one|recorded|FILE", help="which host names "
                        "share a server: none; those of a registrable domain; all; those that shared an address when "
                        "they were recorded; or as a file says, lines of: host server (%(default)s)")


def rtts_ms(text: str) -> list[float]:
    """Read RTTs in ms with commas between them; return the one-way delays. Raises argparse.ArgumentTypeError."""
    return [rtt_ms / 2 for rtt_ms in Several(Decimal(2 * DELAY_MS.low, 2 * DELAY_MS.high))(text.replace(",", " "))]


def home_rates_mbit(text: str) -> tuple[float, float | None]:
    """Read the rates of user's link, down and up; None up where it is the same. Raises argparse.ArgumentTypeError."""
    down, slash, up = text.partition("/")
    return RATE_MBIT(down), RATE_MBIT(up) if slash else None


def as_in_the_paper(arguments: argparse.Namespace, words: Sequence[str]) -> None:
    """Set the options that --paper stands for. Raises InputError when `words` has one of them as well."""
    for option, value in PAPER.items():
        if any(word.partition("=")[0] == f"--{option}" for word in words):
            raise InputError(f"tfo.py: --paper: says what --{option} is; leave one of them out")
        setattr(arguments, option, value)


def network_problems(arguments: argparse.Namespace) -> Problems:
    """Return all that can be wrong with these options: whether it is, and what to say about it then."""
    return (
        (2 * (max(arguments.delays or [0.0]) + arguments.delayhome) >= SYN_AGAIN_MS,
         f"--delays, --delayhome: together under {SYN_AGAIN_MS / 2:g} ms: at an RTT of {SYN_AGAIN_MS / 1000:g} s "
         "every SYN is sent again, and no load would count"),
        (arguments.sweep_rtt and arguments.delayhome, "--sweep-rtt: says what the RTTs are; leave out --delayhome"),
        (arguments.rtt and arguments.delayhome,
         "--rtt recorded: says all of how far away each server is; leave out --delayhome"),
        (arguments.rtt and arguments.rtt.factor is not None and arguments.delays,
         "--rtt recorded*K: with other delays the recorded RTTs are scaled to these already; leave out *K, or them"),
        (arguments.buffer and arguments.delayhome,
         "--buffer: stands before user's link, which is then to have no delay; say --delays instead of --delayhome"),
    )
