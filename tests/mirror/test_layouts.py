"""The layouts that a recording offers: as it was, by registrable domain, all in one."""

import json
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.mirror.layouts import make_layout
from harness.mirror.recording import Recording, read_recording

HOSTS = ["a.one.test", "b.one.test", "cdn.test", "left.test", "never.test", "two.test", "www.one.test"]


def har(path: Path, *answers: tuple[str, str]) -> None:
    entries = [{"request": {"url": url}, "response": {"status": 200}, "serverIPAddress": address}
               for url, address in answers]
    path.write_text(json.dumps({"log": {"entries": entries}}))
    path.with_suffix("").write_text("")


def read(fetchlog: Path) -> Recording:
    (fetchlog / "Web" / "a.one.test").mkdir(parents=True)
    return read_recording(fetchlog / "Web", fetchlog)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """Two pages: cdn.test has two addresses, of which it shares one with either of two hosts."""
    har(tmp_path / "one.har", ("https://www.one.test/", "10.0.0.1"), ("https://cdn.test/a", "10.0.0.2"),
        ("https://a.one.test/", "10.0.0.2"), ("https://never.test/", ""), ("https://left.test/", "10.0.0.1"))
    har(tmp_path / "two.har", ("http://two.test/", "[2001:db8::1]"), ("https://cdn.test/b", "10.0.0.3"),
        ("https://b.one.test/", "10.0.0.3"))
    (tmp_path / "broken.har").write_text("{")
    return read(tmp_path)


def test_as_recorded(recording: Recording) -> None:
    layout, _ = make_layout("recorded", recording)
    assert layout.servers(HOSTS) == {
        "a.one.test": ["a.one.test", "b.one.test", "cdn.test"], "never.test": ["never.test"],
        "two.test": ["two.test"], "left.test": ["left.test", "www.one.test"]}
    assert recording.addresses["two.test"] == {"2001:db8::1"}


def test_by_domain_in_one_and_each_its_own(recording: Recording) -> None:
    by_domain, _ = make_layout("domain", recording)
    assert {server: len(names) for server, names in by_domain.servers(HOSTS).items()} == {
        "one.test": 3, "cdn.test": 1, "left.test": 1, "never.test": 1, "two.test": 1}
    assert make_layout("one", recording)[0].servers(HOSTS) == {"one": HOSTS}
    assert make_layout("host", recording)[0].servers(HOSTS) == {host: [host] for host in HOSTS}


def test_a_recording_without_addresses_is_refused(tmp_path: Path) -> None:
    har(tmp_path / "one.har", ("https://www.one.test/", ""), ("https://left.test/", "nowhere"))
    with pytest.raises(InputError, match="this recording does not say its servers' addresses"):
        make_layout("recorded", read(tmp_path))
