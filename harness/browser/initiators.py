"""What caused each request of a page, as Chrome itself knows it: DevTools' "initiator".

Chrome tells it in its performance log (CDP, Network.requestWillBeSent), for which it takes down the stack of scripts at
each request. That costs time, so loads whose time is measured do without.
"""

import json
from collections.abc import Sequence
from typing import Any

from selenium import webdriver

from harness.files.urls import without_fragment

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
