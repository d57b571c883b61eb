"""HEAD: pages ask so how large something is, before they ask for its parts."""

from pathlib import Path

from tests.support.https_recording import HttpsRecording
from tests.support.replay_process import HOST, free_port
from tests.support.secure_replay import Client, Secure, serving

TOLD = (("Content-Type", "application/x-map"), ("Content-Length", "12345"), ("Accept-Ranges", "bytes"))


def test_how_large_it_was_is_told_where_only_head_was_asked(tmp_path: Path) -> None:
    recorded = HttpsRecording(tmp_path)
    for scheme, version in (("http", "http/1.1"), ("https", "h2")):
        recorded.add(f"{scheme}://{HOST}/", b"page", version=version)
        recorded.add(f"{scheme}://{HOST}/map", None, TOLD, method="HEAD", version=version)
        recorded.add(f"{scheme}://{HOST}/unknown", None, TOLD[:1], method="HEAD", version=version)
    port = free_port()
    with serving(recorded.finish(f"https://{HOST}/"), "--http", "1.1", tls_port=port) as server:
        response, body = server.get("/map", "HEAD")
        assert (response.getheader("Content-Length"), response.getheader("Content-Type")) == ("12345", TOLD[0][1])
        assert server.get("/unknown", "HEAD")[0].getheader("Content-Length") is None
    with serving(recorded.directory, "--http", "recorded", tls_port=port) as server, \
            Secure(server, port, tmp_path).connect("h2") as connection:
        client = Client(connection)
        assert client.get("/map", "HEAD")[0][b"content-length"] == b"12345"
        assert client.get("/", "HEAD")[0][b"content-length"] == b"4"
        assert body == b""
