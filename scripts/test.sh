#!/usr/bin/env bash
# Install what is missing, run every static check and all tests: `sudo ./scripts/test.sh` is what CI runs.
# The tests that compare times run one after the other, since a busy machine makes packets late. They wait most of the
# time: what they leave of the processors goes to the checks and to all the other tests, which run side by side, each
# worker with a network and a lock of its own. Where the kernel has no idle group for these (or without root), or where
# another program keeps a processor busy, which would leave them hardly any, they run before, not beside.
# Without root the tests that need it are skipped.
# On so busy a machine a test may fail for lack of a processor. What failed is named and run again, with the machine for
# itself, twice at most, and that counts.
# Arguments go to one pytest, and the checks are left out: `sudo ./scripts/test.sh -k table`.
# The exit status is that of the first part that fails.
set -euo pipefail

usage() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

if (($# == 1)) && [[ $1 == -h || $1 == --help ]]; then      # beside other arguments they are pytest's
    usage
    exit 0
fi
CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.."
SIDE_BY_SIDE="not timing"
AT_ONCE=3                       # on two cores: they wait much of the time, for silence or for an answer
unset PYTHONDONTWRITEBYTECODE   # as containers set it: tfo.py takes 0.8 s to start then, instead of 0.5
REAL_TIME_US=300000             # of each second, for the delay lines of an idle group

# Make a group of processes that get a processor only when no others want it (cpu.idle, of Linux 5.15 on), as a nice
# value does not among sessions (sched(7), autogroup). Set `group` to its folder, of cgroups' version 1 or 2.
make_idle_group() {
    local parent stale
    for parent in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
        [[ -e $parent/cgroup.procs ]] || continue       # of version 1 the upper folder is no group
        for stale in "$parent"/tfo-lab-tests-*; do      # what a killed run left has a share of the real time
            kill -0 "${stale##*-}" 2>/dev/null || rmdir "$stale" 2>/dev/null || true
        done
        group=$parent/tfo-lab-tests-$$
        mkdir "$group" 2>/dev/null || continue
        if { echo 1 >"$group/cpu.idle"; } 2>/dev/null &&
            { [[ ! -e $group/cpu.rt_runtime_us ]] || echo "$REAL_TIME_US" >"$group/cpu.rt_runtime_us"; }; then
            return
        fi
        rmdir "$group"
    done
    group=
    return 1
}

# Say which programs keep a processor busy, in words.
others_at_work() {
    .venv/bin/python -c 'from harness.system.environment import processor_times, busiest; import time
before = processor_times(); time.sleep(2); print("; ".join(busiest(before, processor_times(), 2000)))'
}

# Start a part of the tests and set `running`. A shell's background jobs ignore Ctrl-C unless told otherwise, and it would
# not hear of a signal before one in the foreground ends.
start() {
    env --default-signal=INT "$@" &
    running+=($!)
}

# Start a part in the idle group.
start_idle() {
    # shellcheck disable=SC2016  # the inner shell's arguments
    start sh -c 'echo $$ >"$0" && exec "$@"' "$group/cgroup.procs" "$@"
}

# Wait for the part number $1, and keep the first status that is not 0.
join() {
    wait "${running[$1]}" || status=$((status ? status : $?))
}

# Run again what failed of the tests with the cache $2, which ended with the status $1. The host of a virtual machine
# may take its processors for a minute, so this is done twice if need be.
again() {
    local left=$1 tries
    for ((tries = 0; tries < 2 && left == 1; tries++)); do
        echo "test: $SECONDS s; what failed is run again, alone"
        start .venv/bin/python -m pytest -o cache_dir="$2" --last-failed --last-failed-no-failures none
        left=0
        wait "${running[-1]}" || left=$?
    done
    status=$((status ? status : left))
}

# Remove the idle group. It cannot be removed while a process is in it, and what was told to end may need a moment.
# shellcheck disable=SC2317  # called by the trap
remove_idle_group() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        if rmdir "$group" 2>/dev/null; then
            return 0        # without the 0 it would be the status before the trap
        fi
        sleep 0.1
    done
    echo "test: $group stays: a process is in it still" >&2
}

# End what still runs, and remove what was made for the tests. After Ctrl-C all have been told to end already.
# shellcheck disable=SC2317  # called by the trap
tidy() {
    local status=$?
    trap - EXIT INT TERM HUP
    ((status == 130)) || kill -INT "${running[@]}" 2>/dev/null || true
    wait
    find "$TFO_LAB_TEST_SHARED" -name 'scratch-*' -exec readlink -z {} + | xargs -0 --no-run-if-empty rm -rf
    rm -rf "$TFO_LAB_TEST_SHARED"
    [[ -z $group ]] || remove_idle_group
    [[ -z ${SUDO_UID:-} ]] || find .venv -user root -exec chown -h "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" {} +
}

./scripts/setup.sh --tests
if (($#)); then
    exec .venv/bin/python -m pytest "$@"
fi
echo "test: set-up took $SECONDS s; now the checks and the tests"
TFO_LAB_TEST_SHARED=$(mktemp -d)    # what both parts use, such as a recording of the test internet
export TFO_LAB_TEST_SHARED
log=$TFO_LAB_TEST_SHARED/side-by-side.log
checks=$TFO_LAB_TEST_SHARED/checks.log
running=()
group=
status=0 alone=0 beside=0
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

mapfile -t timed < <(grep -rl --include='test_*.py' 'mark\.timing' tests)       # to look into all files takes 6 s more
ALONE=.pytest_cache/alone BESIDE=.pytest_cache/beside
one_by_one=(.venv/bin/python -m pytest -o cache_dir="$ALONE" -m "not ($SIDE_BY_SIDE)" "${timed[@]}")
side_by_side=(.venv/bin/python -m pytest -o cache_dir="$BESIDE" -n "$AT_ONCE" --dist loadfile --no-loadscope-reorder
              -m "$SIDE_BY_SIDE")
busy=$(others_at_work)
[[ -z $busy ]] || echo "test: $busy: one part of the tests runs after the other"
if [[ -z $busy ]] && make_idle_group; then
    start_idle ./scripts/check.sh >"$checks" 2>&1
    start_idle "${side_by_side[@]}" >"$log" 2>&1
    start "${one_by_one[@]}"
    wait "${running[2]}" || alone=$?
    join 0
    cat "$checks"
    echo "test: $SECONDS s; beside these run those that compare no times:"
    start tail --lines=+1 --follow --pid="${running[1]}" "$log"
    wait "${running[3]}"
    wait "${running[1]}" || beside=$?
    again "$beside" "$BESIDE"
    again "$alone" "$ALONE"
else
    start ./scripts/check.sh
    join 0
    start "${side_by_side[@]}"
    wait "${running[-1]}" || beside=$?
    again "$beside" "$BESIDE"
    echo "test: $SECONDS s; now the tests that compare times, one after the other"
    start "${one_by_one[@]}"
    wait "${running[-1]}" || alone=$?
    again "$alone" "$ALONE"
fi
exit "$status"
