"""Type a Python program's command without starting a Python: in a fork of this process, which has its libraries loaded.

A fresh Python takes a second for numpy, matplotlib and selenium, the fork a tenth. It has its own folder, signals, user
and output, and finds the project's modules anew, from where the program looks for them. Some tests of each program
start a real process all the same: only that shows what a shell sees.
"""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from harness.bootstrap import ROOT

OWN = tuple(path.stem for path in (*ROOT.glob("*.py"), *ROOT.glob("*/")) if not path.name.startswith("."))
MODULE = "-m"


def typed(program: str | Path, *arguments: str | Path, status: int | None = None, cwd: Path = ROOT
          ) -> "subprocess.CompletedProcess[str]":
    """Run `program` (a path, or "-m" and a module's name in front of its arguments) to its end, and return it.

    It has to end with `status` (None: with any).
    """
    words = [str(word) for word in (program, *arguments)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaints:
        process = multiprocessing.get_context("fork").Process(target=_run, args=(words, cwd, out, complaints))
        process.start()
        try:
            process.join()
            ended = process.exitcode
        finally:
            process.kill()              # after pytest-timeout's exception, or Ctrl-C
            process.join()
            process.close()
        done = subprocess.CompletedProcess(words, ended or 0, _read(out), _read(complaints))
    assert status in (None, done.returncode), f"status {done.returncode}: {done.stdout}{done.stderr}"
    return done


def plot(cwd: Path, *arguments: str | Path, status: int | None = None) -> "subprocess.CompletedProcess[str]":
    """Type ./plot.py in `cwd`."""
    return typed(ROOT / "plot.py", *arguments, status=status, cwd=cwd)


def _run(words: list[str], cwd: Path, out: IO[bytes], complaints: IO[bytes]) -> None:
    """Be the program: with what a shell would have given it, and none of this process's."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with Path(os.devnull).open("rb") as nothing:
        for file, number in ((nothing, 0), (out, 1), (complaints, 2)):
            os.dup2(file.fileno(), number)
    sys.stdout, sys.stderr = (os.fdopen(os.dup(number), "w", encoding="utf-8") for number in (1, 2))
    os.chdir(cwd)
    for name in [name for name in sys.modules if name.partition(".")[0] in OWN]:
        del sys.modules[name]
    sys.path[:] = [place for place in sys.path if place and Path(place).resolve() != ROOT]
    if words[0] == MODULE:
        sys.path.insert(0, str(ROOT))
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path.insert(0, str(Path(words[0]).parent))
        runpy.run_path(words[0], run_name="__main__")


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8")
