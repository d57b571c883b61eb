"""The results of an experiment as files in ``client/``: one row per page load, failures included.

    client/experiment-<delaynet>.json            what was measured: pages in their order, HTTP version, network
    client/<delaynet>-<run>-tfo-<0|1>/<page>         what the browser did, in the 2013 text format (files.text_log)
    client/<delaynet>-<run>-tfo-<0|1>/<page>.har     the same as HAR 1.2
    client/<delaynet>-<run>-tfo-<0|1>/<page>.pcap    the packets, with --pcap
    client/<delaynet>-<run>-tfo-<0|1>/<page>.<program>.log   what a program said during a load that failed
    client/<delaynet>-<run>-tfo-<0|1>/<page>.json    the load's record (files.load_record): its times, whether it counts
    client/<delaynet>-<run>-tfo-<0|1>[-quic][-early]/    the same of loads over QUIC, with early data (files.transport)
    client/<delaynet>-<run>-tfo-<0|1>/attempt-<n>/   the same files of the n-th try, if it was made again

A folder without any of the .json files holds logs of the 2013 tool; harness.files.old_logs judges those.

A folder may hold loads of several experiments at one delay: a shorter one ran over an older one's. Only one of them is
read: the one that the experiment's file names, else the newest. The others' loads are `Results.others`.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.errors import InputError
from harness.files.experiment import DELAY, ExperimentRecord, experiment_file, read_experiments
from harness.files.load_record import LoadRecord, NewerFormatError, read_load_record, write_json
from harness.files.old_logs import judge_old_log
from harness.files.pages import BESIDE, sanitise
from harness.files.transport import Transport
from harness.system.untrusted import MissingFileError, UnreadableFileError

DIRECTORY = re.compile(rf"{DELAY}-(\d{{1,18}})-tfo-([01])(-quic)?(-early)?", re.ASCII)
"""Of a run's number so many digits as 64 bits hold (harness.system.untrusted.MOST_DIGITS)."""
ATTEMPT = re.compile(r"attempt-[1-9]\d*", re.ASCII)


@dataclass(frozen=True)
class LoadResult:
    """One load of one page. Times in ms from the start of the navigation; None where unknown.

    `plt_ms` is the end of the load event, `last_ms` the end of the last transaction. Run 0 is the warm-up.
    `log` is where its text log is, if it has one. `why_not` says why it does not count. `record` is all that stands in
    its .json, None without one that can be read (as for logs of 2013).
    """

    page: str
    url: str
    delaynet_ms: float
    rtt_ms: float
    run: int
    transport: int
    log: Path
    why_not: tuple[str, ...] = ()
    plt_ms: float | None = None
    last_ms: float | None = None
    record: LoadRecord | None = field(default=None, compare=False)

    @property
    def valid(self) -> bool:
        """Whether it counts."""
        return not self.why_not

    @property
    def har(self) -> Path:
        """Where its HAR lies, if it has one."""
        return self.log.with_name(f"{self.page}.har")

    @property
    def tfo(self) -> int:
        """Whether TFO was on (1) or off (0)."""
        return Transport(self.transport).tfo


@dataclass(frozen=True)
class Results:
    """Everything in a client directory. `old` is True for logs of the 2013 tool, which only know `last_ms`.

    `loads` are those of one experiment for each delay; `again` are its tries that were made again; `others`
    are loads of other experiments. None of the latter two is valid. `urls` maps each page's file name to its URL, in
    .pages order (alphabetical when unknown). `rtts_ms` and `transports` are what the directories and experiment files
    say was to be measured. `problems` are ``file:line: problem`` lines.
    """

    clientdir: Path
    old: bool
    loads: list[LoadResult]
    experiments: list[ExperimentRecord]
    urls: dict[str, str]
    rtts_ms: list[float]
    transports: list[int]
    problems: list[str]
    again: list[LoadResult] = field(default_factory=list)
    others: list[LoadResult] = field(default_factory=list)

    @property
    def synthetic(self) -> bool:
        """Whether any of it was measured on pages the project made itself."""
        return any(experiment.synthetic for experiment in self.experiments)

    @property
    def rtt_names(self) -> dict[float, str]:
        """What the RTTs are called that stand for several, those of the servers as recorded."""
        return {experiment.rtt_ms: experiment.rtt_name for experiment in self.experiments if experiment.server_rtts_ms}

    @property
    def everything(self) -> list[LoadResult]:
        """All loads in the folder: the counted experiment's, tries made again, and other experiments'."""
        return [*self.loads, *self.again, *self.others]


