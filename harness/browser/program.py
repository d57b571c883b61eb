"""Chrome as a program, before it is started: where it and its driver are, what it writes, and the clock it sees.

It imports no Selenium, so that programs that start no Chrome of their own begin sooner.
"""

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.bootstrap import ROOT
from harness.errors import MachineError
from harness.system.privileges import browsing_user

SHIM_SOURCE = ROOT / "tfo-test" / "chrome_shim.c"
SHIM = ROOT / "tfo-test" / "chrome_shim.so"

CLOCK_SHIFT_DAYS = 100
"""Chrome ignores its HSTS preload list when its build is over 70 days old by the wall clock."""
CLOCK_SHIFT_MS = CLOCK_SHIFT_DAYS * 86_400_000
NET_LOG, DRIVER_OUTPUT = "netlog.json", "chromedriver.log"
"""What Chrome and its driver write into their directory."""

VERSION_TIMEOUT_S = 20.0
"""How long `chrome --version` may take: the first start after boot reads all of it from the disk."""
DOWNLOAD_TIMEOUT_S = 300.0
ASK_SELENIUM = """import sys
from selenium.webdriver.common.selenium_manager import SeleniumManager
print(SeleniumManager().binary_paths(["--browser", "chrome", "--browser-path", sys.argv[1], "--skip-driver-in-path"])
      ["driver_path"])"""
"""Asked by Chrome's user, who has to start what it downloads: what root gets lies in /root. It would take any driver on
PATH, whatever its version."""
MAJOR = re.compile(r"(\d+)\.\d+\.\d+")
"""Of Chrome's version, as 156.0.8078.108, the number that its driver's must agree in."""
SNAPS = "/snap/"
LONGEST_SCRIPT = 2048
BINARIES = (
    "/usr/lib/chromium/chromium",  # Debian: the real binary, since the wrapper in /usr/bin adds flags of its own
    "/opt/google/chrome/chrome",
    "/opt/google/chrome-beta/chrome",
    "/usr/lib64/chromium-browser/chromium-browser",
)


@dataclass(frozen=True)
class Browser:
    """A Chrome binary and the chromedriver that drives it."""

    binary: str
    driver: str


def date_now() -> str:
    """Return what a server's Date says now (RFC 9110, section 6.6.1), by the clock that Chrome sees.

    By any other clock each answer would be so many days old for Chrome, and none would last.
    """
    return _date(int(time.time() + CLOCK_SHIFT_MS / 1000))


@lru_cache(maxsize=1)
def _date(unix_s: int) -> str:
    return formatdate(unix_s, usegmt=True)


def find_browser() -> Browser:
    """Find Chrome and its driver: PATH first, then the `chromedriver_binary` package, then Selenium Manager.

    A driver of another major version than Chrome is passed over. Raises MachineError, with what to install, when
    there is none of Chrome's.
    """
    wanted = os.environ.get("TFO_LAB_CHROME")
    binary = next((path for path in ([wanted] if wanted else BINARIES) if Path(path).exists()), None)
    if binary is None:
        raise MachineError(f"{wanted or BINARIES[0]}: no Chrome there; on Debian: sudo apt-get install chromium "
                         "chromium-driver; on Ubuntu, whose chromium is a snap that cannot enter a network namespace: "
                         "install google-chrome-stable")
    return Browser(binary, _find_driver(binary))


def version_of(program: str) -> str:
    """Return what Chrome or its driver says of its version, "" when it does not say."""
    return " ".join(_said([program, "--version"], VERSION_TIMEOUT_S).split())


def major_of(program: str) -> str:
    """Return the major version of Chrome or its driver, "" when it does not say."""
    found = MAJOR.search(version_of(program))
    return found[1] if found else ""


def _said(command: Sequence[str], timeout_s: float) -> str:
    """Return what a program prints that runs as Chrome's user, in that user's home; "" when it does not run."""
    try:
        user = browsing_user()
        environment = {**os.environ, "SE_AVOID_STATS": "true"}      # Selenium Manager would report to its makers
        as_user: dict[str, Any] = {}
        if os.geteuid() == 0:
            with suppress(KeyError):        # a container may know the number only
                environment["HOME"] = pwd.getpwuid(user.uid).pw_dir
            as_user = {"user": user.uid, "group": user.gid, "extra_groups": []}
        done: subprocess.CompletedProcess[str] = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=timeout_s,
            check=False, **as_user)
        return done.stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _find_driver(binary: str) -> str:
    """Return the first driver that is of the major version of `binary`, or that one of the two does not say."""
    chromes, others = major_of(binary), []
    for driver in _drivers(binary):
        drivers = major_of(driver)
        if drivers == chromes or not (drivers and chromes):
            return driver
        others.append(f"{driver} is of version {drivers}")
    if not others:
        raise MachineError("no chromedriver found; on Debian: sudo apt-get install chromium-driver; elsewhere: "
                         ".venv/bin/pip install -r requirements/chromedriver.txt")
    raise MachineError(f"no chromedriver of version {chromes}, which {binary} is of ({', '.join(others)}); on Debian: "
                     "sudo apt-get install chromium chromium-driver; elsewhere: .venv/bin/pip install "
                     f"'chromedriver-binary=={chromes}.*'")


def _drivers(binary: str) -> Iterator[str]:
    """Give the drivers there are: on PATH, in the package chromedriver_binary, and Selenium Manager's."""
    for folder in os.get_exec_path():
        on_path = shutil.which("chromedriver", path=folder)
        if on_path and not _is_of_a_snap(Path(on_path)):
            yield on_path
    if importlib.util.find_spec("chromedriver_binary"):
        import chromedriver_binary  # an optional extra: its installation downloads the driver

        yield str(chromedriver_binary.chromedriver_filename)
    found = _said([sys.executable, "-c", ASK_SELENIUM, binary], DOWNLOAD_TIMEOUT_S).strip()
    if found and not _is_of_a_snap(Path(found)):
        yield found


def _is_of_a_snap(program: Path) -> bool:
    """Say whether a program belongs to a snap, as Ubuntu's /usr/bin/chromedriver does, a script that calls it."""
    try:
        with program.open("rb") as file:
            return SNAPS in f"{program.resolve()}/" or SNAPS.encode() in file.read(LONGEST_SCRIPT)
    except OSError:
        return False


def require_shim() -> Path:
    """Return the compiled shim. Raises MachineError when it is missing or older than its source."""
    if not SHIM.exists() or SHIM.stat().st_mtime < SHIM_SOURCE.stat().st_mtime:
        raise MachineError(f"{SHIM}: not compiled yet; run: sudo {ROOT}/scripts/setup.sh")
    return SHIM
