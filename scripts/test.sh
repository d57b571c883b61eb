#!/usr/bin/env bash
# Install what is missing, run every static check, then the tests: `sudo ./scripts/test.sh` is what CI runs.
# Arguments go to pytest: `sudo ./scripts/test.sh -k table`. Without root the tests that need it are skipped.
# Root without arguments gets two pytests at once: the tests that need root or compare times, whose output you see, and
# beside them the others, whose output comes after it. Ctrl-C ends both.
# The exit status is that of the first part that fails; when the checks fail, the tests do not run.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
./scripts/setup.sh --tests
./scripts/check.sh
echo "test: set-up and checks took $SECONDS s; now the tests"
PYTEST=(.venv/bin/python -m pytest)

# A network of their own, with an empty list of named namespaces: neither half sees what the other does to interfaces,
# firewalls, sysctls and namespaces, and no test takes it for its own leak. Ports are free in both.
OWN_NETWORK=(unshare --net --mount sh -c 'ip link set lo up && mkdir -p /run/netns &&
             mount -t tmpfs tmpfs /run/netns && exec "$@"' sh)
if (($#)) || [[ $(id -u) != 0 ]] || ! "${OWN_NETWORK[@]}" true 2>/dev/null; then
    exec "${PYTEST[@]}" "$@"
fi
others=$(mktemp "${TMPDIR:-/tmp}/tfo-lab-others.XXXXXX")
pids=()

# start COMMAND...: run it beside us in a session of its own, which `stop` can signal as a terminal would, with the
# signals of a program in the foreground (bash lets what runs in the background ignore Ctrl-C, and nohup a hang-up). It
# ends when we do.
start() {
    setsid env --default-signal=INT,QUIT,HUP setpriv --pdeathsig INT "$@" &
    pids+=($!)
}

# stop SIGNAL: interrupt both halves, let them clean up (until a second signal), and die of the signal.
# shellcheck disable=SC2317 # the traps below call it
stop() {
    trap - INT TERM HUP
    for pid in "${pids[@]}"; do
        kill -INT -- "-$pid" 2>/dev/null || true
    done
    wait || true
    cat "$others"
    rm -f "$others"
    kill "-$1" $$
}
trap 'stop INT' INT
trap 'stop TERM' TERM
trap 'stop HUP' HUP

start nice "${OWN_NETWORK[@]}" "${PYTEST[@]}" -m "not (root or timing)" >"$others" 2>&1
start "${PYTEST[@]}" -m "root or timing"
others_status=0 root_status=0
wait "${pids[1]}" || root_status=$?
wait "${pids[0]}" || others_status=$?
echo "test: beside these, the others:"
cat "$others"
rm -f "$others"
((root_status == 0)) || echo "test: further up, of those that need root, some failed (pytest's status $root_status)"
exit $((root_status ? root_status : others_status))
