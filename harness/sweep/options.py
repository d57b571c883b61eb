"""The options of sweep.py, and which sweep they ask for."""

import argparse
import re
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.files.pages import read_pages
from harness.measure.about import ShowVersion
from harness.sweep.folder import SweepFolder, sweeps
from harness.sweep.plan import Versions, check_options, grid, own_versions
from harness.system.options import DELAY_MS, Decimal, OptionParser, Several, Whole, page_list_name
from harness.system.untrusted import UnreadableFileError, read_untrusted_text

DELAYS = "10 50 100"
"""One way, in ms, as run.sh's."""
_HOST = re.compile(r"(?!-)[A-Za-z0-9@._-]+", re.ASCII)
LATEST = True
"""--status and --stop without a name mean the sweep that was begun last."""


@dataclass(frozen=True)
class SweepSettings:
    """What a sweep is to measure: a list of pages, one-way delays in ms, combinations of tfo.py's options.

    `versions` are those of the programs that measure it. `sample_of` says what the list is a sample of, "" when nobody
    has said it. It is measured on the workers of `scheduler`, or on `hosts`, where the project lies in `remote`; with
    neither, on this machine.
    """

    pages: Path
    delays: tuple[float, ...]
    combinations: tuple[tuple[str, ...], ...]
    versions: Versions
    sample_of: str = ""
    scheduler: str = ""
    hosts: tuple[str, ...] = ()
    remote: str = str(ROOT)

    @property
    def where(self) -> str:
        """Where it is measured, in words."""
        return self.scheduler or ", ".join(self.hosts) or "this machine"

    def to_json(self) -> dict[str, Any]:
        """Return it as it stands in sweep.json."""
        return {**asdict(self), "pages": str(self.pages)}


def parse_arguments(description: str) -> argparse.Namespace:
    """Read sweep.py's command line; options that it does not know itself are `passed_on` to tfo.py."""
    options, options_of_tfo = make_parser(description).parse_known_args()
    options.passed_on = check_options(options_of_tfo)
    options.dir = options.dir.resolve()
    given = [*options.passed_on, *(f"--{name}" for name in ("delays", "grid", "name") if getattr(options, name))]
    if given and (options.resume or options.report):
        raise InputError(f"sweep.py: {' '.join(given)}: not for a sweep that was begun without; leave it out, or begin "
                         "another one with --pages and --name")
    return options


def address_of_scheduler(text: str) -> str:
    """Return the address of --scheduler. Raises argparse.ArgumentTypeError when it is none."""
    if not text.startswith(("tcp://", "tls://")):
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is no address; write tls://host:8786")
    return text


def host_names(text: str) -> tuple[str, ...]:
    """Return the hosts of --hosts, for ssh(1).

    Raises argparse.ArgumentTypeError for what ssh would not take for a host's name.
    """
    hosts = tuple(host.strip() for host in text.split(","))
    if not all(_HOST.fullmatch(host) for host in hosts):
        raise argparse.ArgumentTypeError(f"{text[:80]!r} names no hosts; write lab1,lab2")
    return hosts


def _check_as_begun(options: argparse.Namespace) -> None:
    """Raise InputError when a sweep that was begun is to go on, or be shown, otherwise than it was begun."""
    if not (options.resume or options.report):
        return
    given = [*options.passed_on, *(f"--{name}" for name in ("delays", "grid", "name") if getattr(options, name))]
    if given:
        raise InputError(f"sweep.py: {' '.join(given)}: not for a sweep that was begun without; leave it out, or begin "
                         "another one with --pages and --name")


