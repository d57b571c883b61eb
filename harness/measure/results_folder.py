"""The folder of an experiment's results: what an earlier one at the same delays left there is moved aside first."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from harness.analysis.load_tables import refresh_load_tables
from harness.errors import InputError
from harness.files.experiment import experiment_file
from harness.files.result_names import CLIENT, FIGURES, RUN_LOG, RUN_OPTIONS, SERVER_LOGS
from harness.files.results import parse_cell_directory
from harness.files.server_log import directory_name
from harness.system.atomic import move, write_atomically
from harness.system.run_log import run_log

DRAWN = (".png", ".svg", ".pdf", ".html")
"""Endings of what plot.py draws; whatever else is in the figures' folder stays there."""


@contextmanager
def open_results(results_dir: Path, delays_ms: Sequence[float], *, resume: bool,
                 typed: Sequence[str] | None = None) -> Iterator[None]:
    """Move older results of these delays aside, unless `resume`; keep a copy of what is printed while this lasts.

    With `typed`, the options of a new run of run.sh, results of all delays are moved, and the options are kept for
    its --resume. The copy is ``client/run.log``. Raises InputError when it cannot be written.
    """
    client = results_dir / CLIENT
    kept = None
    if not resume:
        kept = set_aside(results_dir, delays_ms) if typed is None else set_all_aside(results_dir)
    client.mkdir(exist_ok=True)
    if typed is not None:
        write_atomically(client / RUN_OPTIONS, "".join(f"{word}\n" for word in typed))
    with run_log(client / RUN_LOG):
        if kept:
            print(f"The earlier results are now in {kept.name}/")
        yield


def set_aside(results_dir: Path, delays_ms: Sequence[float]) -> Path | None:
    """Move all results of some delays (one way, ms) into ``results-DATE/``; return that folder, None without any.

    Results of other delays stay where they are. Each folder's tables of loads are made anew: until the next experiment
    is done, or if it never begins, they would tell of loads that are not there.
    """
    kept = _move(results_dir, _results(results_dir, delays_ms))
    if kept:
        for client in (results_dir / CLIENT, kept / CLIENT):
            with suppress(InputError, OSError):     # files that cannot be read keep nothing from being measured
                refresh_load_tables(client)
    return kept


def set_all_aside(results_dir: Path) -> Path | None:
    """Move all results in `results_dir`, at any delay, into ``results-DATE/``; return that, None if there are none."""
    figures = results_dir / FIGURES
    drawn = [path for path in (figures.iterdir() if figures.is_dir() else ()) if path.suffix in DRAWN]
    return _move(results_dir, [*(path for name in (CLIENT, SERVER_LOGS) if (path := results_dir / name).exists()),
                               *sorted(drawn)])


def _results(results_dir: Path, delays_ms: Sequence[float]) -> list[Path]:
    client, server_logs = results_dir / CLIENT, results_dir / SERVER_LOGS
    cells = [path for path in (client.iterdir() if client.is_dir() else ())
             if (cell := parse_cell_directory(path.name)) and cell[0] in delays_ms]
    others = [path for delay_ms in delays_ms for path in (
        experiment_file(client, delay_ms), *(server_logs / directory_name(delay_ms, tfo) for tfo in (0, 1)))]
    return cells + [path for path in others if path.exists()]


def _move(results_dir: Path, paths: Sequence[Path]) -> Path | None:
    """Move these paths of `results_dir` into ``results-DATE/`` in it; return that, None without any."""
    if not paths:
        return None
    kept = _new_directory(results_dir)
    for path in paths:
        target = kept / path.relative_to(results_dir)
        target.parent.mkdir(exist_ok=True)
        move(path, target)
    return kept


def _new_directory(results_dir: Path) -> Path:
    """Make a folder that was not there; like run.sh's, it is named by the time."""
    name = f"results-{time.strftime('%Y%m%d-%H%M%S')}"
    paths = (results_dir / (f"{name}-{number}" if number else name) for number in count())
    path = next(path for path in paths if not os.path.lexists(path))
    path.mkdir()
    return path
