#!/usr/bin/env python3
"""What TCP Fast Open costs behind middleboxes that do not know it: each kind on all paths, and one on more and more.

    sudo ./experiments/middleboxes.py                                  the bundled pages at 100 ms, some 15 minutes
    sudo ./experiments/middleboxes.py --name myURLS --shares "0.02 0.1"

Runs tfo.py once without a box, once for each kind, and once for each share of paths that drop SYNs with data; prints a
table of all pages' median PLTs and draws output-figures/middleboxes.png. tfo.py keeps the results of each.

Theory: on a path that drops SYNs with data each new connection waits 1 s (RFC 6298, section 2.1) where TFO would save
an RTT, so TFO's gain is eaten up where a share RTT / (RTT + 1 s) of the paths does so: 9% at 100 ms.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.errors import ExperimentError, run_main
from harness.files.middlebox import SHARE, Box, Middlebox
from harness.files.pages import BUNDLED
from harness.files.result_names import CLIENT, FIGURES
from harness.system.options import DELAY_MS, RUNS, Decimal, OptionParser, Several, page_list_name
from harness.system.tcp import SYN_AGAIN_MS

FIGURE = "middleboxes.png"


@dataclass(frozen=True)
class Measured:
    """The cells of plot.py --export (docs/results.md) of one experiment; `box` stood on the way, if there was one."""

    box: Middlebox | None
    cells: Sequence[dict[str, Any]]

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.box) if self.box else "none"


def main() -> int:
    """Measure, print the table, draw the figure; the exit status is 0 if every load was valid."""
    how = parse_arguments()
    boxes = [None, *map(Middlebox, Box), *(Middlebox(Box.DROP_SYN_DATA, share) for share in how.shares)]
    status, measured = 0, []
    for box in boxes:
        print(f"middlebox: {box or 'none'}", flush=True)
        done = subprocess.run([sys.executable, str(ROOT / "tfo.py"), "--name", how.name, "--dir", str(how.dir),
                               "--delaynet", f"{how.delay:g}", "--testruns", str(how.testruns),
                               *(["--middlebox", str(box)] if box else [])], check=False)
        if done.returncode not in (0, 1):
            return done.returncode
        status = max(status, done.returncode)
        measured.append(Measured(box, cells_of(how.dir / CLIENT, 2 * how.delay)))
    print("\n".join(table(measured)))
    print(f"theory: TFO's gain is eaten up where {break_even(2 * how.delay):.0%} of the paths drop SYNs with data")
    draw(measured, how.dir / FIGURES / FIGURE)
    return status


def cells_of(client: Path, rtt_ms: float) -> list[dict[str, Any]]:
    """Return the cells of an experiment's results, among which those of other RTTs may be left from before.

    Raises ExperimentError when plot.py cannot read them.
    """
    with tempfile.TemporaryDirectory() as scratch:
        exported = Path(scratch) / "table.json"
        done = subprocess.run([sys.executable, str(ROOT / "plot.py"), "--clientdir", str(client),
                               "--outputdir", scratch, "--export", str(exported)],
                              stdout=subprocess.PIPE, check=False)
        if not exported.exists():
            raise ExperimentError(f"plot.py found nothing in {client} (exit status {done.returncode})")
        return [cell for cell in json.loads(exported.read_text())["cells"] if cell["rtt_ms"] == rtt_ms]


def break_even(rtt_ms: float) -> float:
    """Return the share of paths that drop SYNs with data at which TFO saves as much as it costs."""
    return rtt_ms / (rtt_ms + SYN_AGAIN_MS)


def table(measured: Sequence[Measured]) -> list[str]:
    """Return a line for each page and box: PLT without and with TFO, in s, and the improvement."""
    lines = ["page\tmiddlebox\tPLT: no TFO (s)\tPLT: TFO (s)\tImprov."]
    for page in range(len(measured[0].cells)):
        for each in measured:
            cell = each.cells[page]
            off_ms, on_ms = cell["median_off_ms"], cell["median_on_ms"]
            gain = "-" if cell["improvement_percent"] is None else f"{cell['improvement_percent']:.2f}%"
            lines.append("\t".join([cell["page"], each.name, seconds(off_ms), seconds(on_ms), gain]))
    return lines


def seconds(ms: float | None) -> str:
    """Return a time in s, "-" for none."""
    return "-" if ms is None else f"{ms / 1000:.3f}"


def draw(measured: Sequence[Measured], path: Path) -> None:
    """Draw for each page a bar without TFO, one with it, and one with it behind each box."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from harness.show.figures import save_figure  # with Matplotlib, a second to import

    pages = [cell["page"] for cell in measured[0].cells]
    bars = {"no TFO": [cell["median_off_ms"] for cell in measured[0].cells],
            "TFO": [cell["median_on_ms"] for cell in measured[0].cells]}
    bars |= {f"TFO, {each.name}": [cell["median_on_ms"] for cell in each.cells] for each in measured if each.box}
    figure = Figure(figsize=(9, 1.5 + 0.28 * len(pages) * len(bars)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    height = 0.8 / len(bars)
    for place, (name, plts_ms) in enumerate(bars.items()):
        known = [(row, ms / 1000) for row, ms in enumerate(plts_ms) if ms is not None]
        drawn = axes.barh([row + (place + 0.5) * height - 0.4 for row, _ in known], [plt_s for _, plt_s in known],
                          height=0.9 * height, label=name)
        axes.bar_label(drawn, [f"{plt_s:.1f} s  {name}" for _, plt_s in known], padding=2, fontsize=7)
    axes.set_yticks(range(len(pages)), [page.removeprefix("http") for page in pages])
    axes.invert_yaxis()
    axes.margins(x=0.2)
    axes.set_xlabel("Page load time (s), median")
    axes.set_title(f"TCP Fast Open behind middleboxes, RTT {measured[0].cells[0]['rtt']} ms")
    save_figure(figure, path)
    print(path)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--name", type=page_list_name, default=BUNDLED, help="pages to load (%(default)s)")
    parser.add_argument("--dir", type=Path, default=ROOT, help="where the pages are, and the results go (the project)")
    parser.add_argument("--delay", type=Decimal(DELAY_MS.low, 400), default=50.0, metavar="MS",
                        help="one-way delay of the servers' links; the RTT is twice that (%(default)g)")
    parser.add_argument("--testruns", type=RUNS, default=2, metavar="N",
                        help="loads of each page; the first warms up (%(default)s)")
    parser.add_argument("--shares", type=Several(SHARE), default=[0.02, 0.1, 0.3], metavar='"0.02 0.1"',
                        help="shares of the paths that drop SYNs with data (0.02 0.1 0.3)")
    return parser.parse_args()


if __name__ == "__main__":
    run_main(main)
