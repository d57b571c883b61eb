"""What layouts of servers (tfo.py --layout) make of the same pages: connections, handshakes, improvement."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.analysis.compare import Side
from harness.analysis.row import Row
from harness.analysis.setups import differing_settings
from harness.files.result_names import CLIENT


def layout_rows(sides: Sequence[Side]) -> list[Row]:
    """Return a row for each page and RTT and each of `sides`, which are folders of results: page by page.

    Its name is the layout's.
    """
    names = side_names(sides)
    urls = {page: url for side in sides for page, url in side.results.urls.items()}
    rows = {row: None for side in sides for row in side.rows}
    return [Row(side.results, side.selection, page, rtt_ms, urls[page], name) for page, rtt_ms in rows
            for side, name in zip(sides, names, strict=True) if (page, rtt_ms) in side.rows]


def side_names(sides: Sequence[Side]) -> list[str]:
    """Return the name of each folder's layout, "host", "domain" ...; with the folder's own where two have the same."""
    choices = [" and ".join(sorted({experiment.layout.partition(":")[0] for experiment in side.results.experiments}))
               or "host" for side in sides]
    taken = Counter(choices)
    return [choice if taken[choice] == 1 else f"{choice} ({folder})"
            for choice, folder in zip(choices, _folders(sides), strict=True)]


def other_differences(sides: Sequence[Side]) -> Iterator[str]:
    """Say what differs between the folders beside their layouts: then not all that one sees is the layouts' doing."""
    folders = _folders(sides)
    for side, folder in zip(sides[1:], folders[1:], strict=True):
        for line in differing_settings(sides[0].results, side.results):
            if not line.startswith("layout: "):
                yield f"{folders[0]} | {folder}: {line}"


def _folders(sides: Sequence[Side]) -> list[str]:
    """Return a name for each folder of results; a client/ goes by that of the folder it is in."""
    found = [side.results.clientdir.resolve() for side in sides]
    return own_names([folder.parent if folder.name == CLIENT else folder for folder in found])


def own_names(folders: Sequence[Path]) -> list[str]:
    """Return a name for each folder that no other one has: its own, with its parent's if need be, or its whole path.

    Rows and bars are told apart by it, and nearly every folder of results is called client/.
    """
    paths = [folder.resolve() for folder in folders]
    for parts in (1, 2):
        names = ["/".join(path.parts[-parts:]) for path in paths]
        if len(set(names)) == len(set(paths)):
            return names
    return [str(path) for path in paths]
