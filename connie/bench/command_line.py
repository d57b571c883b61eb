"""What the benchmarks have in common: what can be typed, rounds of calls, and the lines at the end."""

import argparse
import math
import os
import random
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from connie.bench.own_server import anybody_listens, loopback_addresses, running_server

ROUNDS = 300
"""Calls of each strategy, as in 2013."""

TIMEOUT_S = 10.0
HTTP_PORT, HTTPS_PORT = 80, 443
LARGEST_LIST = 2**20
"""Bytes of a file of host names."""

Call = Callable[[str], float]
"""Does what is measured with the host of that name; returns the seconds it took. Raises OSError when it fails."""

Switch = tuple[str, str]
"""A benchmark's own switch: its name, and what it is for."""

MakeCalls = Callable[[argparse.Namespace, int, ExitStack], Mapping[str, Call]]


class UsageError(Exception):
    """Something that was typed is wrong: exit status 2."""


@dataclass
class CallTimes:
    """The calls of one strategy: seconds of those that succeeded, in their order, and what the others failed with."""

    times_s: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class _Parser(argparse.ArgumentParser):
    """argparse's, whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong; exit status 2."""
        print(f"{self.prog}: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(2)


def _number(low: float, high: float, kind: type[int] | type[float] = int) -> Callable[[str], float]:
    """Return a reader of plain decimal numbers; what int() and float() take besides (1_0, 010, nan) is refused."""
    plain = re.compile(r"(0|[1-9]\d{0,9})" + (r"(\.\d{1,9})?" if kind is float else ""), re.ASCII)

    def read(text: str) -> float:
        if not plain.fullmatch(text) or not low <= kind(text) <= high:
            raise argparse.ArgumentTypeError(f"{text[:40]!a} is not a number from {low:g} to {high:.10g}")
        return kind(text)
    return read


def _parser(doc: str | None, switch: Switch) -> argparse.ArgumentParser:
    parser = _Parser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="names (or addresses) to connect to, taken in turns")
    parser.add_argument("--file", type=Path, help="a file of more names, one a line; # begins a remark")
    parser.add_argument("--rounds", type=_number(1, 1_000_000), default=ROUNDS,
                        help="calls of each strategy (%(default)s)")
    parser.add_argument("--port", type=_number(1, 65535), help=f"TCP port ({HTTP_PORT})")
    parser.add_argument("--timeout", type=_number(0.001, 3600, float), default=TIMEOUT_S, dest="timeout_s",
                        metavar="SECONDS",
                        help="given to each strategy; create_connection takes it for each address (%(default)g)")
    parser.add_argument("--seed", type=_number(0, 2**32 - 1), default=1, help="of the order in a round (%(default)s)")
    parser.add_argument(switch[0], action="store_true", help=switch[1])
    return parser


def all_hosts(arguments: argparse.Namespace) -> list[str]:
    """Return the hosts typed and those of the file. Raises UsageError when there are none, or one is no name."""
    given = [("", name) for name in arguments.hosts]
    if arguments.file:
        given += [(f"{arguments.file}:{number}: ", name) for number, line in enumerate(_lines(arguments.file), 1)
                  if (name := line.partition("#")[0].strip())]
    for where, name in given:
        # Control characters are none's: getaddrinfo stops at a NUL, http.client and curl refuse them.
        if not name.isprintable() or len(name.split()) != 1 or "/" in name:
            raise UsageError(f"{where}not a host name: {name[:120]!r}; write it without http://, as in: google.com")
    if not given:
        where = f"{arguments.file}: " if arguments.file else ""
        raise UsageError(f"{where}no hosts; write some, as in: google.com apple.com, or give a --file with one a line")
    return [name for _, name in given]


def _lines(path: Path) -> list[str]:
    """Return the lines of a file of host names. A FIFO is not waited for. Raises UsageError."""
    try:
        if path.exists() and not path.is_file():
            raise OSError(0, "it is no regular file")
        if path.stat().st_size > LARGEST_LIST:
            raise OSError(0, f"more than {LARGEST_LIST} bytes")
        return path.read_text("utf-8-sig").split("\n")      # Windows' editors begin with a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{path}: cannot be read ({reason}); give a file of host names, one a line") from None


@contextmanager
def port_to_use(arguments: argparse.Namespace, hosts: Sequence[str], default: int) -> Iterator[int]:
    """Give the port to connect to.

    Names that lead to this machine only, and nobody there on port 80: then a small server of our own is started, and
    said so. With --port nothing is started.
    """
    port: int = arguments.port or default
    addresses = loopback_addresses(hosts, port) if default == HTTP_PORT and not arguments.port else []
    if not addresses or anybody_listens(hosts, port):
        yield port
        return
    with running_server(addresses) as own_port:
        print(f"nobody listens on port {port} of this machine: measuring against a small server of our own, "
              f"port {own_port}", file=sys.stderr)
        yield own_port


