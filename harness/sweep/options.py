"""The options of sweep.py, and which sweep they ask for."""

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.files.pages import read_pages
from harness.measure.command_line import PATIENCE_S
from harness.sweep.folder import SweepFolder
from harness.sweep.plan import Versions, as_json, check_options, grid, own_versions
from harness.system.atomic import write_atomically
from harness.system.options import Decimal, OptionParser, page_list_name
from harness.system.untrusted import UnreadableFileError, read_untrusted, read_untrusted_text

_HOST = re.compile(r"(?!-)[A-Za-z0-9@._-]+", re.ASCII)


@dataclass(frozen=True)
class SweepSettings:
    """What a sweep is to measure: a list of pages under combinations of tfo.py's options, by programs of `versions`.

    `sample_of` says what the list is a sample of, "" when nobody has said it. `where` it is measured: on hosts on which
    the project lies in the same folder as here, or at the address of a scheduler; empty: on this machine. How long, in
    s, a worker waits for another experiment's end, and for other programs: `wait_s`, `patience_s`.
    """

    pages: Path
    combinations: tuple[tuple[str, ...], ...]
    versions: Versions
    sample_of: str = ""
    where: str | tuple[str, ...] = ()
    wait_s: float = 3600.0
    patience_s: float = 30.0


ASKED = "sweep.json"
"""The file of a sweep's folder that holds it."""
LATER = ("sample_of", "where", "wait_s", "patience_s")
"""What may be another when a sweep goes on."""


def parse_arguments(description: str, words: Sequence[str] | None = None) -> argparse.Namespace:
    """Read sweep.py's command line, or `words` as one; what it does not know itself is `passed_on` to tfo.py."""
    options, passed_on = _make_parser(description).parse_known_args(words)
    options.begun = options.resume or options.report or options.status
    if options.begun:
        given = [*passed_on, *(f"--{name}" for name in ("grid", "name") if getattr(options, name))]
        if given:
            raise InputError(f"sweep.py: {' '.join(given)}: not for a sweep that was begun without; leave it out, or "
                             "begin another one with --pages and --name")
    options.dir, options.passed_on = options.dir.resolve(), passed_on
    return options


def remember(asked: SweepSettings, folder: SweepFolder) -> None:
    """Write down what a sweep was asked for, for those that go on with it."""
    write_atomically(folder.path / ASKED, as_json(asked))


def begun_before(folder: SweepFolder) -> SweepSettings:
    """Return what was asked for when the sweep in `folder` was begun. Raises InputError."""
    path = folder.path / ASKED
    try:
        return msgspec.json.decode(read_untrusted(path), type=SweepSettings, dec_hook=lambda kind, value: kind(value))
    except UnreadableFileError:
        raise InputError(f"{folder.path}: no sweep there, or another user's; begin one with ./sweep.py --pages LIST"
                         ) from None
    except ValueError as error:
        raise InputError(f"{path}:1: not what a sweep was asked for ({error}); begin it again with ./sweep.py "
                         "--pages LIST") from None


def _address_of_scheduler(text: str) -> str:
    if not text.startswith(("tcp://", "tls://")):
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is no address; write tls://host:8786")
    return text


def _host_names(text: str) -> tuple[str, ...]:
    """Return hosts for ssh(1). Raises argparse.ArgumentTypeError for what it would not take for a host's name."""
    hosts = tuple(host.strip() for host in text.split(","))
    if not all(_HOST.fullmatch(host) for host in hosts):
        raise argparse.ArgumentTypeError(f"{text[:80]!r} names no hosts; write lab1,lab2")
    return hosts


def _make_parser(description: str) -> argparse.ArgumentParser:
    parser = OptionParser(prog="sweep.py", description=description)
    later: dict[str, Any] = {"default": argparse.SUPPRESS}      # what is not typed is as it was when a sweep was begun
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--pages", type=Path, metavar="LIST", help="measure the pages of this list, one URL a line")
    what.add_argument("--resume", type=page_list_name, metavar="NAME", help="go on with sweep-NAME as it was begun, "
                      "and where, unless --scheduler, --hosts or --here is given, too")
    what.add_argument("--status", type=page_list_name, metavar="NAME", help="how far it is")
    what.add_argument("--report", type=page_list_name, metavar="NAME", help="make tables and report of what is there")
    parser.add_argument("--name", type=page_list_name, help="results go to sweep-NAME/ (the list's name)")
    parser.add_argument("--dir", type=Path, default=ROOT, help="where sweep-NAME/ is (the project)")
    parser.add_argument("--grid", type=Path, metavar="FILE", help="TOML: several values of tfo.py's options, all "
                        'combinations of which are measured, such as http = ["1.0", "1.1"]')
    parser.add_argument("--sample-of", **later, metavar="TEXT", help="what the list is a sample of, for the report: "
                        "'Tranco, 2026-11-01, ranks 1 to 500'")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--hosts", type=_host_names, dest="where", **later, metavar="HOST,HOST,...",
                       help="measure there: by SSH, each with a worker, the first with Dask's scheduler, too")
    where.add_argument("--scheduler", type=_address_of_scheduler, dest="where", **later, metavar="ADDRESS",
                       help="measure on the workers of a cluster of Dask's that runs already: tls://host:8786")
    where.add_argument("--here", action="store_const", const=(), dest="where", **later,
                       help="measure on this machine (the default)")
    parser.add_argument("--again", action="store_true", help="try again what failed before")
    parser.add_argument("--wait", type=Decimal(0.1, 10**6, or_zero=True), dest="wait_s", **later, metavar="SECONDS",
                        help="how long a worker waits for another experiment to end (3600)")
    parser.add_argument("--patience", type=PATIENCE_S, dest="patience_s", **later, metavar="SECONDS",
                        help="how long it waits for other programs to leave its machine alone (30)")
    return parser


def asked_for(options: argparse.Namespace) -> tuple[SweepSettings, SweepFolder]:
    """Return what is to be measured, and the folder of its results. Raises InputError."""
    own, later = own_versions(), {name: value for name, value in vars(options).items() if name in LATER}
    if options.begun:
        folder = SweepFolder(options.dir, options.begun)
        asked = replace(begun_before(folder), **later)
        if options.resume and asked.versions != own:
            raise InputError(f"{folder.path}: was measured by {asked.versions}, and here is {own}; measure all anew "
                             f"with --pages {asked.pages}, or only --report {folder.name}")
        return asked, folder
    read_pages(options.pages)
    name = options.name or options.pages.stem
    try:
        page_list_name(name)
    except argparse.ArgumentTypeError as error:
        raise InputError(f"{options.pages}: {error}; give a --name") from None
    combinations = grid(_toml(options.grid), str(options.grid)) if options.grid else [()]
    different = dict.fromkeys(check_options([*options.passed_on, *combination])
                              for combination in combinations)      # a grid's "1.1" and 1.1 are one
    return SweepSettings(options.pages.resolve(), tuple(different), own, **later), SweepFolder(options.dir, name)


def _toml(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return dict(tomllib.loads(read_untrusted_text(path)))
    except UnreadableFileError as error:
        raise InputError(f"{error}; give a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}:1: not TOML ({error})") from None
