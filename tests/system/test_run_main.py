"""How a script ends: its status, and every word that it said."""

import subprocess
import sys

from harness.bootstrap import ROOT
from tests.support.ran import ran

SCRIPT = """
import atexit, sys
from harness.errors import run_main

def main():
    print("out", end="")
    print("err", end="", file=sys.stderr)
    return 1

atexit.register(print, "taken apart")
run_main(main, at_once=True)
"""


def test_a_script_that_leaves_at_once_loses_no_word_and_keeps_its_status() -> None:
    done = ran(sys.executable, "-c", SCRIPT, cwd=ROOT)
    assert (done.stdout, done.stderr, done.returncode) == ("out", "err", 1)


def test_a_reader_that_has_ended_is_one_line() -> None:
    """`sudo ./run.sh | less`, and q: every delay that followed ended in a traceback."""
    code = "import sys; from harness.errors import run_main; " \
           "run_main(lambda: sys.stdin.readline() and print('said', flush=True) or 0)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, cwd=ROOT) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        program.stdin.write("go on\n")
        program.stdin.close()
        said = program.stderr.read()
    assert (said, program.returncode) == ("standard output: nobody reads it any more; that ends the program\n", 1)
