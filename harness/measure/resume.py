"""What is to be measured at each RTT of an experiment, one after the other in one network.

Of an experiment that was interrupted or partly failed what is there counts, and the rest is measured.
"""

import ast
import hashlib
import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from harness.bootstrap import ROOT
from harness.errors import InputError, many
from harness.files.experiment import experiment_file, read_experiment
from harness.files.pages import Page, PageFiles
from harness.files.results import has_loads, read_results
from harness.measure.evidence import Load
from harness.measure.series import Measured, Series, plan_loads, plan_run
from harness.measure.settings import Settings
from harness.mirror.paths import list_files
from harness.network.star import LinkSpeeds
from harness.system.untrusted import ANY_SIZE, UnreadableFileError, open_untrusted

LARGEST_HASHED = 2**26
"""Bytes. A file over this goes into the digest by its size alone."""

ROOMS = ("system", "files", "mirror", "network", "browser", "netlog", "analysis", "replay", "measure")
"""Those of harness/ that an experiment imports; tests/measure/test_resume.py sees to it that there are no others."""
PARTS = ("tfo.py", "tfo-test/*", "harness/bootstrap.py", "harness/errors.py", *(f"harness/{room}/*" for room in ROOMS))
_one_parser = threading.Lock()
"""CPython 3.11 counts the depth of all threads' syntax trees together, and fails when two threads build one at once
(https://github.com/python/cpython/issues/106905); the tasks of a sweep's worker are threads."""
LOAD_S = 7
"""What a load of a page like the paper's takes, in s."""


@dataclass(frozen=True)
class Stage:
    """One RTT of an experiment: its links, what the experiment's file says of what was chosen, and the loads to do.

    Of an experiment that is resumed: its id, the valid loads that are `done`, in order, and what kept the machine
    `busy` before. Warm-ups are never done: a network that is built anew has no TFO cookies yet.
    """

    speeds: LinkSpeeds
    known: Mapping[str, Any]
    to_do: Sequence[Load]
    experiment_id: str | None = None
    done: Sequence[Measured] = ()
    busy: Sequence[str] = ()

    def says_it_is_done(self) -> bool:
        """Tell whether nothing is left to measure, and print so."""
        if not self.to_do:
            print(f"{self.speeds.rtt_ms:g} ms: all {len(self.done)} measured loads are there", flush=True)
        return not self.to_do


def stages_of(pages: Sequence[Page], settings: Settings, links: Sequence[LinkSpeeds],
              known: Sequence[Mapping[str, Any]], clientdir: Path | None = None) -> list[Stage]:
    """Return what is to be measured over each of `links`, of which the experiments' files say what is `known`.

    All pages are loaded, run by run, and more for a goal. Run 0 warms up, once in the network: its TFO cookies stay
    when the delay changes. What is in `clientdir` already is not measured again. Raises InputError when that was
    measured with other settings.
    """
    plan = plan_loads(pages, settings)
    stages: list[Stage] = []
    for speeds, said in zip(links, known, strict=True):
        stage = Stage(speeds, said, plan)
        if clientdir:
            stage = resumed(stage, clientdir)
        missing = missing_of(stage, pages, settings)
        is_warm = any(earlier.to_do for earlier in stages)
        warm_ups = [load for load in plan if load.run == 0 and missing and not is_warm]
        stages.append(replace(stage, to_do=[*warm_ups, *missing]))
    return stages


def resumed(stage: Stage, clientdir: Path) -> Stage:
    """Return a stage, of which the whole plan is to be done, with what has been measured of it; as it is if none has.

    Raises InputError when it was done with other settings (pages, kernel, Chrome, this program, options), or cannot be
    read.
    """
    path = experiment_file(clientdir, stage.speeds.delay_net_ms)
    if not path.exists():
        return stage
    experiment = read_experiment(path)
    for key, value in stage.known.items():
        earlier = experiment.settings.get(key)
        if earlier != value:
            raise InputError(f"{path}:1: --resume: {key} was {str(earlier)[:80]!r}, and is {str(value)[:80]!r} now; "
                             "leave out --resume to measure all anew")
    pages = {load.page.name: load.page for load in stage.to_do}
    loads = read_results(clientdir).loads if has_loads(clientdir) else []
    done = [Measured(Load(pages[load.page], load.run, load.transport), record, []) for load in loads
            if load.valid and load.run > 0 and load.delaynet_ms == stage.speeds.delay_net_ms and load.page in pages
            and (record := load.record) and record.experiment == experiment.id]
    return replace(stage, experiment_id=experiment.id, busy=experiment.busy,
                   done=sorted(done, key=lambda measured: measured.record.began_s or 0.0))


def missing_of(stage: Stage, pages: Sequence[Page], settings: Settings) -> list[Load]:
    """Return the loads that count and are missing of a stage, of which the whole plan is to be done, in its order.

    Of the runs that a goal had asked for beyond the plan, those of the pages for which they had begun are missing, too.
    """
    plan, done = stage.to_do, {measured.load for measured in stage.done}
    begun = {(load.run, load.page) for load in done}
    beyond = sorted({run for run, _ in begun} - {load.run for load in plan}) if settings.until_ci is not None else ()
    further = [load for run in beyond for load in plan_run(run, pages, (0, 1), settings.seed)
               if (run, load.page) in begun]
    return [load for load in (*plan, *further) if load.run > 0 and load not in done] \
        or Series(plan, settings, pages, stage.done).more()


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


@cache
def program_digest() -> str:
    """Return the digest in hexadecimal; two programs that measure in the same way have the same."""
    digest = hashlib.sha256()
    with _one_parser:
        for path, meaning in sorted(_sources()):
            digest.update(f"{path.relative_to(ROOT)}\0{meaning}\0".encode(errors="surrogatepass"))
    return digest.hexdigest()[:16]


def _sources() -> Iterator[tuple[Path, str]]:
    """Give each source that an experiment uses, and what it does: Python as its syntax tree."""
    for path in (path for part in PARTS for path in ROOT.glob(part)):
        if path.suffix == ".py":
            yield path, ast.dump(_WithoutTexts().visit(ast.parse(path.read_text(encoding="utf-8"))))
        elif path.suffix in {".c", ".js"}:
            yield path, path.read_text(encoding="utf-8")


class _WithoutTexts(ast.NodeTransformer):
    """Takes out of a syntax tree the texts that are statements: docstrings, and those below a constant."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node


def in_words(stages: Sequence[Stage], pages: Sequence[Page], settings: Settings) -> str:
    """Return how many loads are left, and how long pages like the paper's take."""
    more = 0 if settings.until_ci is None else max(0, len(pages) * 2 * (settings.max_runs - settings.testruns + 1))
    left = sum(len(stage.to_do) + (more if stage.to_do else 0) for stage in stages)
    minutes = math.ceil(left * LOAD_S * (1 + settings.warm_pairs) / 60)
    sides = " and ".join(each.words for each in settings.transports) if settings.warm_pairs else f"--tfo {settings.tfo}"
    return f"{many(len(pages), 'page')}, {many(len(stages), 'delay')}, {sides} = " \
        f"{'at most ' if more else ''}{left} page loads; about {many(minutes, 'minute')} for pages like the paper's"