def run_rounds(calls: Mapping[str, Call], hosts: Sequence[str], rounds: int, seed: int = 1) -> dict[str, CallTimes]:
    """Call everything in `calls` once in each of so many rounds; return what came of it, by the same names.

    The order is drawn anew for each round, so that none profits from its place; the same `seed` gives the same order.
    The hosts take turns: round i is for hosts[i % len(hosts)].
    """
    order, draw = list(calls), random.Random(seed)
    found = {name: CallTimes() for name in calls}
    for number in range(rounds):
        draw.shuffle(order)
        for name in order:
            _add_call(found[name], calls[name], hosts[number % len(hosts)])
        if sys.stderr.isatty():
            end = "" if number + 1 < rounds else "\r\x1b[K"
            print(f"\rround {number + 1} of {rounds}", end=end, file=sys.stderr, flush=True)
    return found


def _add_call(series: CallTimes, call: Call, host: str) -> None:
    try:
        series.times_s.append(call(host))
    except (OSError, UnicodeError) as error:                # UnicodeError: a name that cannot be one
        series.errors.append(f"{host}: {error}")


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value below which `percent` (0 to 100) of `values` lie, interpolated between neighbours.

    The commonest definition: Hyndman and Fan's type 7 (1996), numpy's default. Infinite values may be among them; what
    lies between one of these and a number is infinite.
    """
    ordered = sorted(values)
    rank = (len(ordered) - 1) * percent / 100
    below = int(rank)
    if rank == below or math.isinf(ordered[below]):
        return ordered[below]
    return ordered[below] + (ordered[below + 1] - ordered[below]) * (rank - below)


def format_line(name: str, series: CallTimes) -> str:
    """Return the line of 2013 with what it lacked behind it. All times in seconds.

        connie_connect: count 300, total 18.6567, per call: 0.0622, std dev: 0.0030, median: 0.061812, ...

    2013's figures are about the calls that succeeded. Median and percentiles are of all calls, failed ones counted as
    slower than all others, or who gives up would look quick: `failed` stands for one that lies among these. The
    deviation is that of a sample, sqrt(sum((x - mean)**2) / (n - 1)); the tool of 2013 divided by n outside the root,
    and so printed a value that is sqrt(n) times too small. What 2013 had has 2013's four decimals, the rest six: on
    loopback a connect takes some 0.00005 s. `-` stands for what so few calls do not tell.
    """
    times_s = series.times_s
    deviation = statistics.stdev(times_s) if len(times_s) > 1 else None
    all_s = [*times_s, *[math.inf] * len(series.errors)]
    middle, p95, p99 = (_seconds(percentile(all_s, percent) if times_s else None, 6) for percent in (50, 95, 99))
    return (f"{name}: count {len(times_s)}, total {sum(times_s):.4f}, "
            f"per call: {_seconds(statistics.fmean(times_s) if times_s else None)}, std dev: {_seconds(deviation)}, "
            f"median: {middle}, p95: {p95}, p99: {p99}, errors: {len(series.errors)}")


def _seconds(value: float | None, digits: int = 4) -> str:
    if value is None:
        return "-"
    return "failed" if math.isinf(value) else f"{value:.{digits}f}"


def _measure(doc: str | None, switch: Switch, calls: MakeCalls, port: Callable[[argparse.Namespace], int]) -> int:
    """Measure and print a line for each strategy; return 1 when one of them never succeeded, else 0."""
    arguments = _parser(doc, switch).parse_args()
    hosts = all_hosts(arguments)
    with ExitStack() as stack:
        own_port = stack.enter_context(port_to_use(arguments, hosts, port(arguments)))
        found = run_rounds(calls(arguments, own_port, stack), hosts, arguments.rounds, arguments.seed)
    for name, series in found.items():
        print(format_line(name, series), flush=True)
    for name, series in found.items():              # each kind of failure once
        for message in sorted(set(series.errors)):
            print(f"{name}: {series.errors.count(message)} x {message}", file=sys.stderr)
    return 0 if all(series.times_s for series in found.values()) else 1


def run_benchmark(doc: str | None, switch: Switch, calls: MakeCalls,
                  port: Callable[[argparse.Namespace], int]) -> NoReturn:
    """Be a benchmark: read the command line, measure what `calls` makes, print, exit with its status.

    Ctrl-C ends it with 130. A full disk, a reader of standard output that has ended (`| head`), and a server that
    cannot listen end it with 1 and one line.
    """
    try:
        status = _measure(doc, switch, calls, port)
    except UsageError as error:
        print(error, file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        status = 130
    except OSError as error:                    # those of the calls measured are counted and never come here
        with Path(os.devnull).open("wb") as nowhere:     # Python's end would print the rest again, and complain
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        with suppress(OSError):                 # standard error may go to the same place
            print(f"stopped: {error.strerror or error}", file=sys.stderr)
        status = 1
    sys.exit(status)