def make_parser(description: str) -> argparse.ArgumentParser:
    """Return the parser of sweep.py's own options."""
    parser = OptionParser(prog="sweep.py", description=description)
    parser.add_argument("--version", action=ShowVersion)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--pages", type=Path, metavar="LIST", help="measure the pages of this list, one URL a line")
    what.add_argument("--resume", type=page_list_name, metavar="NAME", help="go on with sweep-NAME as it was begun, "
                      "and where, unless --scheduler, --hosts or --here is given, too")
    what.add_argument("--status", nargs="?", type=page_list_name, const=LATEST, metavar="NAME", help="how far it is")
    what.add_argument("--stop", nargs="?", type=page_list_name, const=LATEST, metavar="NAME",
                      help="end it; --resume goes on")
    what.add_argument("--report", type=page_list_name, metavar="NAME", help="make tables and report of what is there")
    parser.add_argument("--name", type=page_list_name, help="results go to sweep-NAME/ (the list's name)")
    parser.add_argument("--dir", type=Path, default=ROOT, help="where sweep-NAME/ is (the project)")
    parser.add_argument("--delays", type=Several(DELAY_MS), metavar="MS", help=f"one-way delays in ms ({DELAYS!r}); "
                        "the RTT is twice that")
    parser.add_argument("--grid", type=Path, metavar="FILE", help="TOML: several values of tfo.py's options, all "
                        'combinations of which are measured, such as http = ["1.0", "1.1"]')
    parser.add_argument("--sample-of", default="", metavar="TEXT", help="what the list is a sample of, for the report: "
                        "'Tranco, 2026-11-01, ranks 1 to 500'")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--hosts", type=host_names, default=(), metavar="HOST,HOST,...",
                       help="measure there: by SSH, each with a worker, the first with Dask's scheduler, too")
    parser.add_argument("--remote", metavar="FOLDER", help="where the project lies on --hosts (as here)")
    where.add_argument("--scheduler", type=address_of_scheduler, metavar="ADDRESS", help="measure on the "
                       "workers of a cluster of Dask's that runs already: tls://host:8786")
    where.add_argument("--here", action="store_true", help="measure on this machine (the default)")
    parser.add_argument("--again", action="store_true", help="try again what failed before")
    parser.add_argument("--dashboard", type=Whole(0, 65535), default=0, help="port of Dask's dashboard on this machine "
                        "(any)")
    parser.add_argument("--wait", type=Decimal(0.1, 10**6, or_zero=True), default=3600.0, metavar="SECONDS",
                        help="how long a worker waits for another experiment to end (%(default)g)")
    parser.add_argument("--patience", type=Decimal(0.1, 3600, or_zero=True), default=30.0, metavar="SECONDS",
                        help="how long it waits for other programs to leave its machine alone (%(default)g)")
    return parser


def asked_for(options: argparse.Namespace) -> tuple[SweepSettings, SweepFolder]:
    """Return what is to be measured, and the folder of its results. Raises InputError."""
    if options.report or options.resume:
        folder = SweepFolder(options.dir, options.report or options.resume)
        asked = replace(asked_before(folder), **_where_given(options))
        if options.resume and asked.versions != own_versions():
            raise InputError(f"{folder.path}: was measured by {asked.versions}, and here is {own_versions()}; measure "
                             f"all anew with --pages {asked.pages}, or only --report {folder.name}")
        return asked, folder
    pages = options.pages if options.pages.is_absolute() or _is_there(options.pages) else ROOT / options.pages
    read_pages(pages)
    combinations = grid(_toml(options.grid), str(options.grid)) if options.grid else [()]
    delays = tuple(options.delays or map(float, DELAYS.split()))
    checked = [check_options([*options.passed_on, *combination], delays) for combination in combinations]
    name = options.name or pages.stem
    try:
        page_list_name(name)
    except argparse.ArgumentTypeError as error:
        raise InputError(f"{pages}: {error}; give a --name") from None
    different = tuple(dict.fromkeys(checked))           # a grid's "1.1" and 1.1 are one
    asked = SweepSettings(pages.resolve(), delays, different, own_versions())
    return replace(asked, **_where_given(options)), SweepFolder(options.dir, name)


def _is_there(path: Path) -> bool:
    """Tell whether there is something of that name; a name that is too long for a file is none."""
    try:
        return path.exists()
    except OSError:
        return False


def _where_given(options: argparse.Namespace) -> dict[str, Any]:
    """Return those fields of SweepSettings that may change when a sweep goes on, as far as the options say them."""
    given = {name: value for name in ("sample_of", "remote") if (value := getattr(options, name))}
    if options.scheduler or options.hosts or options.here:
        given |= {"scheduler": options.scheduler or "", "hosts": options.hosts}
    return given


def asked_before(folder: SweepFolder) -> SweepSettings:
    """Return what the sweep in `folder` was to measure when it was last begun. Raises InputError."""
    found = folder.read("sweep.json")
    if not found:
        raise InputError(f"{folder.path}: no sweep there; begin one with ./sweep.py --pages LIST")
    try:
        asked = msgspec.convert(found, SweepSettings, dec_hook=lambda kind, text: kind(text))
        for options in asked.combinations:
            check_options(options, asked.delays)
        if asked.scheduler:
            address_of_scheduler(asked.scheduler)
        if asked.hosts:
            host_names(",".join(asked.hosts))
    except (msgspec.ValidationError, TypeError, argparse.ArgumentTypeError) as error:
        raise InputError(f"{folder.path / 'sweep.json'}:1: not what a sweep was asked for ({error}); begin it again "
                         "with ./sweep.py --pages LIST") from None
    return asked


def named(options: argparse.Namespace, name: str | bool) -> SweepFolder:
    """Return the sweep that --status or --stop means. Raises InputError when there is none."""
    names = sweeps(options.dir)
    found = names[-1] if name is LATEST and names else name
    if found not in names or not isinstance(found, str):
        raise InputError(f"{options.dir}: no such sweep there; those there are: {', '.join(names) or 'none'}")
    return SweepFolder(options.dir, found)


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
