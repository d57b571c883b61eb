"""All processes of an experiment end together: they live in a PID namespace, which the kernel ends with its first one.

    tfo.py as it was started    passes signals on, waits, and ends as the experiment ended
      the keeper, PID 1         waits for the experiment; then ends all that still runs and removes its folder
        the experiment          the rest of tfo.py, and all that it starts: servers, delay line, hosts, Chrome

Whichever of them is killed, by SIGKILL too, the kernel ends the rest (pid_namespaces(7)). Network namespaces, links and
rules go with their processes. The experiment's /proc shows its own processes; `machines_proc()` is the machine's.
"""

import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from harness.system.libc import call
from harness.system.namespaces import fork_into_namespace, see_own_processes, why_none
from harness.system.privileges import act_as, invoking_user, passable_temp_root, require_root
from harness.system.processes import PR_SET_PDEATHSIG, stat_of
from harness.system.scratch import sweep

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
STARTED_AS_DIED = signal.SIGUSR1
"""What the kernel sends the keeper when the program as it was started has ended."""
BY_SIGNAL = 128
"""The keeper's exit status, less this, is the number of the signal that ended the experiment, as a shell has it."""
TITLE = b"TFO Lab: ends all that is left of an experiment"
"""The keeper's command line: not that of the program, so that who kills all of that name leaves who cleans up."""
_machine: dict[str, int] = {}
"""Of a contained program: a descriptor of the machine's /proc ("proc"), and the number there of the program as it was
started ("pid")."""


def begin_experiment(command: str) -> None:
    """Begin a program that builds networks: contained, and as the user who called sudo but for what is done as root.

    Raises InputError without root; `command` is what to type instead.
    """
    require_root(command)
    contain()
    act_as(invoking_user())


def contain() -> None:
    """Go on as an experiment that is contained; in the program as it was started, never return.

    Where that is not allowed, say so in a line and go on as before: what context managers clean up is cleaned up, and
    after SIGKILL something may be left. To be called while there are no threads.
    """
    if why := why_none():
        print(f"no PID namespace can be made here ({why}): what SIGKILL ends may leave processes", file=sys.stderr)
        return
    proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    pid, alive = os.getpid(), os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    if keeper := fork_into_namespace():
        os.close(alive[0])
        _wait_for(keeper)
    os.close(alive[1])
    see_own_processes()
    if program := os.fork():
        _keep(program, alive[0])
    os.close(alive[0])
    _machine.update(proc=proc, pid=pid)


def machines_proc() -> Path:
    """Return the machine's /proc, which has all processes by the numbers that users know."""
    return Path(f"/proc/self/fd/{_machine['proc']}" if _machine else "/proc")


def started_as() -> int:
    """Return the number, in the machine's /proc, of this program as it was started."""
    return _machine.get("pid", os.getpid())


def started_by() -> int:
    """Return the number, in the machine's /proc, of the process that started this program; another if that ended."""
    return int(stat_of(started_as(), machines_proc())[1])


def _wait_for(keeper: int) -> NoReturn:
    """Wait for the keeper's end, passing signals on, and end as the experiment did."""
    for number in PASSED_ON:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _frame: _send(keeper, number))
    code = os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1])
    _end_as(BY_SIGNAL - code if code - BY_SIGNAL in list(signal.Signals) else code)


def _end_as(code: int) -> NoReturn:
    """End with an exit status or, where it is negative, by the signal of that number, as subprocess has it."""
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _keep(program: int, alive: int) -> NoReturn:
    """Be the keeper, and end as `program` does. `alive` is a pipe that the program as it was started holds."""
    def end_all(_number: int, _frame: FrameType | None) -> None:
        _send(-1, signal.SIGKILL)           # kill(2): all processes of this namespace but its first

    for number in PASSED_ON:
        signal.signal(number, lambda number, _frame: _send(program, number))
    signal.signal(STARTED_AS_DIED, end_all)
    call("prctl", PR_SET_PDEATHSIG, STARTED_AS_DIED, 0, 0, 0)
    if select.select([alive], [], [], 0)[0]:        # it had ended before
        os._exit(1)
    _show_title()
    ended, how = os.wait()
    while ended != program:
        ended, how = os.wait()
    _send(-1, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            os.wait()
    with suppress(OSError):
        act_as(invoking_user())
        sweep(passable_temp_root())
    code = os.waitstatus_to_exitcode(how)
    os._exit(code if code >= 0 else BY_SIGNAL - code)


def _show_title() -> None:
    """Have ps(1) show TITLE: written over our command line, which lies where proc(5) says (arg_start, arg_end)."""
    start, end = map(int, stat_of("self")[45:47])
    with suppress(OSError), Path("/proc/self/mem").open("r+b", buffering=0) as memory:
        memory.seek(start)
        memory.write(TITLE[:end - start - 1].ljust(end - start, b"\0"))
