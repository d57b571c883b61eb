"""Programs beside the experiment: waited for, never for ever, quoted when they fail, and ended with it."""

import subprocess
from pathlib import Path

import pytest

from harness.errors import ExperimentError, InputError
from harness.system.companions import running
from tests.support.waiting import wait_until


def shell(code: str) -> list[str]:
    return ["sh", "-c", code]


@pytest.mark.parametrize(("code", "error", "said"), [
    ("echo one >&2; echo x:1: two >&2; exit 1", ExperimentError, "x:1: two"),
    ("echo x:1: bad >&2; exit 2", InputError, "x:1: bad"),
    ("printf '\\377\\n' >&2; exit 1", ExperimentError, "\ufffd"),
    ("exit 1", ExperimentError, "it did not say why"),
    ("kill -9 $$", ExperimentError, "it did not say why"),
    ("echo not yet; exec sleep 60", ExperimentError, "it did not say why")])
def test_what_does_not_get_ready_is_quoted(code: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught, running(shell(code), "ready", "the program"):
        pytest.fail("not reached")
    assert str(caught.value) == f"the program did not start: {said}"


def test_many_complaints_do_not_stop_it(tmp_path: Path) -> None:
    # A pipe that nobody reads holds 64 KiB, and then the program hangs.
    code = f"echo ready; head -c 300000 /dev/zero >&2; touch {tmp_path}/through; exec sleep 60"
    with running(shell(code), "ready", "the program"):
        wait_until((tmp_path / "through").exists)


@pytest.mark.root
def test_it_runs_in_the_namespace_and_we_do_not(tmp_path: Path) -> None:
    with subprocess.Popen(["unshare", "--net", "sh", "-c", "echo ready; exec sleep 60"], stdout=subprocess.PIPE,
                          text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        own = Path("/proc/self/ns/net").readlink()
        code = f"readlink /proc/self/ns/net >{tmp_path}/seen; echo ready; exec sleep 60"
        with running(shell(code), "ready", "the program", other.pid):
            assert Path("/proc/self/ns/net").readlink() == own
        assert (tmp_path / "seen").read_text().strip() == str(Path(f"/proc/{other.pid}/ns/net").readlink()) != str(own)
        other.kill()


def test_one_that_ended_is_said_with_its_last_words() -> None:
    with running(shell("echo ready; echo gone away >&2; read line; exit 3"), "ready", "the program") as program:
        program.process.wait()
        with pytest.raises(ExperimentError, match=r"^the program ended \(exit status 3\): gone away$"):
            program.check()
    with running(shell("echo ready; exec sleep 60"), "ready", "the program") as program:
        program.check()
        program.process.kill()
        program.process.wait()
        with pytest.raises(ExperimentError, match=r"^the program ended \(killed by SIGKILL\): it did not say why$"):
            program.check()
