"""What holds for all loads at one delay: ``client/experiment-<delaynet>.json``, and its only reader and writer."""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from harness.files.hosts import HOST
from harness.files.load_parts import CookieMode, Count, Ms
from harness.files.load_record import FORMAT, NewerFormatError, read_json, write_json
from harness.system.untrusted import UnreadableFileError

DELAY = r"(\d+(?:\.\d+)?(?:e[+-]\d+)?)"
"""A delay as ``%g`` writes it."""
EXPERIMENT = re.compile(rf"experiment-{DELAY}\.json", re.ASCII)
TFOS = {"0": (0,), "1": (1,), "both": (0, 1)}
"""What tfo.py's --tfo measures."""


@dataclass(frozen=True)
class ExperimentRecord:
    """What an experiment's file says about all loads at one delay.

    `id` is what its loads' records name as their `experiment`, None in files of format 1. `pages` are URLs in .pages
    order; `transports` are those to be measured (harness.files.transport): TFO off, on or both, or others. `busy` says
    in words what kept the machine busy before the first load, though it was waited for.
    `bw_net_mbit` is the rate of each server's link, in Mbit/s, None if it does not say. `connections_per_host` is how
    many connections Chrome opened to a host, 0 where nobody changed that. `cookies`: what was known of TFO cookies when
    a load began (harness.network.cookies).
    `layout`: which host names shared a server (harness.files.hosts.Layout.in_words).
    `paper`: the network was the paper's. `bw_home_mbit` is the rate of user's link down, None if it does not say.
    `server_rtts_ms` are the RTTs to the servers, by host name, where each had its own (tfo.py --rtt recorded); then
    `rtt_ms` is the median of the hosts' own: a server that several share is as near as the nearest of them. `settings`
    is all of the file, as it is. `unusual` are the options of tfo.py that were not as by default, as they are typed.
    """

    delaynet_ms: Ms
    rtt_ms: Ms
    pages: tuple[str, ...]
    synthetic: bool = False
    http: str = ""
    server: str = ""
    transports: tuple[int, ...] = ()
    id: str | None = None
    post_quantum: bool = False
    busy: tuple[str, ...] = ()
    bw_net_mbit: float | None = None
    connections_per_host: Count = 0
    cookies: CookieMode = "warm"
    paper: bool = False
    bw_home_mbit: float | None = None
    server_rtts_ms: Mapping[str, Ms] = field(default_factory=dict, hash=False)
    layout: str = HOST
    settings: Mapping[str, Any] = field(default_factory=dict, compare=False)
    unusual: tuple[str, ...] = ()

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
    found = []
    for path in sorted(clientdir.glob("experiment-*.json")):
        try:
            found.append(read_experiment(path))
        except NewerFormatError:        # noqa: PERF203
            raise
        except UnreadableFileError as error:
            problems.append(str(error))
    return sorted(found, key=attrgetter("delaynet_ms"))


def read_experiment(path: Path) -> ExperimentRecord:
    """Read one file. Raises UnreadableFileError, NewerFormatError among them."""
    return read_json(path, partial(_experiment, path))


def _experiment(path: Path, settings: dict[str, Any]) -> ExperimentRecord:
    """Return the record in a file of that name. Raises ValueError for what cannot be one."""
    named = EXPERIMENT.fullmatch(path.name)
    if not named or (delaynet_ms := float(named[1])) == float("inf"):
        raise ValueError("its name gives no delay")
    told = {name: value for name, value in settings.items() if value is not None}
    return msgspec.convert({
        "rtt_ms": 2 * delaynet_ms, "transports": TFOS.get(str(settings.get("tfo")), ()), **told,
        "delaynet_ms": delaynet_ms, "settings": settings}, ExperimentRecord)