def cell_directory(delaynet_ms: float, run: int, transport: int) -> str:
    """Return the name of the directory that holds one run at one delay (one way, ms) over a Transport: with TFO off (0)
    or on (1), "-quic" and "-early" behind it for the others.
    """
    over = Transport(transport)
    return f"{delaynet_ms:g}-{run}-tfo-{over.tfo}{'-quic' * over.quic}{'-early' * over.early}"


def parse_cell_directory(name: str) -> tuple[float, int, int] | None:
    """Return (delaynet_ms, run, transport) of a directory named by `cell_directory`, None for any other name."""
    match = DIRECTORY.fullmatch(name)
    if not match or not math.isfinite(2 * float(match[1])) or (match[4] and match[3] == "1"):
        return None
    return float(match[1]), int(match[2]), Transport.of(int(match[3]), early=bool(match[5]), quic=bool(match[4]))


def attempt_directory(cell: Path, attempt: int) -> Path:
    """Return where the files of a load's n-th try (from 1) go when it is made again; `cell` is its run's directory."""
    return cell / f"attempt-{attempt}"


def load_file(cell: Path, page: str) -> Path:
    """Return where the record of `page` lies in the directory of its run."""
    return cell / f"{page}.json"


def write_load(cell: Path, record: LoadRecord) -> Path:
    """Write the record of a load into the directory of its run, which is made; return its path."""
    return write_json(load_file(cell, record.page), record.to_json())


def has_loads(clientdir: Path) -> bool:
    """Tell whether a load has left its record in a client directory, valid or not."""
    return any(clientdir.glob("*-tfo-*/*.json"))


def read_results(clientdir: Path) -> Results:
    """Read a client directory, new or of 2013.

    Raises InputError when there is no such directory, no load in it, or a file of a newer format; anything else that
    is wrong with a file makes that one load not valid, or is reported in `problems`.
    """
    if not clientdir.is_dir():
        raise InputError(f"{clientdir}:1: no such directory; give the folder of client logs with --clientdir")
    problems: list[str] = []
    experiments = read_experiments(clientdir, problems)
    _require_rtts_apart(clientdir, experiments)
    rtts = {experiment.delaynet_ms: experiment.rtt_ms for experiment in experiments}
    cells = sorted((cell, path) for path in _folders(clientdir) if (cell := parse_cell_directory(path.name)))
    old = not (experiments or problems or has_loads(clientdir))
    found = []
    for (delaynet_ms, run, transport), path in cells:
        rtt_ms = rtts.get(delaynet_ms, 2 * delaynet_ms)
        for directory in (path, *_attempts(path)):
            for page in _pages_in(directory):
                blank = LoadResult(page, page, delaynet_ms, rtt_ms, run, transport, directory / page)
                found.append(_read_old(blank, problems) if old else _read_load(blank, path.name))
    loads, again, others = list[LoadResult](), list[LoadResult](), list[LoadResult]()
    own = _own_experiments(experiments, found)
    for load in found:
        if load.record is not None and load.record.experiment != own[load.delaynet_ms]:
            named = experiment_file(clientdir, load.delaynet_ms).name
            others.append(replace(load, why_not=(f"of another, earlier experiment than {named} describes",)))
        elif ATTEMPT.fullmatch(load.log.parent.name):       # a valid one is a warm-up: it is the network that warms up
            again.append(replace(load, why_not=load.why_not or ("valid, but a run that is resumed warms up anew",)))
        else:
            loads.append(load)
    if not loads and not others:
        raise InputError(f"{clientdir}:1: no page loads in it; measure some first: sudo ./run.sh")
    empty = {delay for (delay, *_), _ in cells} - {load.delaynet_ms for load in (*loads, *others)}
    rtts_ms = {load.rtt_ms for load in loads} | {rtts.get(delay, 2 * delay) for delay in empty} | {*rtts.values()}
    transports = {transport for (*_, transport), _ in cells}.union(*(each.transports for each in experiments))
    return Results(clientdir, old, loads, experiments, _urls(experiments, loads), sorted(rtts_ms), sorted(transports),
                   problems, again, others)


