"""tfo.py with one thing broken on purpose; run by test_experiment.py.

    spoiled_experiment.py document|chrome|authority=DIR [options of tfo.py]

document   bad.test's document vanishes from the mirror once the servers run: they answer 404
chrome     the browser is killed while it loads
authority  the browser is told to trust the certificate authority in DIR, not the servers'
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import tfo
from harness.authority import open_authority
from harness.processes import descendants
from harness.servers import ServerSettings, running_servers
from harness.signals import run_interruptible
from harness.star import Star

KILL_AFTER_S = 0.3


def without_document(start: Callable[..., Any]) -> Callable[..., Any]:
    """Take the document away after the preflight has found it and before the servers start."""

    def started(star: Star, settings: ServerSettings, work_dir: Path) -> Any:
        (settings.mirror / "bad.test" / "index.html").unlink()
        return start(star, settings, work_dir)

    return started


def kill_browsers() -> None:
    """Kill every Chrome below this process shortly after it appears, for as long as this process lives."""
    while True:
        time.sleep(0.05)
        for pid in descendants(os.getpid()):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if b"--log-net-log" in command and b"--type=" not in command:
                time.sleep(KILL_AFTER_S)
                subprocess.run(["kill", "-KILL", str(pid)], check=False)


if __name__ == "__main__":
    what = sys.argv.pop(1)
    if what == "document":
        vars(tfo)["running_servers"] = without_document(running_servers)
    elif what.startswith("authority="):
        vars(tfo)["open_authority"] = lambda owner: open_authority(Path(what.partition("=")[2]), owner)
    else:
        threading.Thread(target=kill_browsers, daemon=True).start()
    run_interruptible(tfo.main)
