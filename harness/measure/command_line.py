"""What is typed behind tfo.py: the settings of the experiment, and what is done with it."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from harness.bootstrap import ROOT
from harness.measure.settings import Settings, add_options, settings_of
from harness.system.options import Decimal, OptionParser

PATIENCE_S = Decimal(1, 3600, or_zero=True)


def parse_arguments(description: str, words: Sequence[str] | None = None) -> tuple[Settings, argparse.Namespace]:
    """Read tfo.py's command line, or `words` as one: the settings, and how the experiment is run.

    Ends the program with a line and exit status 2 for what makes no experiment.
    """
    parser = OptionParser(description=description)
    add_options(parser)
    parser.add_argument("--dir", type=Path, default=ROOT, help="where the pages are, and the results go (the project)")
    parser.add_argument("--new-run", metavar="WORDS", help=argparse.SUPPRESS)     # run.sh's own: the words it was given
    parser.add_argument("--on-user", metavar="COMMAND", help="load no pages, but run this on `user` while the servers "
                        "are up, such as bash; hack_dns leads to them")
    add_patience(parser)
    parser.add_argument("--resume", action="store_true", help="go on with the experiment that is in client/: measure "
                        "only what is missing of it")
    parser.add_argument("--dry-run", nargs="?", const="load", choices=["load", "check"],
                        help="measure nothing: check that all is ready, and load each page once without delay to see "
                             "whether it is fit (with =check: load nothing)")
    how = parser.parse_args(words)
    settings = settings_of(parser, how)
    how.dir = how.dir.resolve()
    how.typed = None if how.new_run is None else how.new_run.splitlines()
    return settings, how


def add_patience(parser: argparse.ArgumentParser) -> None:
    """Add --patience."""
    parser.add_argument("--patience", type=PATIENCE_S, default=30.0, metavar="SECONDS", help="how long to wait for "
                        "other programs to leave the machine alone before anything is measured (%(default)g)")
