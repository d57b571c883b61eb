"""What a sweep measures, units, and what came of each: ``site.json`` beside its loads.

A unit is a site's recording under one combination of settings. Its key is the SHA-256 of its recording, its settings
and the versions of the programs that measure it. The same key means the same experiment. If one of these changes, that
is another unit, with a results folder of its own.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from harness.browser.program import find_browser, version_of
from harness.errors import InputError
from harness.measure.resume import program_digest
from harness.measure.settings import OPTIONS, add_options, settings_of
from harness.system.options import OptionParser

FORMAT = 3
"""The version of a unit's description; another one makes other keys."""
FILE_FORMAT = 3
FILE = "site.json"
Status = Literal["measured", "partly", "failed", "unfit", "not measured yet"]
IS_KNOWN: tuple[Status, ...] = ("measured", "partly")
"""Statuses of a unit whose improvement counts."""
LONGEST_WHY = 1000
"""Characters of a reason."""
MOST_COMBINATIONS = 1000
DELAYS = ("--delays", "10 50 100")
"""As run.sh's; said, because with --rtt recorded alone each site would have RTTs of its own."""
OWN_DELAYS = ("--delays", "--delaynet", "--sweep-rtt")


@dataclass(frozen=True)
class Versions:
    """The versions of what measures: a digest of those parts of this program that measure, and Chrome's version."""

    tfo_lab: str
    browser: str


@dataclass(frozen=True)
class Unit:
    """One site to be measured, with which `options` of tfo.py; `recording` is its SHA-256 (measure.resume)."""

    url: str
    recording: str
    options: tuple[str, ...]
    versions: Versions

    @property
    def key(self) -> str:
        """A digest of all that is in it, in hexadecimal: the name of its results' folder, and of its task in Dask."""
        return hashlib.sha256(json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True).encode()).hexdigest()[:32]


def check_options(words: Sequence[str]) -> tuple[str, ...]:
    """Return tfo.py's options as ``--name=value``, in order of their names, with DELAYS where `words` choose none.

    Ends the program with a line and status 2 for those that are none of a sweep, and for what tfo.py refuses, so that
    no site fails of it later.
    """
    if not any(word.partition("=")[0] in OWN_DELAYS for word in words):
        words = [*DELAYS, *words]
    parser = OptionParser(prog="sweep.py")
    add_options(parser, [name for name, option in OPTIONS.items() if option.swept])
    settings = settings_of(parser, parser.parse_args(words))
    if settings.warm_pairs:
        parser.error("--http h3: a sweep compares loads without and with TFO, which QUIC has not; leave it out")
    options: list[str] = []
    for word in words:
        if word.startswith("--"):
            options.append(word)
        else:
            options[-1] += f"={word}"
    return tuple(sorted({option.partition("=")[0]: option for option in options}.values()))


def grid(table: Mapping[str, Any], source: str) -> list[tuple[str, ...]]:
    """Return the combinations of a --grid's options: each name has a value or a list of values.

    The value true stands for an option without a value. Raises InputError.
    """
    axes = []
    for name, values in table.items():
        if name in ("help", "version"):
            raise InputError(f"{source}: {name}: a sweep measures nothing by that; leave it out")
        listed = values if isinstance(values, list) else [values]
        if not listed or not all(isinstance(value, str | int | float) for value in listed):
            raise InputError(f"{source}: {name}: write a value or a list of values, such as {name} = [1, 2]")
        axes.append([f"--{name}={value}" if not isinstance(value, bool) else f"--{name}" if value else ""
                     for value in listed])
    if math.prod(map(len, axes)) > MOST_COMBINATIONS:
        raise InputError(f"{source}: more than {MOST_COMBINATIONS} combinations; leave some values out")
    return [tuple(word for word in combination if word) for combination in itertools.product(*axes)]


@lru_cache(maxsize=1)
def own_versions() -> Versions:
    """Return the versions of this program and of the Chrome on this machine."""
    return Versions(program_digest(), version_of(find_browser().binary))


@dataclass(frozen=True)
class UnitOutcome:
    """The outcome of one unit. `why` says in words what went wrong.

    `status` is "measured" when every load counts, "partly" when some loads count and give an improvement, "failed" when
    no improvement is known; "unfit" (the machine can measure no page) and "not measured yet" are kept nowhere.
    `machine` is its host name.
    """

    key: str
    url: str
    status: Status
    why: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    machine: str = ""
    format: Annotated[int, msgspec.Meta(ge=1, le=FILE_FORMAT)] = FILE_FORMAT
    """The version of its file."""


def of_unit(unit: Unit, status: Status, *why: str) -> UnitOutcome:
    """Return the outcome of `unit`; what is no UTF-8 in a reason, as a file's name may be, is escaped."""
    reasons = (text[:LONGEST_WHY].encode("utf-8", "backslashreplace").decode() for text in why)
    return UnitOutcome(unit.key, unit.url, status, tuple(reasons), unit.options)


def as_json(what: object) -> bytes:
    """Return a dataclass as it stands in a file of a sweep."""
    return msgspec.json.format(msgspec.json.encode(what, enc_hook=str), indent=1) + b"\n"
