#!/usr/bin/env bash
# Make this machine a worker of a sweep (sweep.py): set up what is missing, then measure what the scheduler at the given
# address hands out, one site at a time, until Ctrl-C. Type: sudo ./scripts/worker.sh tcp://host:8786
# The folder .sweep-tls/ must have been copied here from where ./sweep.py --serve runs. See docs/sweep.md.
# A worker that is killed is started again. Exit status: as the worker's (harness/sweep/worker.py).
set -euo pipefail

usage() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

case "${1-}" in -h | --help) usage; exit 0 ;; esac
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
if (($# == 0)); then
    echo "worker.sh: give the scheduler's address; write: sudo ./scripts/worker.sh tcp://host:8786" >&2
    exit 2
fi

child=
# shellcheck disable=SC2317  # called by the traps
stop() {
    trap '' INT TERM HUP
    [ -z "$child" ] || { kill -TERM "$child" 2>/dev/null && wait "$child"; } || true
    exit 0
}
trap stop INT TERM HUP

[[ " $* " == *" --until-eof "* ]] || ./scripts/setup.sh --sweep     # sweep.py has set up before it starts one
while true; do
    # Should we be killed, it ends as it does on Ctrl-C. <&0: what runs in bash's background reads nothing otherwise.
    setpriv --pdeathsig TERM -- .venv/bin/python -m harness.sweep.worker "$@" <&0 &
    child=$!
    status=0
    wait "$child" || status=$?
    ((status > 128)) || exit "$status"
    echo "worker.sh: the worker was killed (status $status); starting it again" >&2
    sleep 1
done
