"""connie's connections for http.client, and its adapters for requests, urllib3 and httpx, over loopback."""

import asyncio
import copy
import http.client
import pickle
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
import requests
import trustme
import urllib3

import connie
from connie import RaceOptions
from connie.for_httpx import AsyncConnieTransport, ConnieTransport
from connie.for_requests import ConnieAdapter
from connie.for_urllib3 import ConniePoolManager
from connie.http import (
    CachedDNSHTTPConnection,
    CachedDNSHTTPSConnection,
    ConnieHTTPConnection,
    ConnieHTTPSConnection,
)
from tests.support.connie_echo import serving
from tests.support.connie_hosts import WAIT_S, Names, names, refusing, same_descriptors, silent

__all__ = ["names"]

SECURE = "https.test"
WRONG = "other.test"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trust(authority: trustme.CA, tmp_path: Path) -> Path:
    """Give the certificate that clients have to trust."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    return tmp_path / "ca.pem"


@pytest.fixture
def hosts(names: Names, authority: trustme.CA) -> Iterator[Names]:
    """Give http.test and https.test, alive at the last of their addresses, and other.test, the same as https.test."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(SECURE).configure_cert(context)
    with ExitStack() as stack:
        dead = [stack.enter_context(silent()), stack.enter_context(refusing())]
        names.hosts["http.test"] = [*dead, stack.enter_context(serving("127.0.0.2"))]
        names.hosts[SECURE] = names.hosts[WRONG] = [*dead, stack.enter_context(serving("127.0.0.3", context))]
        names.hosts["dead.test"] = dead[1:]
        yield names


def client_context(trust: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(trust))


def ask(connection: http.client.HTTPConnection, method: str = "GET", body: bytes | None = None) -> bytes:
    try:
        connection.request(method, "/page", body)
        return connection.getresponse().read()
    finally:
        connection.close()


def test_racing_connections(hosts: Names) -> None:
    with same_descriptors():
        connection = ConnieHTTPConnection("http.test", timeout=WAIT_S, source_address=("127.0.0.7", 0))
        connection.connect()
        assert connection.sock.getsockname()[0] == "127.0.0.7"
        assert connection.sock.gettimeout() == WAIT_S
        assert ask(connection) == b"GET /page "
        assert ask(ConnieHTTPConnection("http.test", race=RaceOptions(stagger=0.01)), "POST", b"x") == b"POST /page x"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_fast_open_connections_work_whatever_the_kernel_can(hosts: Names, method: str) -> None:
    for _ in range(2):                              # the second may have a cookie
        connection = ConnieHTTPConnection("http.test", timeout=WAIT_S, tfo=True)
        assert ask(connection, method, b"body") == f"{method} /page body".encode()
        assert ask(connection, method) == f"{method} /page ".encode()       # it connects again


def test_a_tunnel(hosts: Names, trust: Path) -> None:
    """The proxy is raced to, and the certificate is that of the host behind it."""
    connection = ConnieHTTPConnection("http.test", timeout=WAIT_S, tfo=True)
    connection.set_tunnel("behind.test", 80)
    assert ask(connection) == b"GET /page "


def test_connections_with_cached_names(hosts: Names) -> None:
    with same_descriptors():
        hosts.hosts["http.test"] = hosts.hosts["http.test"][-1:]
        for _ in range(2):
            assert ask(CachedDNSHTTPConnection("http.test", timeout=WAIT_S)) == b"GET /page "
    assert hosts.asked == ["http.test"]


@pytest.mark.parametrize("kind", [ConnieHTTPSConnection, CachedDNSHTTPSConnection])
def test_host_names_are_checked(hosts: Names, trust: Path, kind: type[http.client.HTTPSConnection]) -> None:
    if kind is CachedDNSHTTPSConnection:
        hosts.hosts[SECURE] = hosts.hosts[WRONG] = hosts.hosts[SECURE][-1:]
    with same_descriptors():
        assert ask(kind(SECURE, timeout=WAIT_S, context=client_context(trust))) == b"GET /page "
        with pytest.raises(ssl.SSLCertVerificationError, match=r"not valid for 'other\.test'"):
            ask(kind(WRONG, timeout=WAIT_S, context=client_context(trust)))
        with pytest.raises(ssl.SSLCertVerificationError, match="certificate verify failed"):
            ask(kind(SECURE, timeout=WAIT_S))       # without a context of the caller's


@pytest.mark.parametrize("kind", [ConnieHTTPConnection, ConnieHTTPSConnection, CachedDNSHTTPConnection])
def test_refused(hosts: Names, kind: type[http.client.HTTPConnection]) -> None:
    with same_descriptors(), pytest.raises(ConnectionRefusedError):
        ask(kind("dead.test", timeout=WAIT_S))


