"""Run a program on `user` instead of loading pages: to look around, or to record the replay itself."""

import os
import pwd
import shlex
import subprocess

from harness.errors import InputError
from harness.network.star import Host
from harness.system.netns import inside
from harness.system.privileges import User
from harness.system.processes import stop


def run_on_user(host: Host, command: str, user: User) -> int:
    """Run `command` (words as in a shell, no pipes) as `user` in the network of `host`; return its exit status.

    It shares this program's terminal and directory. Raises InputError when it is not a command or cannot be started.
    """
    try:
        words = shlex.split(command)
        with inside(host.pid):
            process = subprocess.Popen(words or [""], text=True, env={**os.environ, **_of(user)}, user=user.uid,
                                       group=user.gid, extra_groups=[user.gid])
    except (ValueError, OSError) as error:
        raise InputError(f"tfo.py: --on-user: {command!r} cannot be started: {error}") from None
    try:
        return process.wait()
    finally:
        stop(process)


def _of(user: User) -> dict[str, str]:
    """Return what makes programs take `user` for who runs them."""
    try:
        home = pwd.getpwuid(user.uid).pw_dir
    except KeyError:                # a container may know the number only
        return {}
    return {"USER": user.name, "LOGNAME": user.name, "HOME": home}
