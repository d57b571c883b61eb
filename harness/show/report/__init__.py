"""output-figures/report.html: everything that was measured, in one file that opens from disk and loads nothing.

    records.py      what stands beside a load's log      tables.py       rows that become HTML tables
    waterfall.py    the requests of two loads            improvement.py  against RTT, with intervals
    critical.py     where the time goes, and prediction  proof.py        of TFO; what was left out
    provenance.py   where and how it was measured        render.py       all of it as one HTML file
"""

from pathlib import Path

from harness.analysis.selection import Selection
from harness.errors import InputError
from harness.files.results import Results
from harness.show.report.render import render
from harness.system.atomic import write_atomically


def write_report(results: Results, selection: Selection, path: Path) -> Path:
    """Write the report to `path` in one step, making its folder, and return `path`.

    The same results give the same bytes. Raises InputError when it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, render(results, selection))
    except OSError as error:
        raise InputError(f"{path}:1: cannot be written ({error.strerror}); choose another --outputdir") from None
    return path
