"""A page on two servers, as a recording with a HAR tells of it: how far away each was, and how long it thought.

Its scripts are asked for one after the other, each over a connection of its own, several times of each kind in turn:
what a busy machine adds to some of them is not in the median of their kind.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.support.recording import MadeRecording

NEAR, FAR = "near.test", "far.test"
PAGE = f"http://{NEAR}/"
ROUNDS = 3


class Kind(NamedTuple):
    """A kind of answer: whose, and how long its server thought before."""

    host: str
    think_ms: float


KINDS = (Kind(FAR, 400), Kind(NEAR, 150), Kind(NEAR, 0))
LEAST_MS = 150
"""By so much each kind's thinking differs from the next one's, at least."""
KIND_OF = {f"http://{kind.host}/{kind.think_ms}-{number}.js": kind for number in range(ROUNDS) for kind in KINDS}
"""Of each script, by URL, in the order in which they are asked for."""


def record_thinking_servers(directory: Path, rtts_ms: Mapping[str, float]) -> Path:
    """Write the recording ("small"); `rtts_ms` by host (NEAR, FAR). The document was not thought about."""
    recording = MadeRecording(directory, "small")
    recording.add_chain(PAGE, *KIND_OF)
    for entry in recording.entries:
        kind = KIND_OF.get(entry["request"]["url"], Kind(NEAR, 0))
        entry["timings"] = {"blocked": 1, "dns": 0, "connect": rtts_ms[kind.host] + (entry is recording.entries[-1]),
                            "ssl": -1, "send": 0, "receive": 1, "wait": rtts_ms[kind.host] + kind.think_ms}
    return recording.finish(PAGE)
