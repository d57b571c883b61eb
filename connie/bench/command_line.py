"""What conbench.py and httpbench.py have in common: what can be typed, where to, and the lines at the end."""

import argparse
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from connie.bench.own_server import anybody_listens, loopback_addresses, running_server
from connie.bench.rounds import Call, run_rounds
from connie.bench.summary import format_line

ROUNDS = 300
"""Calls of each strategy, as in 2013."""

TIMEOUT_S = 10.0
HTTP_PORT, HTTPS_PORT = 80, 443
LARGEST_LIST = 2**20
"""Bytes of a file of host names."""


class UsageError(Exception):
    """Something that was typed is wrong: exit status 2."""


class Parser(argparse.ArgumentParser):
    """argparse's, whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong; exit status 2."""
        print(f"{self.prog}: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(2)


def make_parser(doc: str) -> argparse.ArgumentParser:
    """Return a parser with the options of both scripts; `doc` is the script's own description."""
    parser = Parser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="names (or addresses) to connect to, taken in turns")
    parser.add_argument("--file", type=Path, help="a file of more names, one a line; # begins a remark")
    parser.add_argument("--rounds", type=_count, default=ROUNDS, help="calls of each strategy (%(default)s)")
    parser.add_argument("--port", type=_port, help=f"TCP port ({HTTP_PORT})")
    parser.add_argument("--timeout", type=_seconds, default=TIMEOUT_S, dest="timeout_s", metavar="SECONDS",
                        help="given to each strategy; create_connection takes it for each address (%(default)g)")
    parser.add_argument("--seed", type=_seed, default=1, help="of the order within a round (%(default)s)")
    return parser


def _whole(text: str, low: int, high: int, what: str) -> int:
    """Read a plain decimal number; what int() takes besides (1_0, 010, other scripts' digits) is refused."""
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and str(int(text)) == text
            and low <= int(text) <= high):
        raise argparse.ArgumentTypeError(f"{text[:40]!a} is no {what}; give {low} to {high}")
    return int(text)


def _count(text: str) -> int:
    return _whole(text, 1, 1_000_000, "number of rounds")


def _port(text: str) -> int:
    return _whole(text, 1, 65535, "TCP port")


def _seed(text: str) -> int:
    return _whole(text, 0, 2**32 - 1, "seed")


def _seconds(text: str) -> float:
    whole, _, fraction = text.partition(".")
    plain = text.isascii() and f"{whole}{fraction}".isdigit() and len(text) <= 20 and (whole == "0" or whole[:1] != "0")
    if not plain or text.endswith(".") or not 0.001 <= float(text) <= 3600:
        raise argparse.ArgumentTypeError(f"{text[:40]!a} is no time to wait; give seconds, 0.001 to 3600")
    return float(text)


def all_hosts(arguments: argparse.Namespace) -> list[str]:
    """Return the hosts typed and those of the file. Raises UsageError when there are none, or one is no name."""
    for name in arguments.hosts:
        if not _is_name(name):
            raise UsageError(f"not a host name: {name[:120]!r}; write it without http://, as in: google.com")
    hosts = [*arguments.hosts, *(read_hosts(arguments.file) if arguments.file else ())]
    if not hosts:
        raise UsageError("no hosts; write some, as in: google.com apple.com, or give a --file of them")
    return hosts


def read_hosts(path: Path) -> list[str]:
    """Return the names in a file, one a line. Raises UsageError that names file and line."""
    hosts = []
    for number, line in enumerate(_text_of(path).split("\n"), 1):
        name = line.partition("#")[0].strip()
        if name and not _is_name(name):
            raise UsageError(f"{path}:{number}: not a host name: {name[:120]!r}; write one a line, without http://")
        if name:
            hosts.append(name)
    if not hosts:
        raise UsageError(f"{path}: no host names in it; write one a line")
    return hosts


def _is_name(text: str) -> bool:
    """Control characters are none's: getaddrinfo stops at a NUL, http.client and curl refuse them."""
    return text.isprintable() and len(text.split()) == 1 and "/" not in text


def _text_of(path: Path) -> str:
    """Return what a file of host names holds. A FIFO is not waited for. Raises UsageError."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")
            content = file.read(LARGEST_LIST + 1)
        if len(content) > LARGEST_LIST:
            raise OSError(errno.EFBIG, f"more than {LARGEST_LIST} bytes")
        return content.decode("utf-8-sig")      # Windows' editors begin with a byte order mark
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


def measure_and_print(calls: Mapping[str, Call], hosts: Sequence[str], arguments: argparse.Namespace) -> int:
    """Run the rounds and print a line for each strategy; return 1 when one of them never succeeded, else 0.

    What failed goes to standard error, each kind of failure once.
    """
    found = run_rounds(calls, hosts, arguments.rounds, arguments.seed)
    for name, series in found.items():
        print(format_line(name, series), flush=True)
    for name, series in found.items():
        for message in sorted(set(series.errors)):
            print(f"{name}: {series.errors.count(message)} x {message}", file=sys.stderr)
    return 0 if all(series.times_s for series in found.values()) else 1


def run_main(main: Callable[[], int]) -> None:
    """Run a script's `main` and exit with its status; Ctrl-C ends it with 130 and without a traceback.

    So do, with 1, a full disk, a reader of standard output that has ended (`| head`), and a server that cannot listen.
    """
    try:
        status = main()
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
