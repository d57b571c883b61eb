"""Connect to hosts and close again, by racing and otherwise, and print how long that took.

    python -m connie.bench google.com apple.com
    python -m connie.bench --peers --port 443 --file hosts.txt

Strategies: connie_connect races all addresses; cached_dns_connect keeps names for 60 s and takes one address at random;
create_connection asks for the name each time and tries the addresses in turn. --peers adds asyncio's Happy Eyeballs,
aiohappyeyeballs, anyio, trio, curl and Go's dialer, where installed. A time begins before the name is looked up and
ends with the connection; closing is not part of it. All times are seconds. Names of this machine only, with nobody on
port 80, are measured against a small server that is started for it. Needs no root.

Exit status: 0, 1 when a strategy never succeeded, 2 for bad input.
"""

import argparse
from contextlib import ExitStack
from functools import partial

from connie.bench.command_line import HTTP_PORT, Call, run_benchmark
from connie.bench.peers import open_peers
from connie.bench.strategies import OWN, Strategy


def calls(arguments: argparse.Namespace, port: int, stack: ExitStack) -> dict[str, Call]:
    """Return what connects to a host, closes, and returns the seconds until it was connected, by strategy."""
    strategies = [*OWN, *(stack.enter_context(open_peers()) if arguments.peers else ())]
    return {strategy.name: partial(_connect_s, strategy, port, arguments.timeout_s) for strategy in strategies}


def _connect_s(strategy: Strategy, port: int, timeout_s: float, host: str) -> float:
    return strategy.measure(host, port, timeout_s).connect_s


def main() -> None:
    """Measure, print and exit."""
    peers = ("--peers", "compare with asyncio, aiohappyeyeballs, anyio, trio, curl and Go, too")
    run_benchmark(__doc__, peers, calls, lambda _arguments: HTTP_PORT)


if __name__ == "__main__":
    main()
