"""A replay over TLS for tests: what is recorded, and a client that speaks HTTP/2."""

import contextlib
import gzip
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    InformationalResponseReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)

from tests.support.recording import HOST, MadeRecording
from tests.support.replay_process import Running

BIG = bytes(range(256)) * 20_000
"""5 MB."""
MANY = 100
LONG = "abc " * 12_000 + "end"
"""Of a header that fills three frames of HTTP/2, also by the Huffman code."""
AT_ONE_ADDRESS = "".join(f"{host} 127.0.0.1 -\n" for host in (HOST, "b.test", "under_score.test", "old.test"))
"""All of its hosts."""
TEXT = (("Content-Type", "text/plain"),)


def record(directory: Path) -> None:
    """Write the recording of two hosts, over HTTP/2 and HTTP/1: ``secure_replay.jsonl``, and large bodies."""
    recorded = MadeRecording(directory)
    recorded.add("/", gzip.compress(b"<html>front"), (
        ("Content-Type", "text/html; charset=utf-8"), ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"),
        ("Server", "x"), ("Strict-Transport-Security", "max-age=9"), ("Alt-Svc", 'h3=":443"'), ("Connection", "close"),
        ("Transfer-Encoding", "chunked"), ("Content-Length", "7"), ("Content-Security-Policy", "script-src 'none'"),
        ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")))
    recorded.add("/big", BIG, TEXT)
    recorded.add("/long-head", "it", (*TEXT, ("X-Long", LONG)))
    recorded.add("/middle", BIG[:100_000], TEXT)
    for number in range(MANY):
        recorded.add(f"/many/{number}", f"{number} " * 1000, TEXT)
    recorded.add_lines("support/secure_replay.jsonl")
    recorded.finish(f"https://{HOST}/")


@dataclass
class Answer:
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    ended: int = -1
    """In which order it ended, from 0; -1: it was reset."""

    @property
    def status(self) -> int:
        return int(dict(self.headers)[b":status"])


class Client:
    """Speaks HTTP/2 with h2's own client. Flow control stays at the protocol's default: windows of 65535 bytes."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self.socket = connection
        self.h2 = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        self.h2.initiate_connection()
        self.answers: dict[int, Answer] = {}
        self.open: set[int] = set()
        self.records: list[int] = []
        """Bytes of the records of TLS that came: recv() gives what one holds."""
        self.hints: list[Any] = []
        """Headers of all interim heads (103)."""

    def ask(self, path: str, method: str = "GET", *headers: tuple[str, str], host: str = HOST) -> int:
        stream, left = self.h2.get_next_available_stream_id(), int(dict(headers).get("content-length", 0))
        asked = [(":method", method), (":scheme", "https"), (":authority", host), (":path", path), *headers]
        self.h2.send_headers(stream, asked, end_stream=not left)
        self.answers[stream] = Answer()
        self.open.add(stream)
        while left:
            size = min(left, self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if size:
                left -= size
                self.h2.send_data(stream, bytes(size), end_stream=not left)
            else:
                self.turn()
        return stream

    def finish(self) -> None:
        while self.open:
            self.turn()

    def turn(self) -> None:
        self.socket.sendall(self.h2.data_to_send())
        data = self.socket.recv(65536)
        assert data, "the server closed the connection"
        self.records.append(len(data))
        for event in self.h2.receive_data(data):
            assert not isinstance(event, ConnectionTerminated), event
            if isinstance(event, InformationalResponseReceived):
                self.hints += event.headers
            elif isinstance(event, ResponseReceived):
                self.answers[event.stream_id].headers = [(bytes(name), bytes(value)) for name, value in event.headers]
            elif isinstance(event, DataReceived):
                self.answers[event.stream_id].body += event.data
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded):
                self.answers[event.stream_id].ended = len(self.answers) - len(self.open)
                self.open.discard(event.stream_id)
            elif isinstance(event, StreamReset):
                self.open.discard(event.stream_id)

    def get(self, path: str, method: str = "GET", *headers: tuple[str, str]) -> Answer:
        answer = self.answers[self.ask(path, method, *headers)]
        self.finish()
        return answer


@contextlib.contextmanager
def speaking_h2(server: Running, name: str = HOST) -> Iterator[Client]:
    """Give a client that has a connection to the server."""
    with server.secure("h2", name=name) as connection:
        yield Client(connection)
