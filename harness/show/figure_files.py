"""Figures in files that a user names: which formats there are, and how a figure is written."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import NO_FAULT_OF_OURS, InputError
from harness.system.atomic import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure  # a second to import

FORMATS: dict[str, dict[str, str | None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""Endings of figures, and what Matplotlib must be told not to write into them."""


def check_figure_name(path: Path) -> None:
    """Raise InputError when the ending of `path` is none of FORMATS."""
    if path.suffix.removeprefix(".") not in FORMATS:
        raise InputError(f"{path}: no format of figures; let it end in .{', .'.join(FORMATS)}")


def write_figure(figure: "Figure", path: Path) -> None:
    """Write the figure to `path` in one step; its ending is its format. Raises InputError where that cannot be."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix.removeprefix("."), dpi=140)
    try:
        write_atomically(path, drawn.getvalue())
    except OSError as error:
        if error.errno in NO_FAULT_OF_OURS:
            raise
        raise InputError(f"{path}: cannot be written ({error.strerror}); give another --output") from None