def test_the_default_timeout_is_pythons(hosts: Names) -> None:
    before = socket.getdefaulttimeout()
    try:
        for default in (None, WAIT_S):
            socket.setdefaulttimeout(default)
            connection = ConnieHTTPConnection("http.test")
            connection.connect()
            assert connection.sock.gettimeout() == default
            connection.close()
    finally:
        socket.setdefaulttimeout(before)


def get_by_requests(url: str, trust: Path, timeout: float = WAIT_S) -> bytes:
    with requests.Session() as session:
        session.mount("http://", ConnieAdapter())
        session.mount("https://", ConnieAdapter(race=RaceOptions(stagger=0.01)))
        return session.get(url, timeout=timeout, verify=str(trust)).content


def get_by_urllib3(url: str, trust: Path, timeout: float = WAIT_S) -> bytes:
    with ConniePoolManager(ca_certs=str(trust), race=RaceOptions(), retries=False) as pools:
        return pools.request("GET", url, timeout=timeout).data


def get_by_httpx(url: str, trust: Path, timeout: float = WAIT_S) -> bytes:
    with httpx.Client(transport=ConnieTransport(verify=client_context(trust), local_address="127.0.0.7")) as client:
        return client.get(url, timeout=timeout).content


def get_by_httpx_async(url: str, trust: Path, timeout: float = WAIT_S) -> bytes:
    async def get() -> bytes:
        async with httpx.AsyncClient(transport=AsyncConnieTransport(verify=client_context(trust))) as client:
            return (await client.get(url, timeout=timeout)).content
    return asyncio.run(get())


Get = Callable[..., bytes]
adapters = pytest.mark.parametrize(("get", "error", "timeout"), [
    (get_by_requests, requests.ConnectionError, requests.ConnectTimeout),
    (get_by_urllib3, urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError),
    (get_by_httpx, httpx.ConnectError, httpx.ConnectTimeout),
    (get_by_httpx_async, httpx.ConnectError, httpx.ConnectTimeout),
])


@adapters
def test_adapters_race(hosts: Names, trust: Path, get: Get, error: type[Exception], timeout: type[Exception]) -> None:
    with same_descriptors():
        assert get("http://http.test/page", trust) == b"GET /page "
        assert get(f"https://{SECURE}/page", trust) == b"GET /page "


@adapters
def test_adapters_raise_their_librarys_errors(hosts: Names, trust: Path, get: Get, error: type[Exception],
                                              timeout: type[Exception]) -> None:
    with same_descriptors():
        with pytest.raises(error, match=r"dead\.test"):
            get("http://dead.test/", trust)
        with pytest.raises((error, urllib3.exceptions.SSLError), match=r"other\.test"):
            get(f"https://{WRONG}/", trust)
        hosts.hosts["dead.test"] = hosts.hosts["http.test"][:1]
        connie.CACHE.clear()
        with pytest.raises(timeout):
            get("http://dead.test/", trust, 0.05)


def test_adapters_say_when_a_name_does_not_resolve(names: Names, trust: Path) -> None:
    def fail() -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    names.hosts["unknown.test"] = []
    names.before = fail
    for get, error in ((get_by_urllib3, urllib3.exceptions.NameResolutionError), (get_by_httpx, httpx.ConnectError)):
        with pytest.raises(error):
            get("http://unknown.test/", trust)


@pytest.mark.parametrize("get", [get_by_urllib3, get_by_requests])
def test_a_name_that_cannot_be_one_is_urllib3s_error(trust: Path, get: Get) -> None:
    with pytest.raises(urllib3.exceptions.LocationParseError, match="label empty or too long"):
        get(f"http://{'x' * 64}.test/", trust)


def test_through_a_proxy_it_is_the_proxy_that_is_raced_to(hosts: Names, trust: Path) -> None:
    with requests.Session() as session:
        session.mount("http://", ConnieAdapter())
        url = f"http://http.test:{hosts.hosts['http.test'][-1][1]}"
        answer = session.get("http://behind.test/page", proxies={"http": url}, timeout=WAIT_S)
        assert answer.content == b"GET http://behind.test/page "


def test_an_adapter_can_be_pickled_and_copied(hosts: Names, trust: Path) -> None:
    for twin in (pickle.loads(pickle.dumps(ConnieAdapter(race=RaceOptions(stagger=0.01)))),
                 copy.copy(ConnieAdapter(race=RaceOptions(stagger=0.01)))):
        assert twin._race == RaceOptions(stagger=0.01)
        with requests.Session() as session:
            session.mount("http://", twin)
            assert session.get("http://http.test/page", timeout=WAIT_S).content == b"GET /page "
