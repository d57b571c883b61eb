"""What holds for all loads at one delay: ``client/experiment-<delaynet>.json``, and its only reader and writer."""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from harness.files.layout import HOST
from harness.files.load_parts import CookieMode
from harness.files.load_record import FORMAT, NewerFormatError, check_format, write_json
from harness.files.transport import Transport
from harness.system.untrusted import UnreadableFileError, read_untrusted_json

DELAY = r"(\d+(?:\.\d+)?(?:e[+-]\d+)?)"
"""A delay as ``%g`` writes it."""
EXPERIMENT = re.compile(rf"experiment-{DELAY}\.json", re.ASCII)
_LIVE_COUNTS = ("late_bytes", "bytes", "late_requests", "requests")
TFOS = {"0": (0,), "1": (1,), "both": (0, 1)}
"""What tfo.py's --tfo measures."""


@dataclass(frozen=True)
class LiveLeftOut:
    """What live connections brought after a page's recorded load event, which no replay has: `late_bytes` of `bytes`.

    In that recording `late_requests` of the page's `requests` came after its load event.
    """

    late_bytes: int
    bytes: int
    late_requests: int
    requests: int


@dataclass(frozen=True)
class ExperimentRecord:
    """What an experiment's file says about all loads at one delay.

    `id` is what its loads' records name as their `experiment`, None in files of format 1. `pages` are URLs in .pages
    order; `tfos` is what was to be measured: 0, 1 or both, or other harness.files.transport.Transports. `busy` says in
    words what kept the machine busy before the first load, though it was waited for; "" when nothing did. `bw_net_mbit`
    is the rate of each server's link, in
    Mbit/s, None if it does not say. `connections_per_host` is how many connections Chrome opened to a host, 0 where
    nobody changed that. `cookies`: what was known of TFO cookies when a load began (harness.network.cookies).
    `layout`: which host names shared a server (harness.files.layout.Layout.in_words).
    `paper`: the network was the paper's. `bw_home_mbit` is the rate of user's link down, None if it does not say.
    `server_rtts_ms` are the RTTs to the servers, by host name, where each had its own (tfo.py --rtt recorded); then
    `rtt_ms` is the median of the hosts' own: a server that several share is as near as the nearest of them. `settings`
    is all of the file, as it is. `live_left_out` are, by URL, pages whose live connections said most after the recorded
    load event.
    """

    delaynet_ms: float
    rtt_ms: float
    pages: tuple[str, ...]
    synthetic: bool
    http: str
    server: str
    tfos: tuple[int, ...]
    id: str | None = None
    post_quantum: bool = False
    busy: str = ""
    bw_net_mbit: float | None = None
    connections_per_host: int = 0
    cookies: CookieMode = "warm"
    paper: bool = False
    bw_home_mbit: float | None = None
    server_rtts_ms: Mapping[str, float] = field(default_factory=dict, hash=False)
    layout: str = HOST
    settings: Mapping[str, Any] = field(default_factory=dict, compare=False)
    live_left_out: Mapping[str, LiveLeftOut] = field(default_factory=dict, hash=False)

    def rtt_to(self, host: str) -> float:
        """Return the RTT to a server in ms."""
        return self.server_rtts_ms.get(host, self.rtt_ms)

    @property
    def warm_pairs(self) -> bool:
        """Whether each load followed an untimed visit of its page (tfo.py --early, --http h3, --compare-transports)."""
        return bool(self.settings.get("transports"))

    @property
    def rtt_name(self) -> str:
        """What the table calls the RTT, in ms: a number, or "recorded" and from where to where the servers' RTTs go.

        Those in whole milliseconds.
        """
        if not self.server_rtts_ms:
            return f"{self.rtt_ms:g}"
        least, most = min(self.server_rtts_ms.values()), max(self.server_rtts_ms.values())
        return f"recorded {least:.0f}-{most:.0f}" if least < most else f"recorded {most:.0f}"


def new_experiment_id() -> str:
    """Return an id that no other experiment has."""
    return uuid.uuid4().hex


def experiment_file(clientdir: Path, delaynet_ms: float) -> Path:
    """Return where the file of an experiment lies; `delaynet_ms` is the servers' links' one-way delay."""
    return clientdir / f"experiment-{delaynet_ms:g}.json"


