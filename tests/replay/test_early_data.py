"""The socket that takes early data, asked by OpenSSL's own clients."""

import socket
import subprocess
from pathlib import Path

import pytest

from harness.files.server_log import Early
from harness.replay.authority import HTTP_2, open_authority
from tests.support.recording import HOST
from tests.support.replay_process import Running, read_all
from tests.support.secure_replay import BIG


def ask(early: Running, session: Path, request: bytes, *, again: bool) -> bytes:
    """Ask by OpenSSL's own client, over HTTP/1.1: in early data of the session in that file, or first of all."""
    question = session.with_suffix(".http")
    question.write_bytes(request)
    how = ["-sess_in", str(session), "-early_data", str(question)] if again else ["-sess_out", str(session)]
    argv = ["openssl", "s_client", "-connect", f"127.0.0.1:{early.tls_port}", "-servername", HOST, "-ign_eof", *how]
    return subprocess.run(argv, input=b"" if again else request, capture_output=True, check=False).stdout


def test_a_request_in_early_data_is_answered_and_logged_as_often_as_one_likes(early: Running, tmp_path: Path) -> None:
    request = f"GET /gone HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()
    answers = [ask(early, tmp_path / "session.pem", request, again=again) for again in (False, True, True)]
    lines = early.log()[-3:]
    assert [b"sorry" in answer for answer in answers] == [True] * 3
    assert [(line.early, line.resumed, line.protocol) for line in lines] == [
        (Early.NO, False, "HTTP/1.1"), (Early.DATA, True, "HTTP/1.1"), (Early.DATA, True, "HTTP/1.1")]


def test_a_large_answer_is_whole_also_on_a_session_taken_up_again(early: Running) -> None:
    context, session = early.context("http/1.1"), None
    for resumed in (False, True):
        with early.connect(early.tls_port) as plain, \
                context.wrap_socket(plain, server_hostname=HOST, session=session) as connection:
            connection.sendall(f"GET /big HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
            assert read_all(connection).endswith(BIG)
            assert connection.session_reused == resumed
            session = connection.session
        assert [(line.resumed, line.early) for line in early.log()[-1:]] == [(resumed, Early.NO)]


def test_who_says_nothing_or_nonsense_is_an_oserror(tmp_path: Path) -> None:
    context = open_authority(tmp_path).early_context({"a.test": HTTP_2})
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(0.05)
        with pytest.raises(TimeoutError):
            context.wrap_socket(theirs, server_side=True)
        ours.sendall(b"GET / HTTP/1.1\r\n\r\n")
        theirs.settimeout(60)
        with pytest.raises(OSError):
            context.wrap_socket(theirs, server_side=True)
