"""What a sweep measures: units, each of which is a site's recording under one combination of settings.

A unit's key is the SHA-256 of its recording, its settings and the versions of the programs that measure it. The same
key means the same experiment. If one of these changes, that is another unit, with a results folder of its own.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from harness.browser.program import find_browser, version_of
from harness.errors import InputError
from harness.files import layout
from harness.measure.options import parse_arguments
from harness.measure.version import program_digest
from harness.system.options import plain

FORMAT = 1
"""The version of a unit's description; another one makes other keys."""
OPTIONS = frozenset((
    "http", "server", "bwhome", "bwnet", "buffer", "delayhome", "paper", "testruns", "retries", "post-quantum",
    "predict", "cookies", "layout", "connections-per-host", "rtt", "think", "until-ci", "max-runs", "min-pairs",
    "timeout", "quiet", "quiet-limit", "seed"))
"""Options of tfo.py that a sweep passes on, and a worker takes: each changes what is measured, none names a file.

Without --tfo: a sweep compares loads with and without TFO, and a site with one of them only has no result.
"""
MOST_COMBINATIONS = 1000
"""How many the values of a --grid file may give."""
SECOND_OF = 10
"""A site of so many is measured on a second machine, too."""
_OPTION = re.compile(r"--([a-z-]+)(?:=(.*))?", re.DOTALL)


@dataclass(frozen=True)
class UnitSettings:
    """How a site is measured: at which one-way `delays` in ms, and with which other options of tfo.py."""

    delays: tuple[float, ...]
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(self.options) or "as by default"


@dataclass(frozen=True)
class Versions:
    """The versions of what measures: a digest of those parts of this program that measure, and Chrome's version."""

    tfo_lab: str
    browser: str


@dataclass(frozen=True)
class Unit:
    """One site to be measured. `replica` is 1 for a second measurement on another machine, else 0.

    `recording` is the SHA-256 of its recording (harness.measure.resume.recording_digest).
    """

    url: str
    recording: str
    settings: UnitSettings
    versions: Versions
    replica: int = 0

    @property
    def key(self) -> str:
        """A digest of all that is in it, in hexadecimal: the name of its results' folder, and of its task in Dask."""
        return hashlib.sha256(json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def wants_second(self) -> bool:
        """Whether this site is to be measured on two machines: the recording's digest decides, so nobody can choose."""
        return int(hashlib.sha256(self.recording.encode()).hexdigest(), 16) % SECOND_OF == 0

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Unit":
        """Return what `to_json` gave. Raises ValueError for anything else."""
        try:
            found = json.loads(text)
            settings = UnitSettings(tuple(map(float, found["settings"]["delays"])),
                                    tuple(map(str, found["settings"]["options"])))
            return cls(str(found["url"]), str(found["recording"]), settings, Versions(**found["versions"]),
                       int(found["replica"]))
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"no unit of a sweep ({error!r})") from None


@dataclass(frozen=True)
class UnitTask:
    """A unit, and a function that returns its recording as a parcel, which is called when the unit is handed out."""

    unit: Unit
    parcel: Callable[[], bytes]

    @property
    def second(self) -> "UnitTask":
        """The same site once more, for another machine."""
        return replace(self, unit=replace(self.unit, replica=1))


def check_options(words: Sequence[str], delays_ms: Iterable[float] = (1.0,)) -> tuple[str, ...]:
    """Return tfo.py's options as ``--name=value``, in order of their names.

    Raises InputError for wrong ones, and for those that tfo.py refuses with one of these delays (one way).

    Driver and worker both call this: what comes over the network is checked again where root acts on it.
    """
    found: dict[str, str] = {}
    waiting = list(words)
    while waiting:
        match = _OPTION.fullmatch(waiting.pop(0))
        if not match or match[1] not in OPTIONS:
            raise InputError(f"sweep.py: {str(match[0] if match else words)[:80]!r} is no option of a sweep; "
                             f"see ./sweep.py --help")
        value = match[2]
        if value is None and waiting and not waiting[0].startswith("--"):
            value = waiting.pop(0)
        if match[1] == "layout" and value not in layout.CHOICES:
            raise InputError(f"sweep.py: --layout: one of {', '.join(layout.CHOICES)}; a file of one site is none of "
                             "another")
        found[match[1]] = f"--{match[1]}" if value is None else f"--{match[1]}={value}"
    options = tuple(found[name] for name in sorted(found))
    for delay_ms in delays_ms:
        parse_arguments("", (f"--delaynet={plain(delay_ms)}", *options))
    return options


def grid(table: Mapping[str, Any], source: str) -> list[tuple[str, ...]]:
    """Return the combinations of a --grid's options: each name has a value or a list of values.

    The value true stands for an option without a value.

    Raises InputError.
    """
    axes = []
    for name, values in table.items():
        listed = values if isinstance(values, list) else [values]
        if not listed or not all(isinstance(value, str | int | float) for value in listed):
            raise InputError(f"{source}: {name}: write a value or a list of values, such as {name} = [1, 2]")
        axes.append([_word(name, value) for value in listed])
    combinations = list(itertools.islice(itertools.product(*axes), MOST_COMBINATIONS + 1))
    if len(combinations) > MOST_COMBINATIONS:
        raise InputError(f"{source}: more than {MOST_COMBINATIONS} combinations; leave some values out")
    return [tuple(word for word in combination if word) for combination in combinations]


def _word(name: str, value: object) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else ""
    return f"--{name}={value}"


@lru_cache(maxsize=1)
def own_versions() -> Versions:
    """Return the versions of this program and of the Chrome on this machine."""
    return Versions(program_digest(), version_of(find_browser()))
