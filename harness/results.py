"""The results of an experiment as files in ``client/``: one row per page load, failures included.

    client/experiment-<delaynet>.json            what was measured: pages in their order, HTTP version, network
    client/<delaynet>-<run>-tfo-<0|1>/<page>         what the browser did, in the 2013 text format (harness.logs)
    client/<delaynet>-<run>-tfo-<0|1>/<page>.har     the same as HAR 1.2
    client/<delaynet>-<run>-tfo-<0|1>/<page>.pcap    the packets, with --pcap
    client/<delaynet>-<run>-tfo-<0|1>/<page>.json    the load's times and whether it counts

A folder without any of the .json files holds logs of the 2013 tool; harness.old_logs judges those.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.atomic import write_atomically
from harness.errors import InputError
from harness.old_logs import judge_old_log
from harness.pages import sanitise

FORMAT = 1
"""Version of both kinds of .json files. A reader refuses files of a newer one."""
DELAY = r"(\d+(?:\.\d+)?(?:e[+-]\d+)?)"
"""A delay as ``%g`` writes it."""
DIRECTORY = re.compile(rf"{DELAY}-(\d+)-tfo-([01])", re.ASCII)
EXPERIMENT = re.compile(rf"experiment-{DELAY}\.json", re.ASCII)
TFOS = {"0": (0,), "1": (1,), "both": (0, 1)}
"""What tfo.py's --tfo measures."""
BESIDE = (".json", ".har", ".pcap")
"""Endings of the files that stand beside a page's log."""


@dataclass(frozen=True)
class LoadResult:
    """One load of one page. Times in ms from the start of the navigation; None where unknown.

    `plt_ms` is the end of the load event, `last_ms` the end of the last transaction. Run 0 is the warm-up.
    `why_not` says why a load that is not `valid` is not; `log` is where its text log is, if it has one.
    """

    page: str
    url: str
    delaynet_ms: float
    rtt_ms: float
    run: int
    tfo: int
    valid: bool
    why_not: tuple[str, ...]
    plt_ms: float | None
    last_ms: float | None
    log: Path


@dataclass(frozen=True)
class Experiment:
    """What ``experiment-<delaynet>.json`` says about all loads at one delay.

    `pages` are URLs in .pages order; `tfos` is what was to be measured: 0, 1 or both.
    """

    delaynet_ms: float
    rtt_ms: float
    pages: tuple[str, ...]
    synthetic: bool
    http: str
    server: str
    tfos: tuple[int, ...]


@dataclass(frozen=True)
class Results:
    """Everything in a client directory. `old` is True for logs of the 2013 tool, which only know `last_ms`.

    `urls` maps each page's file name to its URL, in .pages order (alphabetical when unknown). `rtts_ms` and `tfos`
    are what the directories and experiment files say was to be measured. `problems` are ``file:line: problem`` lines.
    """

    clientdir: Path
    old: bool
    loads: list[LoadResult]
    experiments: list[Experiment]
    urls: dict[str, str]
    rtts_ms: list[float]
    tfos: list[int]
    problems: list[str]

    @property
    def synthetic(self) -> bool:
        """Whether any of it was measured on pages the project made itself."""
        return any(experiment.synthetic for experiment in self.experiments)


def cell_directory(delaynet_ms: float, run: int, tfo: int) -> str:
    """Return the name of the directory that holds one run at one delay (one way, ms) with TFO off (0) or on (1)."""
    return f"{delaynet_ms:g}-{run}-tfo-{tfo}"


def parse_cell_directory(name: str) -> tuple[float, int, int] | None:
    """Return (delaynet_ms, run, tfo) of a directory named by `cell_directory`, None for any other name."""
    match = DIRECTORY.fullmatch(name)
    return (float(match[1]), int(match[2]), int(match[3])) if match else None


def write_load(directory: Path, page: str, load: Mapping[str, object]) -> Path:
    """Write ``<directory>/<page>.json`` with the format version in front; return its path. `directory` is made."""
    return _write_json(directory / f"{page}.json", {"format": FORMAT, **load})


def write_experiment(clientdir: Path, delaynet_ms: float, experiment: Mapping[str, object]) -> Path:
    """Write ``<clientdir>/experiment-<delaynet>.json`` with the format version in front; return its path."""
    return _write_json(clientdir / f"experiment-{delaynet_ms:g}.json", {"format": FORMAT, **experiment})


def read_results(clientdir: Path) -> Results:
    """Read a client directory, new or of 2013.

    Raises InputError when there is no such directory, no load in it, or a file of a newer format; anything else that
    is wrong with a file makes that one load not valid, or is reported in `problems`.
    """
    if not clientdir.is_dir():
        raise InputError(f"{clientdir}:1: no such directory; give the folder of client logs with --clientdir")
    experiments, problems = _read_experiments(clientdir)
    directories = _cell_directories(clientdir)
    old = not experiments and not problems and not any(next(path.glob("*.json"), None) for path, *_ in directories)
    rtts = {experiment.delaynet_ms: experiment.rtt_ms for experiment in experiments}
    loads = []
    for path, delaynet_ms, run, tfo in directories:
        rtt_ms = rtts.get(delaynet_ms, 2 * delaynet_ms)
        for page in _pages_in(path):
            blank = LoadResult(page, page, delaynet_ms, rtt_ms, run, tfo, False, (), None, None, path / page)
            loads.append(_read_old(blank, problems) if old else _read_load(blank))
    if not loads:
        raise InputError(f"{clientdir}:1: no page loads in it; measure some first: sudo ./run.sh")
    empty = {delaynet_ms for _, delaynet_ms, *_ in directories} - {load.delaynet_ms for load in loads}
    rtts_ms = {load.rtt_ms for load in loads} | {rtts.get(delay, 2 * delay) for delay in empty} | set(rtts.values())
    return Results(clientdir, old, loads, experiments, _urls(experiments, loads), sorted(rtts_ms),
                   sorted({tfo for *_, tfo in directories}.union(*(one.tfos for one in experiments))), problems)