def _require_rtts_apart(clientdir: Path, experiments: Sequence[ExperimentRecord]) -> None:
    """Raise InputError when loads of two experiments, which may differ in all else, would stand in one row.

    Two files have one RTT where a part of it is user's link's, or where it is the median of recorded ones.
    """
    known: dict[float, ExperimentRecord] = {}
    for experiment in experiments:
        other = known.setdefault(experiment.rtt_ms, experiment)
        if other is not experiment:
            name, of_other = (experiment_file(clientdir, each.delaynet_ms) for each in (experiment, other))
            raise InputError(f"{name}:1: its RTT, {experiment.rtt_ms:g} ms, is that of {of_other.name} too, and one "
                             "row of the table cannot hold two experiments; move that file and its loads, "
                             f"{other.delaynet_ms:g}-*, to another folder")


def _folders(directory: Path, *, files: bool = False) -> list[Path]:
    """Return the folders in `directory`, or its files. Raises InputError when they cannot be seen."""
    try:
        return [path for path in directory.iterdir() if path.is_dir() != files]
    except OSError as error:
        raise InputError(f"{directory}:1: cannot be read ({error.strerror}); is it yours?") from None


def _attempts(cell: Path) -> list[Path]:
    return sorted((path for path in _folders(cell) if ATTEMPT.fullmatch(path.name)),
                  key=lambda path: (len(path.name), path.name))     # by their number


def _pages_in(directory: Path) -> list[str]:
    """File names of the pages that left a log or a record in `directory`."""
    names = {path.name for path in _folders(directory, files=True)
             if not path.name.startswith((".", "#")) and not path.name.endswith(".json~")}      # an editor's
    return sorted({name.removesuffix(".json") for name in names
                   if name.endswith(".json") or not name.endswith(BESIDE)})


def _urls(experiments: Iterable[ExperimentRecord], loads: Sequence[LoadResult]) -> dict[str, str]:
    listed = {sanitise(url): url for experiment in experiments for url in experiment.pages}
    known = {load.page: load.url for load in reversed(loads) if load.url != load.page} | listed
    return {page: known.get(page, page) for page in (*listed, *sorted({load.page for load in loads}))}


def _read_old(blank: LoadResult, problems: list[str]) -> LoadResult:
    url, last_ms, why_not = judge_old_log(blank.log, blank.page, problems)
    return replace(blank, url=url, last_ms=last_ms, why_not=why_not)


def _read_load(blank: LoadResult, cell: str) -> LoadResult:
    """Return the load whose log may stand beside `blank`, with its record, or with the reason why there is none.

    `cell` is the name of the directory of its run.
    """
    path = load_file(blank.log.parent, blank.page)
    try:
        record = read_load_record(path)
    except NewerFormatError:
        raise
    except MissingFileError:
        return replace(blank, why_not=("no .json beside its log: the load was cut short",))
    except UnreadableFileError as error:
        return replace(blank, why_not=(f"{path.name} cannot be read: {error.why}",))
    told = f"{cell_directory(record.delaynet_ms, record.run, record.transport)}/{record.page}"
    if told != f"{cell}/{blank.page}" or record.delaynet_ms != blank.delaynet_ms:
        return replace(blank, why_not=(f"{path.name} is not of this place: it is the record of {told}",))
    return replace(blank, url=record.url or blank.page, rtt_ms=record.rtt_ms or blank.rtt_ms,
                   why_not=record.why_not, plt_ms=record.plt_ms, last_ms=record.last_ms, record=record)


def _own_experiments(experiments: Iterable[ExperimentRecord], loads: Iterable[LoadResult]) -> dict[float, str | None]:
    """Return for each delay the id of the one experiment whose loads count: as its file says, else the newest's.

    None: of loads of format 1, which name none.
    """
    records = sorted((load.record for load in loads if load.record), key=lambda record: record.began_s or 0.0)
    newest = {record.delaynet_ms: record.experiment for record in records}
    return newest | {experiment.delaynet_ms: experiment.id for experiment in experiments if experiment.id}
