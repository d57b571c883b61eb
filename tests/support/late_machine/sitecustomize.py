"""With this folder on PYTHONPATH, TFO Lab's programs refuse no load and no RTT because the machine is late.

Python imports a module of this name before it runs a program (its documentation of site). So the programs are those
that are shipped, and a test's environment says on what machine they run. For tests that are about something else and
run beside others. Limits of time have tests of their own: tests/corpus/test_loads.py,
tests/measure/test_rtts.py.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


def _forget_limits(module: ModuleType) -> None:
    vars(module)["Limit"].of = lambda *_: float("inf")


def _widen(module: ModuleType) -> None:
    assert "TOLERANCE_RATIO" in vars(module)
    vars(module).update(TOLERANCE_RATIO=10.0, TOLERANCE_LIMIT_RATIO=10.0, TOLERANCE_MS=1000.0)


LATE: dict[str, Callable[[ModuleType], None]] = {
    "harness.measure.rule": _forget_limits, "harness.network.rtt": _widen, "connie.lab.warm_up": _widen}
"""The modules that judge times, and what is done to each as soon as it has been imported."""


class LateMachine:
    """The first that Python asks for a module (importlib.abc.MetaPathFinder)."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, *_: object) -> ModuleSpec | None:
        """Return a spec of one of the modules in LATE; of all others there is None here, and the next one is asked."""
        spec = PathFinder.find_spec(name, path) if name in LATE else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_late(module: ModuleType) -> None:
            execute(module)
            LATE[name](module)

        vars(spec.loader)["exec_module"] = execute_late
        return spec


if __name__ == "sitecustomize":
    sys.meta_path.insert(0, LateMachine)
