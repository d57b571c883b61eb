"""The options of tfo.py that say how Chrome loads a page, and when a load is over.

experiments/localhost.py has some of them, too.
"""

import argparse

from harness.browser.connection_limit import CHROMES_OWN, PER_HOST
from harness.measure.limits import TimeLimits
from harness.measure.server_options import Problems
from harness.network.cookies import CHOICES, WARM
from harness.system.options import SILENCE_S, TIMEOUT_S


def add_browser_options(parser: argparse.ArgumentParser) -> None:
    """Add all options of the browser."""
    parser.add_argument("--post-quantum", action="store_true", help="leave Chrome's ClientHello as it is: longer than "
                        "a SYN can carry, so that TFO saves nothing over https")
    parser.add_argument("--cookies", choices=CHOICES, default=WARM, help="TFO cookies that are known when a load "
                        "begins: warm, those of earlier loads; cold, none, as on a first visit; domain, none, but a "
                        "site's first server gives it for all of them (%(default)s)")
    add_connection_options(parser)
    parser.add_argument("--pcap", action="store_true", help="keep a capture of each load's packets beside its log: "
                        "docs/wireshark.md")
    add_time_options(parser)
    parser.add_argument("--quiet-limit", type=SILENCE_S, default=TimeLimits.quiet_limit_s, metavar="SECONDS",
                        help="longest wait for that silence: what a page still loads then is cut off, and does not "
                        "count against it (%(default)s)")


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """Add --predict and --connections-per-host: which connections Chrome opens, and when."""
    parser.add_argument("--predict", action="store_true", help="let Chrome open connections ahead of need")
    parser.add_argument("--connections-per-host", type=PER_HOST, default=CHROMES_OWN, metavar="N", help="how many "
                        "connections Chrome opens to a host at a time, over HTTP/1 (%(default)s)")


def add_time_options(parser: argparse.ArgumentParser) -> None:
    """Add --timeout and --quiet: how long a load may take, and which silence ends it."""
    parser.add_argument("--timeout", type=TIMEOUT_S, default=TimeLimits.load_s,
                        help="seconds a page may take to its load event (60)")
    parser.add_argument("--quiet", type=SILENCE_S, default=TimeLimits.quiet_s, metavar="SECONDS",
                        help="silence on the network that ends a load after its load event (%(default)s); half a "
                        "second is enough where the kernel says that nothing is under way")


def browser_problems(arguments: argparse.Namespace) -> Problems:
    """Return all that can be wrong with these options: whether it is, and what to say about it then."""
    return ((arguments.quiet > arguments.quiet_limit, "--quiet: longer than --quiet-limit waits for it"),)
