"""Chrome as the browser of a visitor whose page load is written down in full.

It differs from harness.browser.start, which measures, in four things: no LD_PRELOAD shim, because with the clock
shifted no real certificate would be valid; the net-log holds every byte (harness.capture says why); the user agent does
not say "HeadlessChrome", to which many sites answer with something else; and dialogs, popups and downloads end by
themselves. That a script drives it is not hidden (navigator.webdriver stays true).
"""

import os
import subprocess
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.remote_connection import RemoteConnection

from harness.browser import FLAGS, NETWORK_PREDICTION_NEVER, Browser, inject

NOT_RECORDABLE = "CompressionDictionaryTransport,CompressionDictionaryTransportBackend"
"""Features that are switched off: a body compressed against another one is undone before the net-log sees it."""
PREFERENCES = {
    "net.network_prediction_options": NETWORK_PREDICTION_NEVER,
    "download_restrictions": 3,             # all downloads (Chrome's policy DownloadRestrictions)
    "credentials_enable_service": False,
}


def start(browser: Browser, work_dir: Path, rules: str | None = None, trusted_key: str | None = None,
          user_agent: str | None = None) -> webdriver.Chrome:
    """Start a fresh Chrome whose profile, net-log (netlog.json) and temporary files all lie in `work_dir`.

    `rules` are its --host-resolver-rules; `trusted_key` is the base64 SHA-256 of a public key (SPKI): a certificate
    chain that holds it is accepted. Pages have to be loaded by `navigate`. Raises WebDriverException if it won't start.
    """
    options = Options()
    options.binary_location = browser.binary
    options.page_load_strategy = "none"             # never wait inside chromedriver: a dialog would block it
    options.unhandled_prompt_behavior = "dismiss"
    options.add_experimental_option("prefs", PREFERENCES)
    options.add_experimental_option("excludeSwitches", ["disable-popup-blocking"])      # chromedriver adds it
    for flag in (*_flags(), f"--user-data-dir={work_dir / 'profile'}", f"--log-net-log={work_dir / 'netlog.json'}",
                 "--net-log-capture-mode=Everything", "--deny-permission-prompts", "--mute-audio"):
        options.add_argument(flag)
    for name, value in (("host-resolver-rules", rules), ("ignore-certificate-errors-spki-list", trusted_key),
                        ("user-agent", user_agent)):
        if value:
            options.add_argument(f"--{name}={value}")
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(work_dir), "TMPDIR": str(work_dir),
                   "LANG": "C.UTF-8", "TZ": "UTC"}
    driver = webdriver.Chrome(options, Service(browser.driver, env=environment, log_output=subprocess.DEVNULL))
    inject(driver)
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "deny"})
    return driver


def _flags() -> list[str]:
    """Return harness.browser.FLAGS with more features disabled: of several such flags Chrome heeds only the last."""
    return [f"{flag},{NOT_RECORDABLE}" if flag.startswith("--disable-features=") else flag for flag in FLAGS]


def visitors_user_agent(browser: Browser, work_dir: Path) -> str:
    """Return Chrome's own user agent, but for the word Headless. Starts and ends a Chrome in `work_dir`."""
    work_dir.mkdir(exist_ok=True)
    driver = start(browser, work_dir)
    try:
        own = str(driver.execute_cdp_cmd("Browser.getVersion", {})["userAgent"])
    finally:
        driver.quit()
    return own.replace("HeadlessChrome", "Chrome")


def limit_commands(driver: webdriver.Chrome, seconds: float) -> None:
    """Have no command to the driver wait longer than `seconds`: it fails with urllib3's TimeoutError instead."""
    if isinstance(driver.command_executor, RemoteConnection):      # the other type selenium names is never there
        driver.command_executor.client_config.timeout = seconds
