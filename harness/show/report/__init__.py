"""output-figures/report.html: everything that was measured, in one file that opens from disk and loads nothing.

    render.py       its sections, as one HTML file       proof.py        of TFO; what was left out
    provenance.py   where and how it was measured

The other sections stand in harness.show, each with its figure; harness.show.section says how to make one.
"""

from pathlib import Path

from harness.analysis.selection import Selection
from harness.errors import InputError
from harness.show.report.render import render
from harness.system.atomic import write_atomically


def write_report(selection: Selection, path: Path) -> Path:
    """Write the report to `path` in one step, making its folder, and return `path`.

    The same results give the same bytes. Raises InputError when it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, render(selection))
    except OSError as error:
        raise InputError(f"{path}:1: cannot be written ({error.strerror}); choose another --outputdir") from None
    return path
