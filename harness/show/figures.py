"""What all figures have in common: the frame, curves and bars with their intervals, and the files they go to.

    figure, axes = framed((9, 5.4), "Title", "What stands small below")
    draw_curves(axes, {"amazon.com": [Point(20, 1.3, 0.9, 1.7), ...]}, {20: "20"})
    save_figure(figure, Path("figure.svg"))

Each is drawn once, by Matplotlib, for the file and for report.html (harness.show.section.chart_of). There it stands as
SVG: small, with text as text, and with names of its own.
"""

import io
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import quoteattr

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.errors import NO_FAULT_OF_OURS, InputError
from harness.system.atomic import written_beside

FORMATS: dict[str, dict[str, str | None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""Endings of figures, and what Matplotlib must be told not to write into them."""
DPI = 130
SAME_EACH_TIME = {"svg.hashsalt": "TFO Lab", "pdf.fonttype": 42}
"""Names inside an SVG come from this salt. A PDF holds TrueType fonts: many publishers refuse Type 3."""
TITLE_WIDTH = 98
"""Characters of a title that have room in a line."""
SMALL_WIDTH = 16.0
"""Characters of the small print that have room in an inch."""
STYLES = (("#0072b2", "o", "-"), ("#d55e00", "s", "--"), ("#009e73", "^", "-."), ("#cc79a7", "D", ":"),
          ("#000000", "v", "-"), ("#e69f00", "P", "--"), ("#56b4e9", "X", "-."))
"""Colour, marker and line of each curve. Colours after Okabe and Ito, "Color universal design" (2008), for any kind of
colour blindness; markers and lines tell the curves apart in black and white."""
BESIDE = 1.3
"""By this factor a logarithmic axis of RTTs goes on beside the smallest and the largest."""
SHIFT = 1.03
"""From curve to curve points move right by this factor, so that no curve's bars hide another's; by less where they are
so many that they would come near the next RTT."""
BAR = "bar-"
"""Begins the name (gid) of what report.js can point at: ``bar-GROUP-ROW``, its row in the table beside the figure.
Without ``-ROW`` it is all rows of that group."""
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What no XML file can hold (https://www.w3.org/TR/xml/#charsets); a URL in a log may."""
DROPPED = re.compile(r"<(metadata|style)\b.*?</\1>|(?<=>)\s+(?=<)", re.DOTALL)
"""Elements that the page does not need, and the space between elements."""
ROOT = re.compile(r'.*?<svg [^>]*(viewBox="[^"]*")[^>]*', re.DOTALL)
GROUP = re.compile(rf'<g id="(?:{BAR}([^"]*)|[^"]*)"')
"""Matplotlib names all groups, in each figure alike. In texts and attributes it escapes "<"."""


@dataclass(frozen=True)
class Point:
    """A point of a curve: `y` at `x`, and its interval, None where there is none.

    The interval need not lie around `y`: where loads failed on one side, medians know of more loads than pairs of them.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None


def framed(size: tuple[float, float], title: str, small_print: str, panels: int = 1) -> tuple[Figure, Sequence[Axes]]:
    """Return an empty figure of `size` in inches, and its panels, one above the other."""
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(textwrap.fill(title, TITLE_WIDTH), fontsize=12, parse_math=False)    # a URL may hold dollar signs
    lines = [textwrap.fill(line, round(SMALL_WIDTH * size[0]), break_long_words=False, break_on_hyphens=False)
             for line in small_print.splitlines()]
    figure.supxlabel("\n".join(lines), fontsize=7.5, color="#444444", parse_math=False)
    found = [*figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]]
    for axes in found:
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, found


def grid(axes: Axes, axis: str) -> None:
    """Draw the lines of a grid across `axis`, "x" or "y"."""
    axes.grid(axis=axis, color="#dddddd", linewidth=0.6)  # type: ignore[arg-type]


def legend_above(axes: Axes, columns: int) -> None:
    """Draw the legend between title and axes, where it hides nothing."""
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, fontsize=9, ncols=columns)


def draw_curves(axes: Axes, curves: Mapping[str, Sequence[Point]], rtts: dict[float, str]) -> None:
    """Draw curves over RTTs by their names in the legend. `rtts` are what the RTTs in ms are called.

    They are on a logarithmic axis (2 to 10 ms take as much room as 20 to 100), unless one is 0.
    """
    if min(rtts) > 0:
        axes.set_xscale("log")
        axes.set_xlim(min(rtts) / BESIDE, max(rtts) * BESIDE)
    axes.set_xticks([*rtts], labels=[name.replace(" ", "\n") for name in rtts.values()])
    axes.minorticks_off()
    grid(axes, "y")
    nearest = min((right / left for left, right in pairwise(sorted(rtts)) if left > 0), default=SHIFT)
    shift = float(min(SHIFT, nearest ** (0.5 / max(len(curves) - 1, 1))))   # all keep to half the way to the next RTT
    for place, (name, points) in enumerate(curves.items()):
        if points:
            moved = shift ** (place - (len(curves) - 1) / 2)
            _draw_curve(axes, name, [replace(point, x=point.x * moved) for point in points], place)
    for text in axes.legend(loc="best", fontsize=8, frameon=False).get_texts():
        text.set_parse_math(False)


def _draw_curve(axes: Axes, name: str, points: Sequence[Point], place: int) -> None:
    color = STYLES[place % len(STYLES)][0]
    _, marker, line = STYLES[(place + place // len(STYLES)) % len(STYLES)]      # another pair for each of 49 curves
    axes.plot([point.x for point in points], [point.y for point in points], color=color, marker=marker, markersize=5,
              linestyle=line, linewidth=1.5, label=name)
    draw_intervals(axes, points, ecolor=color, capsize=4)


def draw_intervals(axes: Axes, points: Sequence[Point], *, ecolor: str, capsize: float) -> None:
    """Draw the interval of each of `points` that has one, where it lies."""
    known = [(point.x, point.low, point.high) for point in points if point.low is not None and point.high is not None]
    if known:
        axes.errorbar([x for x, *_ in known], [(low + high) / 2 for _, low, high in known],
                      yerr=[(high - low) / 2 for _, low, high in known], fmt="none", elinewidth=1, ecolor=ecolor,
                      capsize=capsize)


def check_ending(path: Path, endings: Iterable[str]) -> None:
    """Raise InputError when `path` ends in none of `endings`, such as "png"."""
    if path.suffix[1:] not in endings:
        raise InputError(f"{path}: let it end in .{', .'.join(endings)}")


def save_figure(figure: Figure, path: Path) -> None:
    """Write `figure` to `path`, in one step and in the format of its ending (one of FORMATS), making its folder.

    The same figure gives the same bytes, since there are no dates and no random names in it. Raises InputError when it
    cannot be written.
    """
    with writing(path), written_beside(path) as beside, rc_context(SAME_EACH_TIME):
        figure.savefig(beside, dpi=DPI, metadata=FORMATS[path.suffix[1:]])


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Make the folder of `path`, and raise InputError where it, or what is done meanwhile, cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        if error.errno in NO_FAULT_OF_OURS:
            raise
        raise InputError(f"{path}:1: cannot be written ({error.strerror}); choose another place") from None


def inline_svg(figure: Figure, key: str, label: str) -> str:
    """Return the figure as an ``svg`` element. `label` is read to who cannot see it.

    Of groups only bars keep their names; what else has one (markers, hatches) is named after `key` and what it looks
    like, since a page has several figures.
    """
    drawn = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": key}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    svg = DROPPED.sub("", NOT_XML.sub("\N{REPLACEMENT CHARACTER}", drawn.getvalue()))
    svg = GROUP.sub(lambda group: f'<g data-bar="{group[1]}"' if group[1] else "<g", svg)
    return ROOT.sub(lambda root: f'<svg {root[1]} role="img" aria-label={quoteattr(label)}', svg, count=1)
