"""Chrome: how it is started and ended, and what is injected into its pages."""

import contextlib
import math
import os
import re
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from harness.bootstrap import ROOT
from harness.browser.binary import ConnectionLimit
from harness.browser.devtools import LOG, PROBLEMS, WorkerInjector
from harness.browser.page import first_line, wait_until
from harness.browser.program import CLOCK_SHIFT_DAYS, DRIVER_OUTPUT, NET_LOG, Browser, major_of
from harness.files.transport import Transport
from harness.system.processes import bound_to_us, die_with_parent, is_running

DETERMINISTIC_SCRIPTS = [ROOT / "harness" / "browser" / name for name in ("deterministic.js", "chance.js", "keys.js")]
"""In this order, each knows the names of those before it."""

NETWORK_PREDICTION_NEVER = 2
"""Chrome's preference net.network_prediction_options. With prediction the page's first connection begins some ms before
the page's clock, and a second one is opened beside it: handshakes vanish that TFO could have saved. The preference
governs the page's own hints (rel=preconnect), too, which Chrome leaves alone then."""

FLAGS = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    # Chrome's own question who is logged in must not reach a recorded accounts.google.com.
    "--gaia-url=https://gaia.invalid/",
    "--disable-field-trial-config",
    "--window-size=1280,1024",
    # Chrome takes the last of several --disable-features, so there is one. The WebUIOmnibox ones are web pages that it
    # loads for its address bar in a renderer of their own, beside the page: 40% of the processor time of its start.
    "--disable-features=HttpsUpgrades,HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable,"
    "OptimizationHints,MediaRouter,Translate,IsolateOrigins,site-per-process,"
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup",
    # One renderer for all frames, as in 2013: less noise on two cores, and the injected script reaches every frame.
    "--disable-site-isolation-trials",
)
EARLY_DATA = "EnableTLS13EarlyData"
"""The feature of Chrome that sends early data where a ticket allows it; off by default."""
NO_ECH = {"ssl.ech_enabled": False}
"""Of Chrome's local state: no Encrypted ClientHello, of which Chrome else sends a mock of 200 bytes, so that a request
still fits into the SYN."""
NOT_RECORDABLE = "CompressionDictionaryTransport,CompressionDictionaryTransportBackend"
"""Features that are off while recording: a body compressed against another is undone before the net-log sees it."""
NETWORK_PROCESS_ENDED = b"Network service crashed"
"""What Chrome writes into its log when it has to start another network process."""
LONGEST_OUTPUT_BYTES = 1 << 16
DRIVER_READY_S, LOOK_S = 1.0, 0.002
"""How long chromedriver may take to be ready before Selenium looks whether it runs at all; and between two looks."""
LAST_WORDS = re.compile(r"FATAL:[^]\n]*\] (.*)|(No usable sandbox!.*|failed to execvp:\n.*|error while loading .*)")
"""Of a Chrome that could not start (zygote_host_impl_linux.cc, other fatal errors; chromedriver's launch_posix.cc)."""
LONGEST_WORDS = 300
START_PREFERENCES = {"session.restore_on_startup": 4, "session.startup_urls": ["about:blank"]}
"""Start with these pages (4). Debian's Chromium loads its home page else, a search engine's, while it starts."""
UNATTENDED_PREFERENCES = {"download_restrictions": 3, "credentials_enable_service": False}
"""No downloads at all (Chrome's policy DownloadRestrictions), and no question whether to keep a password."""


@dataclass(frozen=True)
class ChromeSettings:
    """How Chrome is started. Its profile, net-log (netlog.json) and temporary files all lie in `work_dir`.

    `resolver_rules` are its --host-resolver-rules. `shim` is preloaded (tfo-test/chrome_shim.c), but not for
    recording, since with the clock shifted no real certificate would be valid. With `predict` it opens connections
    ahead of need as a user's Chrome does. `trusted_key` is the fingerprint of the one certificate authority it trusts
    beside its own (harness.replay.authority). With the origins `quic_origins` ("host:port") it speaks HTTP/3, and opens
    TCP connections to them for WebSockets only; without any it does not know QUIC. `key_shares` is where its table of
    key exchange groups is, to be replaced (harness.browser.binary), `connection_limit` how many connections it
    opens to a host instead of its own six.

    With `capture_bodies` the net-log holds every byte (harness.netlog.transactions says why). `user_agent` replaces
    Chrome's own. When `unattended`, nobody is there to answer: permissions and downloads are refused, sounds are muted,
    and no command waits for the page's load event, since a dialog would hold it up. With `initiators` Chrome tells what
    caused each request (harness.browser.devtools). `over` is how connections begin in a load that follows another one
    (harness.browser.warm_pair), None in others. With `loopback_tfo` the shim uses TFO towards loopback addresses, too.
    """

    work_dir: Path
    resolver_rules: str | None = None
    shim: Path | None = None
    predict: bool = False
    trusted_key: str | None = None
    quic_origins: tuple[str, ...] = ()
    key_shares: int | None = None
    connection_limit: ConnectionLimit | None = None
    capture_bodies: bool = False
    user_agent: str | None = None
    unattended: bool = False
    initiators: bool = False
    loopback_tfo: bool = False
    over: Transport | None = None

    @property
    def net_log(self) -> Path:
        """Where Chrome writes its net-log."""
        return self.work_dir / NET_LOG

    @property
    def driver_output(self) -> Path:
        """Where chromedriver's words go, and Chrome's."""
        return self.work_dir / DRIVER_OUTPUT