def write_experiment(clientdir: Path, delaynet_ms: float, settings: Mapping[str, object]) -> Path:
    """Write an experiment's file with the format version in front; return its path. The folder is made."""
    return write_json(experiment_file(clientdir, delaynet_ms), {"format": FORMAT, **settings})


def read_experiments(clientdir: Path, problems: list[str]) -> list[ExperimentRecord]:
    """Return all experiments of a client folder by delay; a file that cannot be read is a line in `problems`.

    Raises harness.files.load_record.NewerFormatError.
    """
    found = [_read(path, problems) for path in sorted(clientdir.glob("experiment-*.json"))]
    return sorted((experiment for experiment in found if experiment), key=lambda experiment: experiment.delaynet_ms)


def read_experiment(path: Path) -> ExperimentRecord:
    """Read one file. Raises UnreadableFileError, NewerFormatError among them."""
    found = read_untrusted_json(path)
    check_format(path, found)
    try:
        return _experiment(path, found)
    except ValueError as error:
        raise UnreadableFileError(path, str(error)) from None


def _read(path: Path, problems: list[str]) -> ExperimentRecord | None:
    try:
        return read_experiment(path)
    except NewerFormatError:
        raise
    except UnreadableFileError as error:
        problems.append(str(error))
        return None


def _experiment(path: Path, settings: dict[str, Any]) -> ExperimentRecord:
    """Return the record in a file of that name. Raises ValueError for what cannot be one."""
    named = EXPERIMENT.fullmatch(path.name)
    if not named:
        raise ValueError("its name gives no delay")
    delaynet_ms = float(named[1])
    if delaynet_ms == float("inf"):
        raise ValueError("its name gives no delay")
    pages = settings.get("pages")
    if not isinstance(pages, list):
        raise ValueError("no list of pages")
    rtt_ms, own_id = settings.get("rtt_ms"), settings.get("id")
    if rtt_ms is not None and (isinstance(rtt_ms, bool) or not isinstance(rtt_ms, int | float) or rtt_ms < 0):
        raise ValueError(f"rtt_ms is {rtt_ms!r}, not a time")
    return ExperimentRecord(
        delaynet_ms=delaynet_ms, rtt_ms=2 * delaynet_ms if rtt_ms is None else float(rtt_ms),
        pages=tuple(str(url) for url in pages), synthetic=settings.get("synthetic") is True,
        http=str(settings.get("http", "")), server=str(settings.get("server", "")),
        tfos=_transports(settings), id=None if own_id is None else str(own_id),
        post_quantum=settings.get("post_quantum") is True, busy=_in_words(settings.get("busy")),
        bw_net_mbit=_rate(settings.get("bw_net_mbit")), bw_home_mbit=_rate(settings.get("bw_home_mbit")),
        connections_per_host=_count(settings.get("connections_per_host")), cookies=_cookies(settings.get("cookies")),
        paper=settings.get("paper") is True, server_rtts_ms=_rtts(settings.get("server_rtts_ms")),
        layout=str(settings.get("layout") or HOST), settings=settings,
        live_left_out=_live_left_out(settings.get("live_left_out")))


def _transports(settings: Mapping[str, Any]) -> tuple[int, ...]:
    """Return what was measured beside each other."""
    named = settings.get("transports")
    if isinstance(named, list):
        return tuple(each for each in Transport if each in named)
    return TFOS.get(str(settings.get("tfo")), ())


def _rate(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf"):
        return float(value)
    return None


def _rtts(value: object) -> dict[str, float]:
    found = value.items() if isinstance(value, dict) else ()
    return {str(host): float(rtt_ms) for host, rtt_ms in found if isinstance(rtt_ms, int | float)
            and not isinstance(rtt_ms, bool) and 0 <= rtt_ms < float("inf")}


def _live_left_out(value: object) -> dict[str, LiveLeftOut]:
    found = value.items() if isinstance(value, dict) else ()
    return {str(url): LiveLeftOut(*map(_count, (counts.get(name) for name in _LIVE_COUNTS)))
            for url, counts in found if isinstance(counts, dict) and _count(counts.get("bytes"))}


def _cookies(value: object) -> CookieMode:
    return next((mode for mode in get_args(CookieMode) if mode == value), "warm")


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _in_words(causes: object) -> str:
    """Return one cause or a list of them in words, "" for none."""
    return "; ".join(map(str, causes)) if isinstance(causes, list) else str(causes or "")
