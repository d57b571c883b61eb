#!/usr/bin/env python3
"""Write NAME.rtts, for tfo.py --rtt recorded, from text logs, which know no connect times: an upper bound for each RTT.

A text log has when each request was asked for and when its answer had come. That takes a round trip at least (two and
more where a connection was made), the server's own time, and the answer's on the link. So of each server the shortest
of these times is what its RTT was at most: near it where something small was asked of a server that was quick. Where
it is more than light needs to the other side of the Earth and back it says nothing: such a server is left out, and gets
the median of the others. Look the lines over before you use them, and change what you know better.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.errors import InputError, run_main
from harness.files.pages import PageFiles
from harness.files.text_log import read_log
from harness.files.urls import split_url
from harness.mirror.recording import read_recording
from harness.system.atomic import write_atomically
from harness.system.options import OptionParser, page_list_name
from harness.system.privileges import leave_root

FARTHEST_MS = 300.0
"""20,000 km and back are 200 ms in glass, at two thirds of the speed of light; cables are half as long again."""
HEAD = """# Made by scripts/make_rtts.py from the text logs of {name}: host, RTT in ms.
# Each is the shortest time that an answer of the server took, which is at least its RTT: an upper bound.
# Those over {farthest_ms:g} ms say nothing; these servers get the median of the others.
"""


def main() -> int:
    """Write the file and say what is in it."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--name", type=page_list_name, required=True, help="the recording: NAME/ and NAME.fetchlog/")
    parser.add_argument("--dir", type=Path, default=ROOT, help="where it is (the project)")
    options = parser.parse_args()
    leave_root()
    files = PageFiles(options.dir, options.name)
    if files.rtts.exists() or files.rtts.is_symlink():
        raise InputError(f"{files.rtts}: is there already; remove it to have it made anew")
    hosts = read_recording(files.mirror, files.fetchlog).hosts()
    shortest_ms = {host: time_ms for host, time_ms in shortest_answers_ms(files.fetchlog).items() if host in hosts}
    known_ms = [time_ms for time_ms in shortest_ms.values() if time_ms <= FARTHEST_MS]
    if not known_ms:
        raise InputError(f"{files.fetchlog}: no text log in it has an answer within {FARTHEST_MS:g} ms; write "
                         f"{files.rtts.name} by hand: host rtt_ms")
    lines = [f"{'' if time_ms <= FARTHEST_MS else '# '}{host} {time_ms:.1f}\n"
             for host, time_ms in sorted(shortest_ms.items())]
    write_atomically(files.rtts, HEAD.format(name=files.name, farthest_ms=FARTHEST_MS) + "".join(lines))
    print(f"{files.rtts}: {len(known_ms)} of {len(hosts)} servers, {min(known_ms):g} to {max(known_ms):g} ms "
          "at most")
    return 0


def shortest_answers_ms(fetchlog: Path) -> dict[str, float]:
    """Return the shortest time in ms from a request to the end of its answer, by host, over all text logs."""
    shortest: dict[str, float] = {}
    for path in sorted(fetchlog.iterdir()):
        if path.suffix in (".json", ".har") or not path.is_file():
            continue
        log = read_log(path)
        answered = {response.url for response in log.responses}
        for transaction in log.transactions:
            try:
                host = split_url(transaction.url)[0]
            except ValueError:
                continue
            time_ms = round(transaction.end_ms - transaction.start_ms, 1)
            if transaction.url in answered and time_ms > 0:     # 0: from the browser's own cache
                shortest[host] = min(time_ms, shortest.get(host, time_ms))
    return shortest


if __name__ == "__main__":
    run_main(main)
