"""What connie raises, beside what socket.create_connection raises for the same."""

import errno
import pickle
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from connie import ConnectError, cached_dns_connect, connie_connect
from tests.support.connie_hosts import Connect, Names, connect_in_a_loop, listening, refusing


def test_the_error_has_every_address(names: Names) -> None:
    with refusing("127.0.0.2") as first, refusing("127.0.0.3") as second:
        names.hosts["dead.test"] = [first, ("127.0.0.4", 0), second, first]
        with pytest.raises(ConnectionRefusedError) as caught:
            connie_connect("dead.test", 80)
    error = caught.value
    assert isinstance(error, ConnectError)
    assert [(attempt.address.sockaddr, attempt.errno) for attempt in error.attempts] == [
        (first, errno.ECONNREFUSED), (("127.0.0.4", 0), errno.ECONNREFUSED), (second, errno.ECONNREFUSED)]
    assert error.errno == errno.ECONNREFUSED
    for address in (first, second):
        assert f"{address[0]} port {address[1]}: Connection refused" in str(error)
    twin = pickle.loads(pickle.dumps(error))
    assert (type(twin), twin.args, twin.message, str(twin)) == (type(error), error.args, error.message, str(error))


connects = pytest.mark.parametrize("connect", [connie_connect, cached_dns_connect, connect_in_a_loop])
BAD = [("127.0.0.1", 65537), ("127.0.0.1", "no-such-service"), (5, 80), ("é" * 64, 80), ("empty.test", 80),
       ("unknown.test", 80), ("127.0.0.1", None)]


@pytest.mark.parametrize("address", BAD, ids=str)
@connects
def test_bad_addresses_give_the_error_of_create_connection(names: Names, address: tuple[Any, Any], connect: Connect
                                                           ) -> None:
    names.hosts["empty.test"] = names.hosts["unknown.test"] = []

    def answer() -> None:
        if names.asked[-1] == "unknown.test":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    names.before = answer
    assert_same_error(lambda: socket.create_connection(address), lambda: connect(*address))


@connects
def test_bad_sources_give_the_error_of_bind(connect: Connect) -> None:
    with listening() as server, listening() as other, socket.socket() as sock:
        taken = other.getsockname()
        for source in (("192.0.2.9", 0), ("127.0.0.1", 70000), ("::1", 0), "127.0.0.1", (1, 2), ("127.0.0.1",), taken):
            assert_same_error(partial(sock.bind, source), partial(connect, *server.getsockname(), source_addr=source))


@connects
@pytest.mark.parametrize("timeout", [-1, float("nan"), "5"])
def test_bad_timeouts_give_the_class_of_error_of_settimeout(timeout: Any, connect: Connect) -> None:
    with listening() as server, pytest.raises((ValueError, TypeError)) as caught:
        connect(*server.getsockname(), timeout)
    with socket.socket() as sock, pytest.raises(caught.type):
        sock.settimeout(timeout)


def assert_same_error(theirs: Callable[[], object], ours: Callable[[], object]) -> None:
    """Fail unless both raise errors that no caller can tell apart by class and arguments."""
    with pytest.raises((OSError, ValueError, TypeError, OverflowError)) as expected:
        theirs()
    with pytest.raises(type(expected.value)) as caught:
        ours()
    assert caught.value.args == expected.value.args
    assert isinstance(caught.value, ConnectError) or type(caught.value) is type(expected.value)
