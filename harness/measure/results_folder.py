"""The folder of an experiment's results: what an earlier one left there is moved aside first."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.files.result_names import CLIENT, FIGURES, RUN_LOG, RUN_OPTIONS, SERVER_LOGS
from harness.system.atomic import move, write_atomically
from harness.system.run_log import run_log

DRAWN = (".png", ".svg", ".pdf", ".html")
"""Endings of what plot.py draws; whatever else is in the figures' folder stays there."""


@contextmanager
def open_results(results_dir: Path, *, resume: bool, typed: Sequence[str] | None = None) -> Iterator[None]:
    """Move older results aside, unless `resume`; keep a copy of what is printed while this lasts.

    `typed` are the options of a new run of run.sh, which are kept for its --resume. The copy is ``client/run.log``.
    Raises InputError when it cannot be written.
    """
    client = results_dir / CLIENT
    kept = None if resume else set_aside(results_dir)
    client.mkdir(exist_ok=True)
    if typed is not None:
        write_atomically(client / RUN_OPTIONS, "".join(f"{word}\n" for word in typed))
    with run_log(client / RUN_LOG):
        if kept:
            print(f"The earlier results are now in {kept.name}/")
        yield


def set_aside(results_dir: Path) -> Path | None:
    """Move all results in `results_dir`, at any delay, into ``results-DATE/``; return that, None if there are none."""
    figures = results_dir / FIGURES
    drawn = sorted(path for path in (figures.iterdir() if figures.is_dir() else ()) if path.suffix in DRAWN)
    paths = [*(path for name in (CLIENT, SERVER_LOGS) if (path := results_dir / name).exists()), *drawn]
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
    for number in range(1000):
        path = results_dir / (f"{name}-{number}" if number else name)
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise FileExistsError(results_dir / name)
