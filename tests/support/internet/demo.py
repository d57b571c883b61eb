"""Make demo.har anew: two pages of the test internet, as fetch.py records them of servers 12 to 180 ms away.

    sudo .venv/bin/python -m tests.support.internet.demo demo.har

The test internet answers from the machine itself, so its pages are recorded twice: first from there, then from a star
whose servers replay that recording, each as far away as RTTS_MS says. The second is the demo.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from harness.bootstrap import ROOT
from tests.support.internet import site
from tests.support.internet.recorded import record
from tests.support.internet.server import serve

PAGES = (site.CLASSIC, site.MODERN)
RTTS_MS = {site.HOME: 40, site.MEDIA: 25, site.CDN: 12, site.API: 120, site.ADS: 90, site.LOGIN: 180}
NEAR, DEMO = "near", "demo"


def make_demo(har: Path, base: Path) -> None:
    """Write the recording of PAGES to the file `har`; what is in between goes to `base`. Needs root."""
    with serve() as internet:
        record(base, NEAR, internet.remap, internet.ca, PAGES)
    hosts = {path.name for path in (base / NEAR).iterdir()}
    (base / f"{NEAR}.rtts").write_text("".join(f"{host} {RTTS_MS[host]}\n" for host in sorted(hosts & RTTS_MS.keys())))
    (base / f"{DEMO}.pages").write_text("\n".join(PAGES) + "\n")
    fetch = f"{ROOT}/fetch.py --dir {base} --name {DEMO} --remap {base}/hack_dns --ca {ROOT}/.authority/ca.pem"
    run("tfo.py", "--dir", base, "--name", NEAR, "--rtt", "recorded", "--http", "recorded", "--bwnet", 1000,
        "--on-user", fetch)
    run("fetch.py", "--dir", base, "--name", DEMO, "--to", har.resolve())


def run(program: str, *arguments: object) -> None:
    """Run one of the project's programs."""
    subprocess.run([ROOT / program, *map(str, arguments)], check=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="tfo-lab-demo-") as directory:
        make_demo(Path(sys.argv[1]), Path(directory))
