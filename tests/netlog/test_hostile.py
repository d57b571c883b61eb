"""A log whose events make no sense is read as far as it makes some: nothing ends in a traceback."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from harness.files.har import to_har
from harness.files.moments import moment_at
from harness.netlog.load import read_netlog
from harness.netlog.page import exchanges, page_log
from harness.netlog.sent import read_sent_bodies
from harness.netlog.silences import server_pieces, silences
from harness.netlog.socket_bytes import Sockets
from harness.netlog.websockets import read_websockets
from tests.support.made_netlog import numbers
from tests.support.noted import cases

MADE = [event for case in cases("corpus/netlogs/made.jsonl") for event in case["events"]]
TYPES, KINDS = numbers(MADE, 3), numbers(MADE, 1)

NONSENSE = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=9),
                        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner,
                                                                                     max_size=3), max_leaves=5)
TEXTS = st.sampled_from(["http://a.test/", "GET / HTTP/1.1\r\n", "HTTP/1.1 200 OK", "content-length: x", "QUJD",
                         "main frame", "http://[", "%ESCAPED:\u200b %ff"])
PARAMETERS = st.dictionaries(
    st.sampled_from(["url", "method", "headers", "line", "bytes", "byte_count", "net_error", "load_flags", "initiator",
                     "source_dependency", "address", "remote_address", "location", "request_type"]),
    TEXTS | st.lists(TEXTS, max_size=3) | st.fixed_dictionaries({"id": st.integers(0, 3) | TEXTS}) | NONSENSE)
EVENTS = st.lists(NONSENSE | st.fixed_dictionaries({
    "time": st.integers(0, 99).map(str) | TEXTS, "type": st.sampled_from([*TYPES.values()]), "phase": st.integers(0, 2),
    "params": PARAMETERS | NONSENSE,
    "source": st.fixed_dictionaries({"id": st.integers(0, 3), "type": st.sampled_from([*KINDS.values()])})}),
    max_size=30)


@settings(max_examples=100, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(EVENTS)
def test_events_that_make_no_sense_are_passed_over(events: list[Any]) -> None:
    constants = {"logEventTypes": TYPES, "logSourceType": KINDS, "netError": {"ERR_ABORTED": -3}}
    sockets = Sockets()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "netlog.json"
        log.write_text(json.dumps({"constants": constants, "events": events}))
        netlog = read_netlog(log, sockets, keep_bodies=True)
    page_log(netlog, 0)
    json.dumps([*map(to_har, exchanges(netlog, 0))])
    silences(netlog, 0, netlog.end_tick)
    server_pieces(netlog)
    read_sent_bodies(sockets.found.values())
    read_websockets(sockets.found.values(), moment_at)
