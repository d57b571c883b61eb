"""A network namespace of one's own, without root: a loopback alone, and the kernel's TCP settings in one's own hand.

In a user namespace of one's own (user_namespaces(7)) an ordinary user may make a network namespace, and there write
net.ipv4.tcp_fastopen, which is root's otherwise. Not everywhere: a container, or Ubuntu's AppArmor, may forbid it.
"""

import os
import subprocess
import sys

from harness.system.fastopen import ON, SYSCTL
from harness.system.libc import call

INSIDE = "TFO_LAB_OWN_NETWORK"
"""Environment variable: this program runs in a network namespace of its own already."""
MTU = 1500
"""Of the loopback there: the kernel's 65536 would let requests into a SYN that no Ethernet carries in one."""
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
TRIAL_S = 10.0
FOR_ANYBODY = ("--user", "--map-current-user", "--keep-caps")


def enter_own_network() -> str:
    """Run this program from its beginning in a network namespace of its own; return "" when it is in one.

    Where none can be had return why, in words.
    """
    if os.environ.get(INSIDE) == str(os.getpid()):
        _keep_rights_to_ourselves()
        return ""
    enter = ["unshare", *([] if os.geteuid() == 0 else FOR_ANYBODY), "--net"]
    set_up = f"ip link set lo mtu {MTU} up"
    try:
        trial = subprocess.run([*enter, "sh", "-ec", f"{set_up}; echo {ON} >{SYSCTL}"], capture_output=True, text=True,
                               timeout=TRIAL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if trial.returncode != 0:
        return "; ".join(trial.stderr.strip().splitlines()) or f"unshare exited with {trial.returncode}"
    os.environ[INSIDE] = str(os.getpid())       # exec keeps the number
    return os.execvp(enter[0], [*enter, "sh", "-ec", f'{set_up}; exec "$@"', "sh", *sys.orig_argv])


def _keep_rights_to_ourselves() -> None:
    """Have no program that this one starts inherit what it may do here: Chrome and the servers are to have no rights.

    (capabilities(7): the ambient set is what an ordinary user's programs inherit.)
    """
    call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
