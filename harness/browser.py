"""Chrome: where it is, how it is started, and what is injected into its pages."""

import importlib.util
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.selenium_manager import SeleniumManager

from harness.bootstrap import ROOT
from harness.errors import InputError

SHIM_SOURCE = ROOT / "tfo-test" / "chrome_shim.c"
SHIM = ROOT / "tfo-test" / "chrome_shim.so"
DETERMINISTIC_SCRIPT = ROOT / "harness" / "deterministic.js"

CLOCK_SHIFT_DAYS = 100
"""Chrome ignores its HSTS preload list when its build is over 70 days old by the wall clock."""

NETWORK_PREDICTION_NEVER = 2
"""Chrome's preference net.network_prediction_options. With prediction the page's first connection begins some ms before
the page's clock, and a second one is opened beside it: handshakes vanish that TFO could have saved."""

BINARIES = (
    "/usr/lib/chromium/chromium",  # Debian: the real binary, since the wrapper in /usr/bin adds flags of its own
    "/opt/google/chrome/chrome",
    "/opt/google/chrome-beta/chrome",
    "/usr/lib64/chromium-browser/chromium-browser",
)

FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--window-size=1280,1024",
    # Chrome takes the last of several --disable-features, so there is one.
    "--disable-features=HttpsUpgrades,HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable,"
    "OptimizationHints,MediaRouter,Translate,IsolateOrigins,site-per-process",
    # One renderer for all frames, as in 2013: less noise on two cores, and the injected script reaches every frame.
    "--disable-site-isolation-trials",
)


@dataclass(frozen=True)
class Browser:
    """A Chrome binary and the chromedriver that drives it."""

    binary: str
    driver: str


def find_browser() -> Browser:
    """Find Chrome and its driver: PATH first, then the `chromedriver_binary` package, then Selenium Manager.

    Raises InputError, with what to install, when there is none.
    """
    wanted = os.environ.get("TFO_LAB_CHROME")
    binary = next((path for path in ([wanted] if wanted else BINARIES) if Path(path).exists()), None)
    if binary is None:
        raise InputError(f"{wanted or BINARIES[0]}: no Chrome there; on Debian: sudo apt-get install chromium "
                         "chromium-driver; on Ubuntu, whose chromium is a snap that cannot enter a network namespace: "
                         "install google-chrome-stable")
    return Browser(binary, _find_driver(binary))


def _find_driver(binary: str) -> str:
    on_path = shutil.which("chromedriver")
    if on_path:
        return on_path
    if importlib.util.find_spec("chromedriver_binary"):
        import chromedriver_binary  # an optional extra: its installation downloads the driver

        return str(chromedriver_binary.chromedriver_filename)
    try:
        return str(SeleniumManager().binary_paths(["--browser", "chrome", "--browser-path", binary])["driver_path"])
    except WebDriverException:
        raise InputError("no chromedriver found; on Debian: sudo apt-get install chromium-driver; elsewhere: "
                         ".venv/bin/pip install -r requirements-chromedriver.txt") from None


def require_shim() -> Path:
    """Return the compiled shim. Raises InputError when it is missing or older than its source."""
    if not SHIM.exists() or SHIM.stat().st_mtime < SHIM_SOURCE.stat().st_mtime:
        raise InputError(f"{SHIM}: not compiled yet; run: sudo {ROOT}/scripts/setup.sh")
    return SHIM


def start(browser: Browser, work_dir: Path, shim: Path | None, rules: str | None,
          *, predict: bool = False, trusted_key: str | None = None, key_shares: int | None = None) -> webdriver.Chrome:
    """Start a fresh headless Chrome whose profile, net-log and temporary files all lie in `work_dir`.

    `rules` are its --host-resolver-rules; with `predict` it opens connections ahead of need as a user's Chrome does.
    `trusted_key` is the fingerprint of the one certificate authority it trusts beside its own (harness.authority),
    `key_shares` where its table of key exchange groups is, to be replaced (harness.client_hello).
    Raises selenium's WebDriverException when it does not start.
    """
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(work_dir), "TMPDIR": str(work_dir),
                   "LANG": "C.UTF-8", "TZ": "UTC"}
    if shim:
        environment |= {"LD_PRELOAD": str(shim), "TFO_LAB_CLOCK_DAYS": str(CLOCK_SHIFT_DAYS)}
        if key_shares is not None:
            environment["TFO_LAB_KEY_SHARES"] = str(key_shares)
    options = Options()
    options.binary_location = browser.binary
    # As for a visitor, and as when recording: popups are blocked, and dialogs do not stay.
    options.add_experimental_option("excludeSwitches", ["disable-popup-blocking"])    # chromedriver adds it
    options.unhandled_prompt_behavior = "dismiss"
    if not predict:
        options.add_experimental_option("prefs", {"net.network_prediction_options": NETWORK_PREDICTION_NEVER})
    for flag in (*FLAGS, f"--user-data-dir={work_dir / 'profile'}", f"--log-net-log={work_dir / 'netlog.json'}"):
        options.add_argument(flag)
    if rules:
        options.add_argument(f"--host-resolver-rules={rules}")
    if trusted_key:
        options.add_argument(f"--ignore-certificate-errors-spki-list={trusted_key}")
    service = Service(browser.driver, env=environment, log_output=subprocess.DEVNULL)
    driver = webdriver.Chrome(options=options, service=service)
    inject(driver)
    return driver


@cache
def deterministic_script() -> str:
    """Return the script that fixes time and randomness."""
    return DETERMINISTIC_SCRIPT.read_text(encoding="utf-8")


def inject(driver: webdriver.Chrome) -> None:
    """Have every document run the script that fixes time and randomness, before any script of its own."""
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": deterministic_script()})
