"""A program that measures, on a machine that is late: nothing is refused for its times, neither a load nor an RTT.

    any_time.py PROGRAM [ARGUMENT...]

For tests that are about something else and run beside others, or on whatever machine. Those rules have tests of their
own: tests/corpus/test_loads.py, tests/programs/test_disturbed.py, tests/network/test_star.py.
"""

import importlib
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SPOILT = {
    "harness/measure/rule.py": "\n\nLimit.of = lambda *_: float('inf')\n",
    "harness/network/rtt.py": "\n\nTOLERANCE_RATIO = TOLERANCE_LIMIT_RATIO = 10.0\nTOLERANCE_MS = 1000.0\n",
    "connie/lab/warm_up.py": "\n\nTOLERANCE_RATIO, TOLERANCE_MS = 10.0, 1000.0\n",
}
"""What is put at the end of a module of the project, so that it judges no times."""


def judge_no_time() -> None:
    """Do so in this process."""
    sys.path.insert(0, str(ROOT))
    for path, code in SPOILT.items():
        exec(code, vars(importlib.import_module(path.removesuffix(".py").replace("/", "."))))


def judge_no_time_in(project: Path) -> None:
    """Do so in a copy of the project, whose programs a test types."""
    for path, code in SPOILT.items():
        with (project / path).open("a", encoding="utf-8") as module:
            module.write(code)


if __name__ == "__main__":
    judge_no_time()
    program = Path(sys.argv[1])
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(program.parent))
    runpy.run_path(str(program), run_name="__main__")