def _cell_directories(clientdir: Path) -> list[tuple[Path, float, int, int]]:
    named = ((path, parse_cell_directory(path.name)) for path in clientdir.iterdir() if path.is_dir())
    return sorted(((path, *cell) for path, cell in named if cell), key=lambda one: one[1:])


def _pages_in(directory: Path) -> list[str]:
    """File names of the pages that left anything in `directory`; a page's own name may end like those beside it."""
    names = {path.name for path in directory.iterdir() if path.is_file() and not path.name.startswith(".")}
    beside = {name for name in names if name.endswith(BESIDE) and f"{name}.json" not in names}
    return sorted((names - beside) | {name.removesuffix(".json") for name in beside if name.endswith(".json")})


def _urls(experiments: list[Experiment], loads: list[LoadResult]) -> dict[str, str]:
    urls = {sanitise(url): url for experiment in experiments for url in experiment.pages}
    for load in sorted(loads, key=lambda load: load.page):
        if urls.get(load.page, load.page) == load.page:
            urls[load.page] = load.url
    return urls


def _read_old(blank: LoadResult, problems: list[str]) -> LoadResult:
    judged = judge_old_log(blank.log, blank.page)
    problems += judged.problems
    return _with(blank, url=judged.url, valid=not judged.why_not, why_not=judged.why_not, last_ms=judged.last_ms)


def _read_load(blank: LoadResult) -> LoadResult:
    path = blank.log.with_name(f"{blank.page}.json")
    try:
        record = read_record(path)
        for key, expected in (("page", blank.page), ("run", blank.run), ("tfo", blank.tfo)):
            if record.get(key) != expected:
                raise ValueError(f"its {key} is {record.get(key)!r}, its place says {expected!r}")
        why_not = tuple(str(reason) for reason in record.get("why_not") or ())
        valid = record.get("valid") is True
        return _with(blank, url=str(record.get("url") or blank.page), rtt_ms=_number(record, "rtt_ms") or blank.rtt_ms,
                     valid=valid, why_not=why_not or (() if valid else ("not valid, and no reason given",)),
                     plt_ms=_number(record, "plt_ms"), last_ms=_number(record, "last_ms"))
    except FileNotFoundError:
        return _with(blank, why_not=("no .json beside its log: the load was cut short",))
    except (OSError, ValueError) as error:
        return _with(blank, why_not=(f"{path.name} cannot be read: {error}",))


def _with(blank: LoadResult, **changes: Any) -> LoadResult:
    return LoadResult(**{**blank.__dict__, **changes})


def _read_experiments(clientdir: Path) -> tuple[list[Experiment], list[str]]:
    problems: list[str] = []
    read = [_read_experiment(path, problems) for path in sorted(clientdir.glob("experiment-*.json"))]
    return sorted((one for one in read if one), key=lambda experiment: experiment.delaynet_ms), problems


def _read_experiment(path: Path, problems: list[str]) -> Experiment | None:
    try:
        return _experiment(path, read_record(path))
    except (OSError, ValueError) as error:
        problems.append(f"{path}:1: cannot be read: {error}")
        return None


def _experiment(path: Path, record: dict[str, Any]) -> Experiment:
    named = EXPERIMENT.fullmatch(path.name)
    if not named:
        raise ValueError("its name gives no delay")
    delaynet_ms = float(named[1])
    pages = record.get("pages")
    if not isinstance(pages, list):
        raise ValueError("no list of pages")
    rtt_ms = _number(record, "rtt_ms")
    return Experiment(delaynet_ms, 2 * delaynet_ms if rtt_ms is None else rtt_ms, tuple(str(url) for url in pages),
                      record.get("synthetic") is True, str(record.get("http", "")), str(record.get("server", "")),
                      TFOS.get(str(record.get("tfo")), ()))


def read_record(path: Path) -> dict[str, Any]:
    """Read one of the .json files of ``client/``: a load's or an experiment's.

    Raises OSError or ValueError when there is none or it is not one, InputError when it is of a newer format.
    """
    record = json.loads(path.read_text(encoding="utf-8"))
    version = record.get("format") if isinstance(record, dict) else None
    if not isinstance(version, int) or version < 1:
        raise ValueError("no format version; not a file of this tool")
    if version > FORMAT:
        raise InputError(f"{path}:1: format {version} is newer than this plot.py reads ({FORMAT}); update TFO Lab")
    return dict(record)


def _number(record: dict[str, Any], key: str) -> float | None:
    value = record.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{key} is {value!r}, not a time")
    return float(value)


def _write_json(path: Path, record: dict[str, object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return path
