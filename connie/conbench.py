#!/usr/bin/env python3
"""Connect to hosts and close again, by racing and otherwise, and print how long that took.

    ./connie/conbench.py google.com apple.com
    ./connie/conbench.py --peers --port 443 --file hosts.txt

Strategies: connie_connect races all addresses; cached_dns_connect keeps names for 60 s and takes one address at random;
create_connection asks for the name each time and tries the addresses in turn. --peers adds asyncio's Happy Eyeballs,
aiohappyeyeballs and curl, where installed. A time begins before the name is looked up and ends with the connection;
closing is not part of it. All times are seconds. Names of this machine only, with nobody on port 80, are measured
against a small server that is started for it. Needs no root.

Exit status: 0, 1 when a strategy never succeeded, 2 for bad input.
"""

import sys
from pathlib import Path

# A script's own folder is where Python looks for modules first, and this one's http.py would hide Python's own.
HERE = Path(__file__).resolve().parent
sys.path[:] = [str(HERE.parent), *(folder for folder in sys.path if folder != str(HERE))]
from connie.bench.project_python import use_project_python

use_project_python()

from contextlib import ExitStack

from connie.bench.command_line import HTTP_PORT, all_hosts, make_parser, measure_and_print, port_to_use, run_main
from connie.bench.peers import open_peers
from connie.bench.rounds import Call
from connie.bench.sample import Strategy
from connie.bench.strategies import OWN


def main() -> int:
    """Measure and print; return the exit status."""
    parser = make_parser(__doc__)
    parser.add_argument("--peers", action="store_true", help="compare with asyncio, aiohappyeyeballs and curl, too")
    arguments = parser.parse_args()
    hosts = all_hosts(arguments)
    with ExitStack() as stack:
        port = stack.enter_context(port_to_use(arguments, hosts, HTTP_PORT))
        strategies = [*OWN, *(stack.enter_context(open_peers()) if arguments.peers else ())]
        calls = {strategy.name: connect_call(strategy, port, arguments.timeout_s) for strategy in strategies}
        return measure_and_print(calls, hosts, arguments)


def connect_call(strategy: Strategy, port: int, timeout_s: float) -> Call:
    """Return what connects to a host by `strategy`, closes, and returns the seconds until it was connected."""
    return lambda host: strategy.measure(host, port, timeout_s).connect_s


if __name__ == "__main__":
    run_main(main)
