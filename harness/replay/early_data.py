"""TLS 1.3 with early data (0-RTT): a socket like ssl.SSLSocket, which Python's ssl has no words for.

A client that has a ticket of ours sends its request beside its ClientHello, before it has heard of us (RFC 8446,
section 2.3). We answer it at once, before the client's Finished, so that the answer is there after one round trip of
TLS instead of two. pyOpenSSL makes the context; OpenSSL's own functions for early data stand in cryptography's binding
(https://docs.openssl.org/master/man3/SSL_read_early_data/).

What it took: tickets are names of sessions in our own cache (OP_NO_TICKET), 32 bytes instead of 200, so that a
ClientHello and a request fit into one SYN. A session may be resumed more than once (OP_NO_ANTI_REPLAY): a replayed
request does no harm in a laboratory. OpenSSL forgets the session of a connection that ends without a goodbye, as
browsers' do (OP_IGNORE_UNEXPECTED_EOF, `EarlySocket.close`).
"""

import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from cryptography.hazmat.bindings.openssl.binding import Binding
from OpenSSL import SSL

OPENSSL, FFI = Binding.lib, Binding.ffi
LARGEST = 16 * 1024
"""Bytes of early data that a client may send; Chrome sends at most 14 kB."""
SUCCESS, FINISHED = 1, 2
"""Of SSL_read_early_data: there is some; there is none, or no more."""
OP_NO_ANTI_REPLAY = 1 << 24
BOTH_CLOSED = SSL.SENT_SHUTDOWN | SSL.RECEIVED_SHUTDOWN
CONTEXT = b"tfo-lab"
Data = bytes | bytearray | memoryview
Done = TypeVar("Done")


class EarlyContext:
    """What ssl.SSLContext is to an SSLSocket: a certificate, its key, and the protocols offered to each host name."""

    def __init__(self, pem_file: str, protocols: Mapping[str, Sequence[str]]) -> None:
        """Read certificate and key; the first host's `protocols` are offered under any other name. Raises OSError."""
        by_name = {host.lower(): [name.encode() for name in offered] for host, offered in protocols.items()}
        first = next(iter(by_name.values()))

        def choose(connection: SSL.Connection, theirs: list[bytes]) -> Any:
            ours = by_name.get((connection.get_servername() or b"").decode("latin-1").lower(), first)
            return next((name for name in ours if name in theirs), SSL.NO_OVERLAPPING_PROTOCOLS)

        self.context = SSL.Context(SSL.TLS_SERVER_METHOD)
        self.context.set_min_proto_version(SSL.TLS1_3_VERSION)
        try:
            self.context.use_certificate_chain_file(pem_file)
            self.context.use_privatekey_file(pem_file)
        except SSL.Error as error:
            raise OSError(str(error)) from None
        self.context.set_alpn_select_callback(choose)
        self.context.set_session_id(CONTEXT)
        self.context.set_session_cache_mode(SSL.SESS_CACHE_SERVER)
        self.context.set_options(SSL.OP_NO_TICKET | SSL.OP_IGNORE_UNEXPECTED_EOF | OP_NO_ANTI_REPLAY)
        OPENSSL.SSL_CTX_set_max_early_data(self.context._context, LARGEST)

    def wrap_socket(self, plain: socket.socket, *, server_side: bool) -> "EarlySocket":
        """Shake hands, as far as the first request needs. Raises OSError as ssl.SSLContext.wrap_socket does."""
        assert server_side
        return EarlySocket(plain, self.context)


@contextmanager
def errors_of_ssl() -> Iterator[None]:
    """Raise what Python's ssl would for what pyOpenSSL raises."""
    try:
        yield
    except SSL.WantReadError:
        raise ssl.SSLWantReadError from None
    except SSL.WantWriteError:
        raise ssl.SSLWantWriteError from None
    except SSL.Error as error:
        raise OSError(f"TLS: {error}") from None


