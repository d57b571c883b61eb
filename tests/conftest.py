"""What holds for every test: who can run where, and that nothing of a test is left behind on the machine."""

import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from harness.browser.program import BINARIES
from harness.errors import InputError
from harness.system.lock import only_experiment
from tests.support.leaks import Snapshot, find_leaks, take_own_snapshot, take_snapshot
from tests.support.session import SHARED, enter_own_machine, give_what_stays

ROOT = Path(__file__).resolve().parent.parent
pytest.register_assert_rewrite("tests.support.noted")       # a failed test shows what differs
SCRATCH = pytest.StashKey[Path]()
CALLER = pytest.StashKey[tuple[int, int] | None]()
"""Who called sudo: user and group."""

# The same examples every time: a test of main must not fail by chance. To search for new ones, and thoroughly:
# HYPOTHESIS=search .venv/bin/python -m pytest tests/PACKAGE/test_NAME.py
settings.register_profile("same", derandomize=True, max_examples=50, deadline=None)
settings.register_profile("search", max_examples=5000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS", "same"))
if "HYPOTHESIS" not in os.environ:
    # Hypothesis draws numbers and words out of all of the project's modules that are loaded: other ones after each
    # change of any of them, and after tests that import more, which are not the same ones in a worker twice.
    vars(providers)["_get_local_constants"] = lambda: providers._local_constants


def pytest_configure(config: pytest.Config) -> None:
    """Give this session a TMPDIR of its own: it marks every process of ours, and whatever stays in it is a leak."""
    # Pytest's own directories stay where one looks for them after a failure.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    # A short name: Chrome puts a socket below it, and a socket's path has at most 107 bytes (unix(7)).
    scratch = Path(tempfile.mkdtemp(prefix="tfo-lab-", dir=os.environ["PYTEST_DEBUG_TEMPROOT"]))
    scratch.chmod(0o1777)                                   # as /tmp: Chrome runs as another user
    config.stash[SCRATCH] = scratch
    shared = Path(os.environ.get(SHARED, "/nowhere"))
    if shared.is_dir():             # not in User-mode Linux; scripts/test.sh removes what a killed worker leaves
        (shared / f"scratch-{os.getpid()}").symlink_to(scratch)
    os.environ["TMPDIR"] = str(scratch)
    tempfile.tempdir = None                                 # makes tempfile look at TMPDIR again
    # Tests run as root itself, whoever called sudo, as pytest's directories are root's; those about sudo set these.
    caller = os.environ.pop("SUDO_UID", None), os.environ.pop("SUDO_GID", None)
    config.stash[CALLER] = (int(caller[0]), int(caller[1])) if caller[0] and caller[1] else None
    if hasattr(config, "workerinput") and os.geteuid() == 0:    # one of pytest-xdist's, beside others
        enter_own_machine(scratch)
    elif os.geteuid() == 0:
        # What a killed run left in net.ipv4.tcp_fastopen: a test's first experiment would put it back, as if it leaked.
        with suppress(InputError), only_experiment():       # an experiment that runs now is not ours to end
            pass


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove TMPDIR, and give what stays in the project to who called sudo."""
    shutil.rmtree(config.stash[SCRATCH], ignore_errors=True)
    owner = config.stash[CALLER]
    if os.geteuid() == 0 and owner:
        give_what_stays(ROOT, *owner)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run here, with the reason; files with slow tests first, what compares times last."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.get_closest_marker("timing") is not None, item.path not in slow))
    has_browser = any(Path(binary).exists() for binary in (os.environ.get("TFO_LAB_CHROME"), *BINARIES) if binary)
    for item in items:
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs root; run: sudo ./scripts/test.sh"))
        if item.get_closest_marker("chrome") and not has_browser:
            item.add_marker(pytest.mark.skip(reason="no Chrome here; run: sudo ./scripts/setup.sh"))


def pytest_collection_finish() -> None:
    """Keep what was imported out of later searches for garbage: the leak detectors make one around every test."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """Give a directory that other users may pass through; pytest's own are closed to them."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(autouse=True, scope="module")
def _module_leaves_nothing(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the last test of a file whose shared fixtures leave something behind."""
    items = [item for item in request.session.items if item.path == request.path]
    with _machine_as_before(request, items, with_rules=True):
        yield


@pytest.fixture(autouse=True)
def _test_leaves_nothing(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a thread, a socket, a descriptor or a child behind, and name what.

    One that needs root or Chrome is looked after on the whole machine, too; iptables' rules only where it needs root,
    else those are looked at once a file.
    """
    needs_root = request.node.get_closest_marker("root") is not None
    with _as_before(take_own_snapshot), _machine_as_before(request, [request.node], with_rules=needs_root):
        yield


def _machine_as_before(request: pytest.FixtureRequest, items: list[pytest.Item], *, with_rules: bool
                       ) -> AbstractContextManager[None]:
    if not any(item.get_closest_marker(name) for item in items for name in ("root", "chrome")):
        return nullcontext()
    return _as_before(partial(take_snapshot, request.config.stash[SCRATCH], with_rules))


@contextmanager
def _as_before(take: Callable[[], Snapshot]) -> Iterator[None]:
    before = take()
    yield
    leaks = find_leaks(before, take)
    if leaks:
        pytest.fail("\n".join(leaks), pytrace=False)
