"""What Chrome's debugging protocol (https://chromedevtools.github.io/devtools-protocol/) does and tells beside a load.

**Workers**: the script that fixes time and randomness, in dedicated, shared and service workers, too, which
`Page.addScriptToEvaluateOnNewDocument` does not reach. So beside chromedriver's there is a second connection to the
protocol, from a thread of its own: Chrome stops each worker before its first line (Target.setAutoAttach with
waitForDebuggerOnStart), gets the script (Runtime.evaluate) and lets it go on. Nobody waits for answers. Dedicated
workers belong to the page or worker that made them, shared and service workers to the browser.

**Initiators**: what caused each request of a page. Chrome tells it in its performance log (Network.requestWillBeSent),
for which it takes down the stack of scripts at each request. That costs time, so loads whose time is measured do
without.
"""

import contextlib
import json
import threading
import urllib.request
from collections.abc import Sequence
from typing import Any

import websocket
from selenium import webdriver

from harness.files.urls import without_fragment

TIMEOUT_S = 10.0
"""How long Chrome may take to answer, and to say that it stops workers."""
WORKERS = [{"type": kind} for kind in ("worker", "shared_worker", "service_worker")]
EVERYTHING = [{"type": kind} for kind in ("page", "iframe", "worker", "shared_worker", "service_worker")]
PROBLEMS = (OSError, ValueError, websocket.WebSocketException)


class WorkerInjector:
    """Has every worker of the Chrome at `debugger_address` (host:port) run `script` before its own, until closed."""

    def __init__(self, debugger_address: str, script: str) -> None:
        """Connect. Raises OSError, ValueError or WebSocketException when that is not possible."""
        self._script = script
        self._number = 0
        self._connection = websocket.create_connection(
            _address(debugger_address), timeout=TIMEOUT_S, suppress_origin=True,
            http_no_proxy=[debugger_address.partition(":")[0]], enable_multithread=True)
        self._connection.settimeout(None)
        self._ready = threading.Event()
        self._send("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True,
                   filter=EVERYTHING)
        threading.Thread(target=self._listen, daemon=True).start()
        if not self._ready.wait(TIMEOUT_S):
            raise TimeoutError("Chrome did not answer on its debugging port")

    def end_browser(self) -> None:
        """Have Chrome end. Raises one of PROBLEMS when it has already."""
        self._send("Browser.close")

    def close(self) -> None:
        """End the connection; Chrome goes on."""
        with contextlib.suppress(*PROBLEMS):
            self._connection.close(timeout=0)

    def _listen(self) -> None:
        with contextlib.suppress(*PROBLEMS):
            while message := self._connection.recv():
                self._take(json.loads(message))

    def _take(self, message: dict[str, Any]) -> None:
        if message.get("id") == 1:
            self._ready.set()
        if message.get("method") != "Target.attachedToTarget":
            return
        parameters = message["params"]
        session, target = parameters["sessionId"], parameters["targetInfo"]
        if {"type": target["type"]} in WORKERS and parameters["waitingForDebugger"]:
            self._send("Runtime.evaluate", session, expression=self._script)
        self._send("Target.setAutoAttach", session, autoAttach=True, waitForDebuggerOnStart=True, flatten=True,
                   filter=WORKERS)
        self._send("Runtime.runIfWaitingForDebugger", session)

    def _send(self, method: str, session: str = "", **parameters: Any) -> None:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        self._connection.send(json.dumps({**message, "sessionId": session} if session else message))


def _address(debugger_address: str) -> str:
    """Return the address of the browser's own debugging connection."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"http://{debugger_address}/json/version", timeout=TIMEOUT_S) as answer:
        return str(json.load(answer)["webSocketDebuggerUrl"])


LOG = "performance"
"""chromedriver keeps it where it is asked to (goog:loggingPrefs), and `read_initiators` reads it."""
MAY_BLOCK = {"Script": ("Medium", "High", "VeryHigh"), "Stylesheet": ("VeryHigh",), "XHR": ("VeryHigh",)}
"""By what is asked for, the priorities of what its document waits for: a script or sheet that stops the parser, a
synchronous XMLHttpRequest. Others have lower ones."""


SEEN_AT = "High"
"""The priority that an image within the window has or is raised to."""


def read_initiators(driver: webdriver.Chrome) -> list[dict[str, Any]]:
    """Return a harness.files.load_parts.Initiator of each request so far, in Chrome's order, as JSON holds it."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log(LOG)]

    def told(method: str) -> list[dict[str, Any]]:
        return [message["params"] for message in messages if message["method"] == method]

    return initiators(told("Network.requestWillBeSent"), told("Network.resourceChangedPriority"))


def initiators(requests: Sequence[dict[str, Any]], changes: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    """Return the initiator of each request; Chrome told of them and of `changes` of priority in CDP's words."""
    raised = {change["requestId"] for change in changes if change["newPriority"] == SEEN_AT}
    frames: dict[str, str] = {}
    found = []
    for request in requests:
        initiator = request["initiator"]
        # Of a script's calls the outermost is where it was entered.
        call = (initiator.get("stack", {}).get("callFrames") or [initiator])[-1]
        url, by = without_fragment(request["request"]["url"]), without_fragment(call.get("url", ""))
        frame = str(request.get("frameId", ""))
        priority = str(request["request"].get("initialPriority", ""))
        may_block = priority in MAY_BLOCK.get(str(request.get("type")), ())
        is_seen = request.get("type") == "Image" and (priority == SEEN_AT or request.get("requestId") in raised)
        found.append({
            "url": url, "type": initiator["type"], "by": by, "line": max(0, int(call.get("lineNumber", 0))),
            "column": max(0, int(call.get("columnNumber", 0))),
            "blocking": may_block and frames.get(by) == frame, "synchronous": may_block and request["type"] == "XHR",
            "priority": priority, "seen": is_seen})
        frames.setdefault(url, frame)
    return found