class EarlySocket:
    """What the replay servers use of an ssl.SSLSocket that does not wait.

    It is `early` until the client's Finished may come: what is read until then is early data, and what is written goes
    out at once. `resumed` says whether the client had a ticket, `in_first_packets` whether early data had come together
    with the ClientHello, so that nobody had to wait for it.
    """

    def __init__(self, plain: socket.socket, context: SSL.Context) -> None:
        """Read the ClientHello and answer it; then wait for early data, or where none is sent for the Finished.

        Raises OSError, TimeoutError among them, as ssl.SSLContext.wrap_socket does.
        """
        self._plain, self._tls = plain, SSL.Connection(context, plain)
        self._tls.set_accept_state()
        self._write_waits = False
        self.early, self.in_first_packets = True, True
        deadline = time.monotonic() + (plain.gettimeout() or 0.0)
        plain.setblocking(False)
        self._first = self._wait_for(self._read_early, deadline)
        self.resumed = bool(OPENSSL.SSL_session_reused(self._tls._ssl))
        if not self._first:
            self.in_first_packets = False
            self._wait_for(self._tls.do_handshake, deadline)

    def recv(self, size: int) -> bytes:
        """As ssl.SSLSocket.recv."""
        if self._first:
            data, self._first = self._first[:size], self._first[size:]
            return data
        with errors_of_ssl():
            if self.early and (data := self._read_early(size)):
                return data
            try:
                return self._tls.recv(size)
            except (SSL.ZeroReturnError, SSL.SysCallError):     # the client left
                return b""

    def send(self, data: Data) -> int:
        """As ssl.SSLSocket.send."""
        with errors_of_ssl():
            if not self.early:
                return self._tls.send(bytes(data))
            sent, self._write_waits = FFI.new("size_t *"), True
            status = OPENSSL.SSL_write_early_data(self._tls._ssl, bytes(data), len(data), sent)
            if status != 1:
                self._tls._raise_ssl_error(self._tls._ssl, status)
            self._write_waits = False
            return int(sent[0])

    def selected_alpn_protocol(self) -> str | None:
        """As ssl.SSLSocket's."""
        return self._tls.get_alpn_proto_negotiated().decode() or None

    def fileno(self) -> int:
        """As socket's."""
        return self._plain.fileno()

    def setblocking(self, blocking: bool) -> None:
        """As socket's: it does not wait any more."""
        assert not blocking

    def unwrap(self) -> None:
        """Say goodbye, without waiting for the other side's."""
        with suppress(SSL.Error):
            self._tls.shutdown()

    def close(self) -> None:
        """Close; the session can be resumed, whatever the client left unsaid."""
        self._tls.set_shutdown(BOTH_CLOSED)
        self._plain.close()

    def _wait_for(self, action: Callable[[], Done], deadline: float) -> Done:
        """Do what may have to wait for the other side, until the `deadline` of time.monotonic() at most.

        Raises OSError, TimeoutError among them.
        """
        while True:
            try:
                with errors_of_ssl():
                    return action()
            except ssl.SSLWantReadError:
                events = select.POLLIN
            except ssl.SSLWantWriteError:
                events = select.POLLOUT
            self.in_first_packets = False
            poll = select.poll()
            poll.register(self._plain, events)
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise TimeoutError("timed out")

    def _read_early(self, size: int = LARGEST) -> bytes:
        """Return early data, b"" once there is no more. A write under way goes first: the handshake writes, too."""
        if self._write_waits:
            raise SSL.WantWriteError
        room, got = FFI.new("char[]", size), FFI.new("size_t *")
        status = OPENSSL.SSL_read_early_data(self._tls._ssl, room, size, got)
        if status not in (SUCCESS, FINISHED):
            self._tls._raise_ssl_error(self._tls._ssl, status)
        self.early = status == SUCCESS
        return bytes(FFI.buffer(room, got[0]))
