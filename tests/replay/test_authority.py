"""The local certificate authority: its key is kept safe, used again, never replaced; what it issues is valid."""

import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509

from harness.errors import InputError
from harness.replay.authority import open_authority


def test_all_that_start_together_get_one_and_its_key_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    folder, before = tmp_path / "new" / "authority", os.umask(0)
    try:
        with ThreadPoolExecutor(8) as pool:
            made = {each.fingerprint for each in pool.map(open_authority, [folder] * 8)}
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"ca-key.pem": 0o600, "ca.pem": 0o644}
    assert made == {open_authority(folder).fingerprint}, "it is never replaced"


@pytest.mark.parametrize(("hosts", "names"), [
    (["10.0.0.1"], ["10.0.0.1"]), (["a_b.example.org"], ["*.example.org"]),
    (["a.test", "r3---sn-1.googlevideo.com"], ["a.test", "*.googlevideo.com"])])
def test_a_certificate_has_the_names_that_one_can_hold(tmp_path: Path, hosts: list[str], names: list[str]) -> None:
    """Chrome takes a wildcard for the others."""
    pems = open_authority(tmp_path).certified(hosts)
    leaf = x509.load_pem_x509_certificates(pems[pems.index(b"-----BEGIN CERTIFICATE"):])[0]
    found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in found] == names


@pytest.mark.parametrize(("spoil", "says"), [
    (lambda folder: (folder / "ca.pem").write_text("nonsense"), "/one: "),
    (lambda folder: (folder / "ca.pem").unlink(), r"ca\.pem:1: "),
    (lambda folder: (folder / "ca-key.pem").chmod(0o640), r"ca-key\.pem: "),
    (lambda folder: (folder / "ca-key.pem").rename(folder / "key") and (folder / "ca-key.pem").symlink_to("key"),
     r"ca-key\.pem:1: "),
    (lambda folder: folder.rename(folder.with_name("other")) and folder.touch(), "/one: ")])
def test_half_an_authority_and_an_open_key_are_refused(tmp_path: Path, spoil: Callable[[Path], object], says: str
                                                       ) -> None:
    open_authority(tmp_path / "one")
    spoil(tmp_path / "one")
    with pytest.raises(InputError, match=says):
        open_authority(tmp_path / "one")
