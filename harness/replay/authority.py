"""The certificate authority of this machine's replay servers, made at first use and kept in one directory.

    .authority/ca.pem        its certificate, for curl --cacert or fetch.py --ca
    .authority/ca-key.pem    its key, readable by its owner only, never committed

Whoever has the key can stand for any site towards a browser that trusts the authority. So nobody trusts it but the
Chrome of a page load, by the fingerprint that `Authority.fingerprint` returns, for as long as that load lasts.
Certificates are trustme's, valid for centuries: Chrome's clock is shifted while pages load, and that must not matter.
"""

import base64
import fcntl
import hashlib
import os
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import idna
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.files.exchange import H2
from harness.system.untrusted import UnreadableFileError, open_untrusted, read_untrusted

if TYPE_CHECKING:
    from harness.replay.early_data import EarlyContext

AUTHORITY = ROOT / ".authority"
CERTIFICATE = "ca.pem"
KEY = "ca-key.pem"
NAME = "TFO Lab"
ADVICE = "remove the folder to have a new authority made"
LARGEST_PEM = 2**16
"""Bytes of its certificate, and of its key."""
HTTP_1: tuple[str, ...] = ("http/1.1",)
HTTP_2: tuple[str, ...] = (H2, "http/1.1")
"""Protocols a server offers in TLS (ALPN, RFC 7301), the best first."""


@dataclass(frozen=True)
class Authority:
    """A certificate authority that is ready to issue."""

    ca: trustme.CA

    @property
    def fingerprint(self) -> str:
        """The base64 SHA-256 of its public key, for Chrome's --ignore-certificate-errors-spki-list."""
        return fingerprint(self.ca.cert_pem.bytes())

    def shared_context(self, protocols: Mapping[str, Sequence[str]]) -> ssl.SSLContext:
        """Return what a TLS 1.3 server of these hosts needs: a fresh certificate with all their names, and the
        `protocols` that it offers each by ALPN.

        The name that a client gives (SNI, RFC 6066) decides which of the `protocols`, by host, it is offered; without
        one, or with another, it is offered the first host's. Raises ValueError for a name that no certificate can
        hold.
        """
        pems = self.certified(list(protocols))
        contexts = {offered: _context(pems, offered) for offered in dict.fromkeys(map(tuple, protocols.values()))}
        by_name = {host.lower(): contexts[tuple(offered)] for host, offered in protocols.items()}
        first = next(iter(by_name.values()))
        if len(contexts) > 1:
            def choose(connection: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
                connection.context = by_name.get((name or "").lower(), first)
            first.sni_callback = choose
        return first

    def early_context(self, protocols: Mapping[str, Sequence[str]]) -> "EarlyContext":
        """Return the same as `shared_context` for a server that takes early data."""
        from harness.replay.early_data import EarlyContext

        with _in_memory(self.certified(list(protocols))) as file:
            return EarlyContext(file, protocols)

    def certified(self, hosts: Sequence[str]) -> bytes:
        """Return a key and a certificate of it with these names, and the authority's own, in PEM.

        That one is sent along, since Chrome compares fingerprints only with what it was sent. Raises ValueError for a
        name that no certificate can hold.
        """
        leaf = self.ca.issue_cert(*dict.fromkeys(map(_certifiable, hosts)), organization_name=NAME)
        return b"".join(pem.bytes() for pem in (leaf.private_key_pem, *leaf.cert_chain_pems, self.ca.cert_pem))


def _certifiable(host: str) -> str:
    """Return a name that a certificate can hold for a host: some sites' have what is in no host name (RFC 952), an
    underscore or hyphens in third and fourth place. Browsers take a wildcard for them.
    """
    try:
        idna.encode(host, uts46=True)
    except idna.IDNAError:
        return f"*.{host.partition('.')[2]}"
    return host


def _context(pems: bytes, protocols: Sequence[str]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(list(protocols))
    with _in_memory(pems) as file:
        context.load_cert_chain(file)
    return context


def fingerprint(certificate_pem: bytes) -> str:
    """Return the base64 SHA-256 of the certificate's SubjectPublicKeyInfo (RFC 7469, section 2.4)."""
    public = x509.load_pem_x509_certificate(certificate_pem).public_key()
    key = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(key).digest()).decode()


def open_authority(directory: Path = AUTHORITY) -> Authority:
    """Return the authority kept in `directory`, made now if there is none; an existing one is never replaced.

    Root calls it acting as the user whose directory it is (harness.system.privileges). Raises InputError when only half
    of it is there, it cannot be read, or others may read its key.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)    # two experiments that start together make one authority
            if not (directory / CERTIFICATE).exists() and not (directory / KEY).exists():
                _make(directory)
        finally:
            os.close(lock)
        return _read(directory)
    except (UnreadableFileError, OSError, ValueError) as error:
        raise InputError(f"{directory}: no certificate and its key ({error}); {ADVICE}") from None


def _make(directory: Path) -> None:
    ca = trustme.CA(organization_name=NAME, organization_unit_name="replay servers of this machine", path_length=0)
    # The certificate comes last: whoever finds it finds the key.
    for name, pem, mode in ((KEY, ca.private_key_pem, 0o600), (CERTIFICATE, ca.cert_pem, 0o644)):
        file = os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(file, "wb") as content:
            content.write(pem.bytes())


def _read(directory: Path) -> Authority:
    with open_untrusted(directory / KEY, limit=LARGEST_PEM) as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            raise InputError(f"{directory / KEY}: others may read this key; {ADVICE}")
        key = file.read(LARGEST_PEM)
    ca = trustme.CA.from_pem(read_untrusted(directory / CERTIFICATE, limit=LARGEST_PEM), key)
    certified = x509.load_pem_x509_certificate(ca.cert_pem.bytes()).public_key()
    if certified != load_pem_private_key(key, None).public_key():
        raise ValueError("they do not belong together")
    return Authority(ca)


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """Give the name of a file that holds `content` and is on no disk: ssl reads keys from files only."""
    file = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.write(file, content)
        yield f"/proc/self/fd/{file}"
    finally:
        os.close(file)
