"""The script that fixes time and randomness, in dedicated, shared and service workers, too.

`Page.addScriptToEvaluateOnNewDocument` reaches documents only. So beside chromedriver's there is a second connection
to Chrome's debugging protocol (https://chromedevtools.github.io/devtools-protocol/), from a thread of its own: Chrome
stops each worker before its first line (Target.setAutoAttach with waitForDebuggerOnStart), gets the script
(Runtime.evaluate) and lets it go on. Nobody waits for answers.

Dedicated workers belong to the page or worker that made them, shared and service workers to the browser.
"""

import contextlib
import json
import threading
import urllib.request
from typing import Any

import websocket

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
