"""connie's connections for http.client, and its adapters for requests, urllib3 and httpx, over loopback."""

import asyncio
import http.client
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import httpx
import pytest
import requests
import trustme
import urllib3

from connie import RaceOptions
from connie.for_httpx import AsyncConnieTransport, ConnieTransport
from connie.for_requests import ConnieAdapter
from connie.for_urllib3 import ConniePoolManager
from connie.http import (
    CachedDNSHTTPConnection,
    CachedDNSHTTPSConnection,
    ConnieHTTPConnection,
    ConnieHTTPSConnection,
    timeout_s,
)
from tests.support.connie_echo import serving
from tests.support.connie_hosts import WAIT_S, Names, refusing, silent

SECURE = "https.test"


AUTHORITY = trustme.CA()
"""Whom clients have to trust."""


@pytest.fixture
def hosts(names: Names) -> Iterator[Names]:
    """Give http.test and https.test, alive at the last of their addresses, and other.test, the same as https.test."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert(SECURE).configure_cert(context)
    with ExitStack() as stack:
        dead = [stack.enter_context(silent()), stack.enter_context(refusing())]
        names.hosts["http.test"] = [*dead, stack.enter_context(serving("127.0.0.2"))]
        names.hosts[SECURE] = names.hosts["other.test"] = [*dead, stack.enter_context(serving("127.0.0.3", context))]
        names.hosts["dead.test"] = dead[1:]
        yield names


def test_the_default_timeout_is_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    """http.client's own default is an object that stands for it."""
    monkeypatch.setattr(socket, "getdefaulttimeout", lambda: 7.0)
    assert [timeout_s(given) for given in (None, 3, object())] == [None, 3, 7.0]


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    return context


def ask(connection: http.client.HTTPConnection, method: str = "GET", body: bytes | None = None) -> bytes:
    try:
        connection.request(method, "/page", body)
        return connection.getresponse().read()
    finally:
        connection.close()


def test_fast_open_connections_work_whatever_the_kernel_can(hosts: Names) -> None:
    for method in ("GET", "POST") * 2:              # the second of each may have a cookie
        connection = ConnieHTTPConnection("http.test", tfo=True)
        assert ask(connection, method, b"body") == f"{method} /page body".encode()
        assert ask(connection, method) == f"{method} /page ".encode()       # it connects again


def by_http_client(plain: Callable[..., http.client.HTTPConnection],
                   secure: Callable[..., http.client.HTTPSConnection]) -> "Get":
    def get(url: str, timeout: float = WAIT_S) -> bytes:
        scheme, _, host, _ = url.split("/")
        return ask(plain(host, timeout=timeout) if scheme == "http:" else
                   secure(host, timeout=timeout, context=trusting()))
    return get


def get_by_requests(url: str, timeout: float = WAIT_S) -> bytes:
    with requests.Session() as session, AUTHORITY.cert_pem.tempfile() as trusted:
        session.mount("http://", ConnieAdapter())
        session.mount("https://", ConnieAdapter(race=RaceOptions(stagger=0.01)))
        return session.get(url, timeout=timeout, verify=trusted).content


def get_by_urllib3(url: str, timeout: float = WAIT_S) -> bytes:
    with ConniePoolManager(ssl_context=trusting(), race=RaceOptions(), retries=False) as pools:
        return pools.request("GET", url, timeout=timeout).data


def get_by_httpx(url: str, timeout: float = WAIT_S) -> bytes:
    with httpx.Client(transport=ConnieTransport(verify=trusting(), local_address="127.0.0.7")) as client:
        return client.get(url, timeout=timeout).content


def get_by_httpx_async(url: str, timeout: float = WAIT_S) -> bytes:
    async def get() -> bytes:
        async with httpx.AsyncClient(transport=AsyncConnieTransport(verify=trusting())) as client:
            return (await client.get(url, timeout=timeout)).content
    return asyncio.run(get())


Get = Callable[..., bytes]
get_by_connie = by_http_client(partial(ConnieHTTPConnection, source_address=("127.0.0.7", 0)),
                               partial(ConnieHTTPSConnection, race=RaceOptions(stagger=0.01)))
get_by_cached_dns = by_http_client(CachedDNSHTTPConnection, CachedDNSHTTPSConnection)


# Where all refuse, of a certificate for another name, where nobody answers, of a name that nobody knows.
ERRORS_OF_PYTHON = ConnectionRefusedError, ssl.SSLCertVerificationError, TimeoutError, socket.gaierror
ERRORS_OF_HTTPX = httpx.ConnectError, httpx.ConnectError, httpx.ConnectTimeout, httpx.ConnectError


@pytest.mark.parametrize(("get", "errors"), [
    (get_by_connie, ERRORS_OF_PYTHON), (get_by_cached_dns, ERRORS_OF_PYTHON),
    (get_by_httpx, ERRORS_OF_HTTPX), (get_by_httpx_async, ERRORS_OF_HTTPX),
    (get_by_requests, (requests.ConnectionError, requests.exceptions.SSLError, requests.ConnectTimeout,
                       requests.ConnectionError)),
    (get_by_urllib3, (urllib3.exceptions.NewConnectionError, urllib3.exceptions.SSLError,
                      urllib3.exceptions.ConnectTimeoutError, urllib3.exceptions.NameResolutionError))])
def test_every_client_races_and_fails_as_its_library_does(hosts: Names, get: Get,
                                                          errors: tuple[type[Exception], ...]) -> None:
    silent_one = hosts.hosts["http.test"][0]
    if get is get_by_cached_dns:                    # it draws one address; the last is alive
        hosts.hosts = {name: addresses[-1:] for name, addresses in hosts.hosts.items()}
    hosts.hosts["silent.test"] = [silent_one]
    assert get("http://http.test/page") == b"GET /page "
    assert get(f"https://{SECURE}/page") == b"GET /page "
    for error, to in zip(errors, ("http://dead", "https://other", "http://silent", "http://unknown"), strict=True):
        with pytest.raises(error):
            get(f"{to}.test/", 0.05 if "silent" in to else WAIT_S)


@pytest.mark.parametrize("kind", [ConnieHTTPSConnection, CachedDNSHTTPSConnection])
def test_certificates_are_checked_without_a_context_of_the_callers(hosts: Names,
                                                                   kind: type[http.client.HTTPSConnection]) -> None:
    hosts.hosts[SECURE] = hosts.hosts[SECURE][-1:]
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(kind(SECURE, timeout=WAIT_S))


@pytest.mark.parametrize("get", [get_by_urllib3, get_by_requests])
def test_a_name_that_cannot_be_one_is_urllib3s_error(get: Get) -> None:
    with pytest.raises(urllib3.exceptions.LocationParseError):
        get(f"http://{'x' * 64}.test/")


def test_through_a_proxy_it_is_the_proxy_that_is_raced_to(hosts: Names) -> None:
    connection = ConnieHTTPConnection("http.test", timeout=WAIT_S, tfo=True)
    connection.set_tunnel("behind.test", 80)
    assert ask(connection) == b"GET /page "
    with requests.Session() as session:
        session.mount("http://", ConnieAdapter())
        url = f"http://http.test:{hosts.hosts['http.test'][-1][1]}"
        answer = session.get("http://behind.test/page", proxies={"http": url}, timeout=WAIT_S)
        assert answer.content == b"GET http://behind.test/page "