def start(browser: Browser, settings: ChromeSettings) -> webdriver.Chrome:
    """Start a fresh headless Chrome. Raises selenium's WebDriverException when it does not start."""
    options = _options(_bound_to_driver(browser.binary, settings.work_dir), settings)
    _ask_no_proxy_for_the_driver()
    with settings.driver_output.open("wb") as output:
        service = _Driver(browser.driver, env=_environment(settings), log_output=output,
                          service_args=["--enable-chrome-logs"], popen_kw={"preexec_fn": die_with_parent})
        try:
            driver = webdriver.Chrome(options=options, service=service)
        except WebDriverException as error:
            raise WebDriverException(f"{first_line(error)}{_own_words(settings)}") from None
    # Every document runs the script before any of its own; and so do workers.
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": deterministic_script()})
    _inject_into_workers(driver)
    if settings.unattended:
        driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "deny"})
    return driver


class _Driver(Service):
    """chromedriver, which is ready about 20 ms after its start: Selenium looks after 10 ms, then after 60 more."""

    def is_connectable(self) -> bool:
        """Tell whether it answers; wait for that for a while, as long as it runs."""
        if self.process is None or self.process.poll() is not None:
            return False
        return wait_until(super().is_connectable, time.monotonic() + DRIVER_READY_S, LOOK_S)


def ending(driver: webdriver.Chrome, patience_s: float = 10.0) -> Callable[[], bool]:
    """Tell Chrome to end, which finishes its net-log. Return what tells whether it has, or should have by now.

    Told past chromedriver, which looks every 50 ms only whether it has ended. Raises nothing.
    """
    deadline_s, pid = time.monotonic() + patience_s, driver.capabilities["goog:processID"]
    with contextlib.suppress(*PROBLEMS):
        driver.worker_injector.end_browser()  # type: ignore[attr-defined]
    return lambda: not is_running(pid) or time.monotonic() > deadline_s


def kill(driver: webdriver.Chrome) -> None:
    """End chromedriver, and with it Chrome, whatever state they are in. Raises nothing."""
    driver.worker_injector.close()  # type: ignore[attr-defined]
    if driver.service.process is not None:
        driver.service.process.kill()
        driver.service.process.wait()


def end(driver: webdriver.Chrome, patience_s: float = 10.0) -> None:
    """End Chrome, which finishes its net-log, and chromedriver, whatever state they are in. Raises nothing."""
    wait_until(ending(driver, patience_s), math.inf, LOOK_S)
    kill(driver)


def replaced_network_process(settings: ChromeSettings) -> bool:
    """Tell whether Chrome said that its network process had ended, so that it started another in its place.

    Source of its words: content/browser/network_service_instance_impl.cc, of Chromium 156. The new one's net-log knows
    nothing of the old one's requests. Of a long output the last 64 KiB are read.
    """
    with contextlib.suppress(OSError), settings.driver_output.open("rb") as output:
        output.seek(-min(LONGEST_OUTPUT_BYTES, output.seek(0, os.SEEK_END)), os.SEEK_END)
        return NETWORK_PROCESS_ENDED in output.read(LONGEST_OUTPUT_BYTES)
    return False


def _ask_no_proxy_for_the_driver() -> None:
    """Have Selenium talk to chromedriver, which is on this host, past a proxy that the environment names."""
    others = os.environ.get("no_proxy", os.environ.get("NO_PROXY", ""))
    os.environ["no_proxy"] = f"localhost,127.0.0.1,{others}"


def _own_words(settings: ChromeSettings) -> str:
    """Return what Chrome said before it ended, if that tells why, as the end of a sentence."""
    with contextlib.suppress(OSError), settings.driver_output.open(errors="replace") as output:
        found = LAST_WORDS.search(output.read(LONGEST_OUTPUT_BYTES))
        return f" It said: {' '.join((found[1] or found[2]).split())[:LONGEST_WORDS]}" if found else ""
    return ""


