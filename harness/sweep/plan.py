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
from typing import Any, Literal

import msgspec

from harness.browser.program import find_browser, version_of
from harness.errors import InputError
from harness.files.load_record import OfThisTool
from harness.measure.resume import program_digest
from harness.measure.settings import OPTIONS, add_options, settings_of
from harness.system.options import OptionParser
from harness.system.untrusted import parse_json

FORMAT = 3
"""The version of a unit's description; another one makes other keys."""
FILE_FORMAT = 3
FILE = "site.json"
Status = Literal["measured", "partly", "failed", "unfit", "not measured yet"]
LONGEST_WHY, MOST_COMBINATIONS = 1000, 1000
"""Characters of a reason."""


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


def in_words(options: Sequence[str]) -> str:
    """Return a combination of options as tables name it."""
    return " ".join(options) or "as by default"


def check_options(words: Sequence[str]) -> tuple[str, ...]:
    """Return tfo.py's options as ``--name=value``, in order of their names.

    Ends the program with a line and status 2 for those that are none of a sweep, and for what tfo.py refuses, so that
    no site fails of it later.
    """
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

    def to_json(self) -> str:
        """Return it as it stands in its file."""
        return json.dumps({"format": FILE_FORMAT, **asdict(self)}, indent=1) + "\n"


def of_unit(unit: Unit, status: Status, *why: str) -> UnitOutcome:
    """Return the outcome of `unit`."""
    return UnitOutcome(unit.key, unit.url, status, tuple(text[:LONGEST_WHY] for text in why), unit.options)


def read_outcome(text: str | bytes) -> UnitOutcome:
    """Return what a site.json says. Raises ValueError for anything else."""
    found = parse_json(text.decode() if isinstance(text, bytes) else text)
    version = msgspec.convert(found, OfThisTool).format
    if version > FILE_FORMAT:
        raise ValueError(f"format {version} is newer than the {FILE_FORMAT} known here; update TFO Lab")
    return msgspec.convert(found, UnitOutcome)
