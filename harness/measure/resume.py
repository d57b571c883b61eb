"""Going on with an experiment that was interrupted or partly failed: what is there counts, the rest is measured."""

import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.files.experiment import experiment_file, read_experiment
from harness.files.pages import Page, PageFiles
from harness.files.results import has_loads, read_results
from harness.measure.adaptive import more_loads
from harness.measure.goal import Goal
from harness.measure.plan import Load, draw_flips, pages_of, plan_run
from harness.measure.series import Measured, judge_together
from harness.mirror.paths import list_files
from harness.system.untrusted import ANY_SIZE, UnreadableFileError, open_untrusted

LARGEST_HASHED = 2**26
"""Bytes. A file over this goes into the digest by its size alone."""


@dataclass(frozen=True)
class Earlier:
    """What has been measured of an experiment: its id, its valid loads in order, and what kept the machine `busy`."""

    experiment_id: str | None
    valid: Sequence[Measured]
    busy: Sequence[str] = ()


EMPTY = Earlier(None, ())
"""What a new experiment begins with."""


def read_earlier(clientdir: Path, delaynet_ms: float, plan: Sequence[Load], settings: Mapping[str, Any]) -> Earlier:
    """Return what has been measured of the experiment at one delay, EMPTY when it never began.

    Raises InputError when it was done with other `settings` (pages, kernel, Chrome, this program, options), or cannot
    be read.
    """
    path = experiment_file(clientdir, delaynet_ms)
    if not path.exists():
        return EMPTY
    experiment = read_experiment(path)
    if experiment.id is None:
        raise InputError(f"{path}:1: an older version of this program wrote it; leave out --resume")
    for key, value in settings.items():
        earlier = experiment.settings.get(key)
        if earlier != value:
            raise InputError(f"{path}:1: --resume: {key} was {str(earlier)[:80]!r}, and is {str(value)[:80]!r} now; "
                             "leave out --resume to measure all anew")
    pages = {load.page.name: load.page for load in plan}
    loads = read_results(clientdir).loads if has_loads(clientdir) else []
    valid = [Measured(Load(pages[load.page], load.run, load.transport), record, []) for load in loads
             if load.valid and load.delaynet_ms == delaynet_ms and load.page in pages and (record := load.record)
             and record.experiment == experiment.id]
    busy = experiment.settings.get("busy")
    return Earlier(experiment.id, sorted(valid, key=lambda measured: measured.record.began_s or 0.0),
                   [*map(str, busy)] if isinstance(busy, list) else [])


def loads_to_do(plan: Sequence[Load], earlier: Earlier, goal: Goal | None, seed: int,
                warm: Collection[Page] = ()) -> list[Load]:
    """Return the loads that are missing, in the order of the plan, with a warm-up for each of their pages.

    The warm-ups are needed because the network is built anew, and its hosts have no TFO cookies yet; but not for pages
    that are `warm`, since they are loaded at another RTT before. They are also for pages of which a load no longer
    counts beside those that are left: it is measured again at the end of the first run.
    """
    done = {measured.load for measured in earlier.valid}
    begun = _begun_beyond(plan, done, seed) if goal else []
    missing = [load for load in (*plan, *begun) if load.run > 0 and load not in done]
    judged = judge_together(earlier.valid)
    if not missing and goal:
        missing = more_loads(judged, goal, seed, pages_of(plan))
    pages = {load.page for load in missing}
    if missing:
        pages |= {measured.load.page for measured in judged if measured.why_not}
    warm_ups = [load for load in plan if load.run == 0 and load.page in pages and load.page not in warm]
    return [*warm_ups, *missing]


def _begun_beyond(plan: Sequence[Load], done: Collection[Load], seed: int) -> list[Load]:
    """Return the loads of the runs that a goal had asked for beyond the plan, of pages for which these had begun."""
    pages, begun = pages_of(plan), {(load.run, load.page) for load in done}
    flips = draw_flips(pages, seed)
    return [load for run in sorted({load.run for load in done} - {load.run for load in plan})
            for load in plan_run(run, pages, (0, 1), flips) if (run, load.page) in begun]


def recording_digest(files: PageFiles) -> str:
    """Return a digest of a list of pages, its recording and their RTTs: names, sizes and contents of all files."""
    digest = hashlib.sha256()
    for base in (files.pages, files.mirror, files.fetchlog, files.rtts):
        found = [base / name for name in list_files(base)] if base.is_dir() else [base]
        for path in sorted(found, key=os.fsencode):
            with suppress(UnreadableFileError), open_untrusted(path, limit=ANY_SIZE) as file:
                size = os.fstat(file.fileno()).st_size
                digest.update(os.fsencode(path.relative_to(files.base)) + b"\0%d\0" % size)
                if size <= LARGEST_HASHED:
                    digest.update(file.read())
    return digest.hexdigest()