def _bound_to_driver(binary: str, work_dir: Path) -> str:
    """Return a program that is `binary`, but is killed when chromedriver, its parent, ends before it."""
    program = work_dir / "chrome"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(bound_to_us([binary]))} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def _environment(settings: ChromeSettings) -> dict[str, str]:
    """Return the environment that Chrome starts with: little of ours, and what the shim is to change."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(settings.work_dir),
                   "TMPDIR": str(settings.work_dir), "LANG": "C.UTF-8", "TZ": "UTC"}
    if settings.shim:
        environment |= {"LD_PRELOAD": str(settings.shim), "TFO_LAB_CLOCK_DAYS": str(CLOCK_SHIFT_DAYS)}
        if settings.key_shares is not None:
            environment["TFO_LAB_KEY_SHARES"] = str(settings.key_shares)
        if settings.over is Transport.TFO_EARLY:
            environment["TFO_LAB_JOIN_EARLY_DATA"] = "1"
        if settings.loopback_tfo:
            environment["TFO_LAB_LOOPBACK"] = "1"
        if settings.connection_limit is not None:
            environment["TFO_LAB_SOCKET_LIMITS"] = str(settings.connection_limit.place)
            environment["TFO_LAB_CONNECTIONS_PER_HOST"] = str(settings.connection_limit.per_host)
    return environment


def _options(binary: str, settings: ChromeSettings) -> Options:
    """Return chromedriver's options, Chrome's command line among them."""
    options = Options()
    options.binary_location = binary
    # As for a visitor, when loading and when recording: popups are blocked, and dialogs do not stay.
    options.add_experimental_option("excludeSwitches", ["disable-popup-blocking"])    # chromedriver adds it
    options.unhandled_prompt_behavior = "dismiss"
    if settings.initiators:
        options.set_capability("goog:loggingPrefs", {LOG: "ALL"})
    if settings.unattended:
        options.page_load_strategy = "none"
    options.add_experimental_option("prefs", {
        **START_PREFERENCES,
        **({} if settings.predict else {"net.network_prediction_options": NETWORK_PREDICTION_NEVER}),
        **(UNATTENDED_PREFERENCES if settings.unattended else {})})
    if settings.over is not None:
        options.add_experimental_option("localState", NO_ECH)
    for argument in _arguments(settings):
        options.add_argument(argument)
    return options


def _arguments(settings: ChromeSettings) -> list[str]:
    """Return Chrome's command line. Of several `--disable-features` Chrome would take the last, so there is one."""
    arguments = [*FLAGS, f"--user-data-dir={settings.work_dir / 'profile'}", f"--log-net-log={settings.net_log}"]
    if settings.capture_bodies:
        arguments = [f"{flag},{NOT_RECORDABLE}" if flag.startswith("--disable-features=") else flag
                     for flag in arguments]
        arguments.append("--net-log-capture-mode=Everything")
    if settings.over is not None and settings.over.early:
        arguments.append(f"--enable-features={EARLY_DATA}")
    if settings.quic_origins:
        arguments.append(f"--origin-to-force-quic-on={','.join(settings.quic_origins)}")
    else:
        arguments.append("--disable-quic")
    if settings.unattended:
        arguments += ["--deny-permission-prompts", "--mute-audio"]
    for name, value in (("host-resolver-rules", settings.resolver_rules), ("user-agent", settings.user_agent),
                        ("ignore-certificate-errors-spki-list", settings.trusted_key)):
        if value:
            arguments.append(f"--{name}={value}")
    return arguments


def visitors_user_agent(browser: Browser) -> str:
    """Return the User-Agent of a Chrome with a window; without one it would say HeadlessChrome.

    On Linux only the major version in it differs from Chrome to Chrome (https://www.chromium.org/updates/ua-reduction).
    Raises WebDriverException when Chrome does not say its version.
    """
    version = major_of(browser.binary)
    if not version:
        raise WebDriverException(f"{browser.binary} --version: no version in what it says")
    chrome = f"Chrome/{version}.0.0.0"
    return f"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) {chrome} Safari/537.36"


@cache
def deterministic_script() -> str:
    """Return the script that fixes time and randomness, whose names no page sees."""
    parts = "".join(script.read_text(encoding="utf-8") for script in DETERMINISTIC_SCRIPTS)
    return f"(() => {{\n{parts}}})();\n"


def _inject_into_workers(driver: webdriver.Chrome) -> None:
    """Have every worker run it, too. Raises WebDriverException when Chrome cannot be asked to."""
    address = driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
    try:
        driver.worker_injector = WorkerInjector(address, deterministic_script())  # type: ignore[attr-defined]
    except PROBLEMS as error:
        raise WebDriverException(f"its debugging port {address} does not answer: {error}") from None
