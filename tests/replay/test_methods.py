"""Requests of any method get what was recorded, over HTTP/1 as over HTTP/2: scripts may send whichever they like."""

from pathlib import Path

import pytest

from tests.support.https_recording import HttpsRecording
from tests.support.replay_process import HOST, free_port
from tests.support.secure_replay import Client, Secure, last, serving

LISTED = b"<d:multistatus/>"
XML = (("Content-Type", "application/xml"),)


@pytest.mark.parametrize("method", ["PROPFIND", "REPORT", "SEARCH", "M-SEARCH", "OPTIONS"])
def test_methods_of_webdav(tmp_path: Path, method: str) -> None:
    """Over HTTP/1 they got 501, which counted as what was recorded: Nextcloud's pages came without their files."""
    recorded = HttpsRecording(tmp_path)
    for scheme, version in (("http", "http/1.1"), ("https", "h2")):
        recorded.add(f"{scheme}://{HOST}/", b"page", version=version)
        recorded.add(f"{scheme}://{HOST}/dav", LISTED, XML, status=207, method=method, version=version)
    port = free_port()
    with serving(recorded.finish(f"https://{HOST}/"), "--http", "recorded", tls_port=port) as server:
        response, body = server.get("/dav", method)
        assert (response.status, body) == (207, LISTED)
        by_http_1 = last(server)[0]
        with Secure(server, port, tmp_path).connect("h2") as connection:
            assert Client(connection).get("/dav", method)[1] == LISTED
        assert (by_http_1.method, by_http_1.status, by_http_1.found) == (method, 207, "status")
        assert by_http_1.answer != "-"
        assert server.get("/unknown", method)[0].status == 404
        assert last(server)[0].found == "missing"
