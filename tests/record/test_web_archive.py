"""Recordings in a real web archive (pywb)."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from harness.record.export.write import export
from harness.system.processes import stop
from tests.support.made_recording import TYPED, URL, make_recording

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("wayback") is None,
                                                   reason="no pywb on the PATH; see requirements/pywb.txt")]
START_S = 60.0


@contextmanager
def archive(directory: Path, file: Path) -> Iterator[str]:
    """Serve a WARC file on loopback; give the address of its collection."""
    directory.mkdir()
    for command in (["init", "made"], ["add", "made", str(file)]):
        subprocess.run(["wb-manager", *command], cwd=directory, check=True, capture_output=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(["wayback", "-b", "127.0.0.1", "-p", str(port)], cwd=directory, stdout=log,
                                   stderr=log, stdin=subprocess.DEVNULL, text=True)
    try:
        deadline_s = time.monotonic() + START_S
        while socket.socket().connect_ex(("127.0.0.1", port)):
            assert process.poll() is None, (directory / "log").read_text()
            assert time.monotonic() < deadline_s, (directory / "log").read_text()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/made"
    finally:
        stop(process)


def test_pywb_gives_every_answer_byte_for_byte(tmp_path: Path) -> None:
    export(tmp_path, "made", make_recording(tmp_path), tmp_path / "made.warc.gz")
    with archive(tmp_path / "archive", tmp_path / "made.warc.gz") as address:
        for url, (body, headers) in TYPED.items():
            answer = requests.get(f"{address}/20260301000000id_/{url}", stream=True, timeout=300,
                                  headers={"Accept-Encoding": "gzip, br"})
            assert answer.status_code == 200, url
            assert answer.raw.read(decode_content=False) == body, url
            assert answer.headers["Content-Type"] == headers["content-type"]
        moved = requests.get(f"{address}/20260301000000id_/{URL}old", allow_redirects=False, timeout=300)
        assert (moved.status_code, moved.headers["Location"].endswith("/style.css")) == (301, True)
