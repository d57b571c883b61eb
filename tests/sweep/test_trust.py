"""Pickles that hold data and TFO Lab's tasks alone, and certificates of the sweep's own."""

import os
import pickle
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.sweep.trust import ALLOWED, AUTHORITY, CERTIFICATE, KEY, make_certificates, security

IN_A_PROCESS = """
import os, pickle, sys
sys.path.insert(0, sys.argv[1])
from harness.sweep.scheduler import configure
configure()
from distributed.protocol import deserialize, serialize
from distributed.protocol import pickle as of_dask
from distributed.protocol.serialize import Serialize, ToPickle
from harness.sweep import tasks
assert of_dask.loads(of_dask.dumps(tasks.measure)) is tasks.measure
assert of_dask.loads(pickle.dumps({"a": [1, 2.5, b"x", None]})) == {"a": [1, 2.5, b"x", None]}
class Evil:
    def __reduce__(self):
        return os.mkdir, (sys.argv[2],)
for read in (lambda: of_dask.loads(pickle.dumps(Evil())),
             lambda: deserialize(*serialize(Evil(), serializers=["pickle"])),
             lambda: of_dask.loads(pickle.dumps(tasks.set_bed)), lambda: of_dask.loads(pickle.dumps(eval)),
             lambda: of_dask.loads(pickle.dumps(os.system))):
    try:
        read()
    except pickle.UnpicklingError as error:
        assert "not a task of TFO Lab" in str(error), error
    else:
        raise SystemExit("it was read")
print("refused")
"""


def test_dask_reads_no_pickle_that_names_something_else(tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    done = subprocess.run([sys.executable, "-c", IN_A_PROCESS, ROOT, evil], capture_output=True, text=True, check=False,
                          timeout=60)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
    assert not evil.exists()


def test_nothing_allowed_runs_programs_or_opens_files() -> None:
    assert {module for module, _ in ALLOWED} == {"builtins", "dask._task_spec", "dask._expr", "distributed.client",
                                              "harness.sweep.tasks"}
    assert not {name for module, name in ALLOWED if module == "builtins"} & {"eval", "exec", "open", "getattr", "map"}


def test_certificates_are_made_once_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    folder = make_certificates(tmp_path / "tls")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(before) == {AUTHORITY, CERTIFICATE, KEY}, "the authority's key is not kept"
    make_certificates(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    found = security(folder)
    assert found.require_encryption
    assert found.tls_min_version == ssl.TLSVersion.TLSv1_3


def test_certificates_go_into_a_folder_deep_down_or_one_line_says_why_not(tmp_path: Path) -> None:
    assert (make_certificates(tmp_path / "not" / "there") / KEY).is_file()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="certificates cannot be written there"):
        make_certificates(tmp_path / "file" / "tls")


def test_another_sweeps_certificate_is_refused(tmp_path: Path) -> None:
    """Both ends ask for one, and check it."""
    ours, theirs = (make_certificates(tmp_path / name) for name in ("ours", "theirs"))
    listener = security(ours).get_listen_args("scheduler")["ssl_context"]
    connecting = security(theirs).get_connection_args("client")["ssl_context"]
    assert listener.verify_mode == connecting.verify_mode == ssl.CERT_REQUIRED
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = listener.wrap_bio(to_server, to_client, server_side=True)
    client = connecting.wrap_bio(to_client, to_server, server_side=False)
    for end in (client, server):
        with pytest.raises(ssl.SSLWantReadError):
            end.do_handshake()
    with pytest.raises(ssl.SSLCertVerificationError):
        client.do_handshake()


def test_missing_certificates_are_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no certificates of a sweep there"):
        security(tmp_path)


def test_this_tests_own_pickle_would_have_run(tmp_path: Path) -> None:
    """What the first test sends is no empty threat: Python's own reader runs it."""
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "evil"),)
    pickle.loads(pickle.dumps(Evil()))
    assert (tmp_path / "evil").is_dir()
