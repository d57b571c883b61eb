"""The local certificate authority: its key is kept safe, used again, never replaced; what it issues is valid."""

import os
import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509

from harness.errors import InputError
from harness.replay.authority import open_authority
from harness.system.privileges import User
from tests.support.ordinary import acting_as

NOBODY = User("nobody", 65534, 65534)


def test_the_key_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        open_authority(tmp_path / "new" / "authority")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new" / "authority").iterdir()}
    assert modes == {"ca-key.pem": 0o600, "ca.pem": 0o644}


def test_all_that_start_together_get_the_same_and_it_is_never_replaced(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: open_authority(tmp_path / "one").fingerprint, range(8)))
    content = [path.read_bytes() for path in (tmp_path / "one").iterdir()]
    assert {*made, open_authority(tmp_path / "one").fingerprint} == {made[0]}
    assert [path.read_bytes() for path in (tmp_path / "one").iterdir()] == content


@pytest.mark.parametrize(("hosts", "names"), [
    (["www.example.org"], ["www.example.org"]), (["10.0.0.1"], ["10.0.0.1"]), (["a_b.example.org"], ["*.example.org"]),
    (["a.test", "r3---sn-1.googlevideo.com"], ["a.test", "*.googlevideo.com"])])
def test_a_certificate_has_the_names_that_one_can_hold(tmp_path: Path, hosts: list[str], names: list[str]) -> None:
    """Chrome takes a wildcard for the others."""
    pems = open_authority(tmp_path).certified(hosts)
    leaf = x509.load_pem_x509_certificates(pems[pems.index(b"-----BEGIN CERTIFICATE"):])[0]
    found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in found] == names


@pytest.mark.root
def test_it_belongs_to_the_invoking_user() -> None:
    with tempfile.TemporaryDirectory() as name:
        os.chown(name, NOBODY.uid, NOBODY.gid)
        with acting_as(NOBODY):
            open_authority(Path(name) / "one")
        made = (Path(name) / "one", *(Path(name) / "one").iterdir())
        assert {path.stat().st_uid for path in made} == {NOBODY.uid}


def test_half_an_authority_and_an_open_key_are_refused(tmp_path: Path) -> None:
    for name in ("one", "other"):
        open_authority(tmp_path / name)
    (tmp_path / "other" / "ca.pem").write_text("nonsense")
    with pytest.raises(InputError, match=r"/other: "):
        open_authority(tmp_path / "other")
    (tmp_path / "other" / "ca.pem").unlink()
    with pytest.raises(InputError, match=r"ca\.pem:1: "):
        open_authority(tmp_path / "other")
    (tmp_path / "one" / "ca-key.pem").chmod(0o640)
    with pytest.raises(InputError, match=r"ca-key\.pem: "):
        open_authority(tmp_path / "one")
    (tmp_path / "one" / "ca-key.pem").rename(tmp_path / "elsewhere.pem")
    (tmp_path / "one" / "ca-key.pem").symlink_to(tmp_path / "elsewhere.pem")
    with pytest.raises(InputError, match=r"ca-key\.pem:1: "):
        open_authority(tmp_path / "one")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="/file: "):
        open_authority(tmp_path / "file")
