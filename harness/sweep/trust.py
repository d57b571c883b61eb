"""Who may connect to the scheduler and the workers, and what they may be sent.

    .sweep-tls/ca.pem, sweep.pem, sweep-key.pem      made once, copied to every machine of the sweep

Every connection is TLS, and both ends must show a certificate that this sweep's authority signed. The authority's key
is thrown away, so there is only one certificate, which all ends share: whoever has the folder can take part.

Dask's messages hold pickles, and reading a pickle can run any function. So here a pickle may name nothing but ALLOWED:
the tasks of harness.sweep.tasks, what Dask wraps them in, and plain exceptions; anything else is refused when it is
read, by worker, scheduler and driver alike. A worker, which is root, takes no functions by other ways either
(worker.py). Somebody who has stolen the certificate can have pages measured, and stop machines from measuring; no more.
"""

import io
import os
import pickle
import ssl
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from harness.bootstrap import ROOT
from harness.errors import InputError

TLS = ROOT / ".sweep-tls"
AUTHORITY, CERTIFICATE, KEY = "ca.pem", "sweep.pem", "sweep-key.pem"
NAME = "tfo-lab-sweep"

TASKS = frozenset({("harness.sweep.tasks", name) for name in ("describe", "measure", "calibrate", "dismiss")})
OF_DASK = frozenset({("dask._task_spec", "Task"), ("dask._expr", "LLGExpr"), ("dask._expr", "Expr._reconstruct"),
                     ("distributed.client", "_MapExpr")})
PLAIN = frozenset({("builtins", name) for name in (
    "bytes", "str", "Exception", "RuntimeError", "ValueError", "TypeError", "KeyError", "OSError", "MemoryError")})
ALLOWED = TASKS | OF_DASK | PLAIN
"""What a pickle may name, as (module, name). Dask does without the rest that it names: exceptions become text."""


def make_certificates(folder: Path = TLS) -> Path:
    """Make the certificates of a sweep unless they are there; return their folder, which only its owner may read.

    Raises InputError when they cannot be written.
    """
    try:
        if not (folder / KEY).exists():
            _make_certificates(folder)
    except OSError as error:
        raise InputError(f"{folder}: a sweep's certificates cannot be written there ({error.strerror}); give another "
                         "--tls") from None
    return folder


def _make_certificates(folder: Path) -> None:
    """Make an authority and one certificate for all sides; its key is not kept."""
    import trustme

    authority = trustme.CA(organization_name=NAME)
    leaf = authority.issue_cert(NAME, organization_name=NAME)
    chain = b"".join(pem.bytes() for pem in leaf.cert_chain_pems)
    contents = {AUTHORITY: authority.cert_pem.bytes(), CERTIFICATE: chain,
                KEY: leaf.private_key_pem.bytes()}      # the key last: with it the folder is complete
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in contents.items():
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)


def as_tls(address: str) -> str:
    """Return a scheduler's address as people write it, tcp:// or tls://, with tls://: all connections are TLS."""
    return address.replace("tcp://", "tls://", 1)


def security(folder: Path = TLS) -> Any:
    """Return Dask's settings of TLS. Raises InputError when the certificates are missing or cannot be read."""
    from distributed.security import Security

    ca, certificate, key = (str(folder / name) for name in (AUTHORITY, CERTIFICATE, KEY))
    try:
        ssl.create_default_context(cafile=ca).load_cert_chain(certificate, key)
    except OSError as error:        # ssl.SSLError is one
        raise InputError(f"{folder}: no certificates of a sweep there ({error.strerror or error}); copy the folder "
                         f"{TLS.name}/ from the machine where ./sweep.py --serve runs") from None
    return Security(require_encryption=True, tls_ca_file=ca, tls_min_version=ssl.TLSVersion.TLSv1_3,
                    tls_client_cert=certificate, tls_client_key=key, tls_worker_cert=certificate, tls_worker_key=key,
                    tls_scheduler_cert=certificate, tls_scheduler_key=key)


class RefusedError(pickle.UnpicklingError):
    """A pickle names something that is neither data nor one of this program's tasks."""


class _DataUnpickler(pickle.Unpickler):
    allowed: frozenset[tuple[str, str]] = ALLOWED

    def find_class(self, module: str, name: str) -> Any:
        """Return what a pickle names. Raises RefusedError for what is not allowed."""
        if (module, name) not in self.allowed:
            raise RefusedError(f"{module}.{name}: not a task of TFO Lab")
        return super().find_class(module, name)


def only_data(more: Iterable[tuple[str, str]] = ()) -> None:
    """From now on, have Dask in this process refuse every pickle that names something not in ALLOWED or `more`."""
    from distributed.protocol import pickle as of_dask

    class Unpickler(_DataUnpickler):
        allowed = ALLOWED | frozenset(more)

    def loads(content: bytes, *, buffers: Iterable[Any] | None = None) -> Any:
        return Unpickler(io.BytesIO(content), buffers=buffers).load()

    # All of Dask's reading goes through this module's name `pickle`, whoever has imported what of it.
    vars(of_dask)["pickle"] = SimpleNamespace(loads=loads, dumps=pickle.dumps, Pickler=pickle.Pickler,
                                              HIGHEST_PROTOCOL=pickle.HIGHEST_PROTOCOL)
