"""A plug-in: tests of the network run on both of the project's networks, the delay line and netem.

A test that uses the fixture `network` runs twice. Where this kernel has no netem, the second run is in User-mode Linux
(scripts/uml.sh): all of a session in one boot, by a pytest in there that writes down its results, which are given out
here under the same names. At the end stands which test ran on which network and kernel.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.network.needs import kernel_has_netem
from harness.system.processes import stop

KERNEL = Path("/usr/bin/linux.uml")
TIMEOUT_S = 1740.0
NO_BOOT = "User-mode Linux did not boot"
"""What uml.sh says where the machine does not let that kernel start."""

RESULTS = "TFO_LAB_TEST_RESULTS"
"""Environment variable: the file into which the pytest inside writes its results."""


@dataclass
class Result:
    """How a test went: `outcome` is passed, failed or skipped, `text` is why, `kernel` where it ran."""

    kernel: str
    outcome: str = "passed"
    text: str = ""
    duration_s: float = 0.0
    sections: list[tuple[str, str]] = field(default_factory=list)

    def take(self, report: pytest.TestReport) -> None:
        """Add one phase (setup, call, teardown) of the test."""
        self.duration_s += report.duration
        if report.when == "teardown":
            self.sections = list(report.sections)           # pytest puts those of all phases there
        if report.outcome != "passed":
            self.outcome, self.text = report.outcome, reason(report)


def reason(report: pytest.TestReport) -> str:
    """Return why a test failed, at length, or was skipped, in a line."""
    if report.skipped and isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return report.longreprtext


@pytest.fixture(scope="module", params=[
    pytest.param("delay line", id="delay-line"),
    pytest.param("netem", id="netem", marks=pytest.mark.timeout(TIMEOUT_S + 60))])
def network(request: pytest.FixtureRequest) -> str:
    """What delays packets: "delay line" or "netem"."""
    name: str = request.param
    return name


class FailedInUmlError(Exception):
    """A test failed in there; the text is its traceback."""


class InUml(pytest.Item):
    """A test that runs in User-mode Linux."""

    def runtest(self) -> None:
        """Have it run, together with all others, and do what it did."""
        plugin = self.config.pluginmanager.get_plugin("networks")
        assert isinstance(plugin, Networks)
        result = plugin.result_of(self)
        for title, text in result.sections:
            self.add_report_section("call", title, text)
        if result.outcome == "skipped":
            pytest.skip(result.text)
        if result.outcome == "failed":
            raise FailedInUmlError(result.text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:  # type: ignore[override]
        """Show the traceback from in there, not ours."""
        return str(excinfo.value) if excinfo.errisinstance(FailedInUmlError) else str(excinfo.getrepr())

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where and what it is."""
        return self.path, None, self.name


class Networks:
    """The hooks, and what is known of this session's tests."""

    def __init__(self, scratch: Path) -> None:
        """`scratch` is a directory for what only lasts as long as the session."""
        self._scratch = scratch
        self._here: dict[str, Result] = {}
        self._in_uml: dict[str, Result] | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Replace the tests that have to run in there, once it is clear which are to run at all."""
        over_netem = [item for item in items if network_of(item) == "netem" and not item.get_closest_marker("skip")]
        if not over_netem or kernel_has_netem():
            return
        if not KERNEL.exists():
            for item in over_netem:
                item.add_marker(pytest.mark.skip(reason="this kernel has no netem, and there is no user-mode-linux"))
            return
        for index, item in enumerate(items):
            if item in over_netem:
                assert item.parent is not None
                items[index] = in_uml = InUml.from_parent(item.parent, name=item.name)
                in_uml.own_markers += item.own_markers

    def result_of(self, item: InUml) -> Result:
        """Return how the test went in there; the first one to ask has all of them run."""
        if self._in_uml is None:
            names = [other.nodeid for other in item.session.items if isinstance(other, InUml)]
            with tempfile.TemporaryDirectory(dir=self._scratch) as directory:
                self._in_uml = run_in_uml(names, Path(directory))
        return self._in_uml[item.nodeid]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Write down how it went on which network."""
        report = yield
        if network_of(item):
            self._here.setdefault(item.nodeid, Result(f"Linux {platform.release()}")).take(report)
            if RESULTS in os.environ and report.when == "teardown":
                with Path(os.environ[RESULTS]).open("a") as results:
                    results.write(json.dumps([item.nodeid, asdict(self._here[item.nodeid])]) + "\n")
        return report

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say which test ran on which network."""
        results = {**self._here, **(self._in_uml or {})}
        if results:
            terminalreporter.section("on which network")
        for name, result in sorted(results.items()):
            kind = "netem" if "[netem" in name else "delay line"
            terminalreporter.line(f"{name}: {kind}, {result.kernel}: {result.outcome}, {result.duration_s:.1f} s")


def network_of(item: pytest.Item) -> str | None:
    """Return the network a test is to run on, None when it is not of that kind."""
    call = getattr(item, "callspec", None)
    name: str | None = call.params.get("network") if call else None
    return name


def run_in_uml(names: list[str], directory: Path) -> dict[str, Result]:
    """Run the tests in User-mode Linux; return their results, which are in words when it broke off."""
    results, output = directory / "results", directory / "output"
    command = [str(ROOT / "scripts" / "uml.sh"), "--out", str(directory), sys.executable, "-m", "pytest", "-q",
               "-p", "no:cacheprovider", *names]
    with output.open("w") as log:
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, RESULTS: str(results)}, stdout=log,
                                   stderr=subprocess.STDOUT, text=True)
        try:
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            log.write(f"\nstill running after {TIMEOUT_S:g} s: ended")
        finally:
            stop(process)
    said = output.read_text()
    outcome, text = "failed", f"the pytest in there ended before this test:\n{said[-3000:]}"
    if NO_BOOT in said:
        outcome, text = "skipped", said.strip()
    found = {name: Result("User-mode Linux", outcome, text) for name in names}
    for line in results.read_text().splitlines() if results.exists() else ():
        name, fields = json.loads(line)
        fields["kernel"] = fields["kernel"].replace("Linux", "User-mode Linux")
        found[name] = Result(**fields)
    return found
