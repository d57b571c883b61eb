"""What is predicted of a row, and its table, from made loads."""

from itertools import pairwise
from pathlib import Path

from harness.analysis.selection import Selection
from harness.show.breakdown import STYLES
from harness.show.improvement import OF_LOAD_EVENT, prediction_section
from harness.show.section import section_lines
from tests.support.client_folder import selected
from tests.support.made_har import PAGE, chain


def measured(clientdir: Path) -> Selection:
    """Write loads of a chain of 3 hosts: run r without TFO is r ms slower, with TFO r x 2 ms; run 0 is the warm-up."""
    for run in range(4):
        for tfo in (0, 1):
            load = chain(3, connect=0 if tfo else 100)
            load.plt_ms += run * (1 + tfo) if run else 5000
            load.write(clientdir, run=run, tfo=tfo)
    return selected(clientdir)


def test_the_table(tmp_path: Path) -> None:
    """By another metric it says which PLT it means: the other tables then have another one, under the same head."""
    lines = list(section_lines(prediction_section(measured(tmp_path))))
    assert lines[1:3] == [PAGE, "\t100\t0.626\t3\t0.326\t0.328\t-0.6%"]
    assert lines[-1].startswith("Off by 0.6% on average, 0.6% at most, over 1 cells")
    by_last = list(section_lines(prediction_section(selected(tmp_path, "last"))))
    assert (OF_LOAD_EVENT in lines, OF_LOAD_EVENT in by_last, by_last[:3]) == (False, True, lines[:3])
    chain(5).write(tmp_path, run=2)
    assert "\t3 to 5\t" in list(section_lines(prediction_section(selected(tmp_path))))[2]


def test_the_parts_of_a_bar_can_be_told_apart_without_colour() -> None:
    """Neighbours in a stack differ in lightness by 20 of 100 (CIE L*) or in hatching."""
    shown = [style for kind, style in STYLES.items() if kind != "queue"]
    for style, following in pairwise(shown):
        assert abs(lightness(style.face) - lightness(following.face)) > 20 or style.hatch != following.hatch


def lightness(colour: str) -> float:
    """CIE 1976 L* of an sRGB colour, https://www.w3.org/TR/WCAG22/#dfn-relative-luminance for its luminance."""
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return float(116 * luminance ** (1 / 3) - 16)
