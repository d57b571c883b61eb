#!/usr/bin/env bash
# The experiment: load every page without and with TCP Fast Open at several round-trip times, then make the table and
# the figures. Type: sudo ./run.sh        (see --help for what can be changed)
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

name=Paper
delays='unset'
sweep_rtt='unset'
testruns=4
until_ci=
max_runs=
format=png
tfo_options=()
plot_options=()
dry_run=

usage() {
    cat <<'END'
Usage: sudo ./run.sh [options] [options of tfo.py]

  --name NAME          pages to load: NAME.pages, NAME/ and NAME.fetchlog/ (Paper)
  --delays "10 50 100" one-way delays in ms; the RTT is twice that
  --sweep-rtt 2,5,...  RTTs in ms instead: from which RTT on does TFO matter? output-figures/improvement-vs-rtt.png
                       (2,5,10,20,50,100,200 takes the paper's pages half an hour)
  --testruns N         loads of each page without and with TFO; the first warms up, the others count (4)
  --quick              one measured load instead of three
  --until-ci POINTS    then go on until half the 95% interval of each page's improvement is under POINTS percentage
                       points (such as 3), from 6 measured loads on
  --max-runs N         and give up after N measured loads (20)
  --dry-run            set up, check everything and say what would be done; measure nothing
  --bwnet MBIT         bandwidth of each server's link in Mbit/s (4)
  --http 1.0|1.1       1.0 opens a connection for every request, 1.1 keeps connections alive (1.0);
                       h2, recorded: see ./tfo.py --help, for recordings with https
  --pcap               keep a capture of each load's packets beside its log: docs/wireshark.md
  --detail             a second table: n, medians, spread, and how sure each improvement is
  --format png|svg|pdf format of the figures (png)

Results: client/, serverlogs/, output-figures/ and the table on the console. Earlier results are moved to results-DATE/.
Exit status: 0 when every page load was measured, 1 when one was not, 2 when something you gave is wrong.
END
}

bad_use() {
    echo "run.sh: $1; see ./run.sh --help" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case "$1" in
        --name | --delays | --testruns | --sweep-rtt | --until-ci | --max-runs | --format)
            [ $# -ge 2 ] || bad_use "$1 needs a value"
            option=${1#--}
            printf -v "${option//-/_}" '%s' "$2"
            shift 2
            ;;
        --detail) plot_options+=("$1"); shift ;;
        --delaynet*) bad_use "$1: say --delays, or --sweep-rtt" ;;
        --quick) testruns=2; shift ;;
        --dry-run) dry_run=yes; shift ;;
        --help | -h) usage; exit 0 ;;
        *) tfo_options+=("$1"); shift ;;
    esac
done
if [ "$sweep_rtt" != unset ]; then
    [ "$delays" = unset ] || bad_use "--sweep-rtt and --delays both say how long packets take; leave one out"
    [[ " ${tfo_options[*]-}" != *" --delayhome"* ]] || bad_use "--sweep-rtt: leave out --delayhome, which adds to the RTT"
    [[ $sweep_rtt =~ ^[0-9]+(\.[0-9]+)?(,[0-9]+(\.[0-9]+)?)*$ ]] || bad_use "--sweep-rtt: write RTTs in ms such as 2,5,10"
    delays=$(awk -v RS=, '{ printf "%s%.9g", (NR > 1 ? " " : ""), $1 / 2 }' <<<"$sweep_rtt")
fi
[ "$delays" != unset ] || delays="10 50 100"
for delay in $delays; do
    [[ $delay =~ ^[0-9]+(\.[0-9]+)?$ ]] || bad_use "--delays: '$delay' is not a number of milliseconds"
done
[ -n "${delays// /}" ] || bad_use "--delays: no delay given"
[[ $format =~ ^(png|svg|pdf)$ ]] || bad_use "--format: png, svg or pdf"
[ -z "$until_ci" ] || tfo_options+=(--until-ci "$until_ci")
[ -z "$max_runs" ] || tfo_options+=(--max-runs "$max_runs")
[[ $testruns =~ ^[0-9]+$ && $testruns -ge 2 ]] || bad_use "--testruns: at least 2, since the first load warms up"
[[ $name =~ ^[A-Za-z0-9._-]+$ && $name != .* ]] || bad_use "--name: letters, digits, '.', '_' and '-' only"
[ "$(id -u)" -eq 0 ] || { echo "run.sh: needs root for network namespaces; run: sudo ./run.sh" >&2; exit 2; }

# Whatever needs no root is done as the user who called sudo, so that results belong to that user.
as_user() {
    if [ -n "${SUDO_UID:-}" ]; then
        # shellcheck disable=SC2153  # sudo sets both
        HOME=$(getent passwd "$SUDO_UID" | cut -d: -f6) setpriv --reuid "$SUDO_UID" --regid "$SUDO_GID" --init-groups -- "$@"
    else
        "$@"
    fi
}

# A child in the background and a wait for it: only so does bash pass a signal on at once.
child=
run_child() {
    "$@" &
    child=$!
    local status=0
    wait "$child" || status=$?
    child=
    return "$status"
}

# shellcheck disable=SC2317  # called by the traps
stop() {
    trap '' INT TERM HUP
    if [ -n "$child" ]; then
        kill -TERM "$child" 2>/dev/null || true
        wait "$child" || true
    fi
    restore
    trap - EXIT "$1"
    kill -"$1" $$
}

tfo() {
    local delay=$1
    shift
    run_child ./tfo.py --name "$name" --delaynet "$delay" --testruns "$testruns" \
        ${tfo_options[@]+"${tfo_options[@]}"} "$@"
}

root_fastopen=/proc/sys/net/ipv4/tcp_fastopen
fastopen_before=
# shellcheck disable=SC2317  # called by the traps
restore() {
    if [ -n "$fastopen_before" ]; then
        echo "$fastopen_before" >"$root_fastopen"
        fastopen_before=
    fi
}
trap restore EXIT
for signal in INT TERM HUP; do
    # shellcheck disable=SC2064  # the signal's name is meant to be filled in now
    trap "stop $signal" "$signal"
done

# One experiment at a time: two would share the machine, and neither's times would be true.
lock=/run/tfo-lab.lock
exec 9<>"$lock"
if ! flock --nonblock 9; then
    echo "$lock: another experiment is running: $(<"$lock"); wait for its end or stop it" >&2
    exit 2
fi
echo "pid $$ (./run.sh --name $name) since $(date +%T)" >"$lock"
export TFO_LAB_LOCK_FD=9

run_child ./scripts/setup.sh
if [ "$name" = Paper ]; then
    run_child as_user ./scripts/make_pages.py --name Paper
fi
[ -f "$name.pages" ] || { echo "$name.pages:1: no such file; make it with one URL per line" >&2; exit 2; }

# Whatever is wrong with the pages or the options shows here, before anything is moved or measured.
for delay in $delays; do
    tfo "$delay" --dry-run >/dev/null
done

pages=$(grep -c '[^[:space:]]' "$name.pages" || true)
delay_count=$(wc -w <<<"$delays")
runs=$testruns
at_most=
if [ -n "$until_ci" ]; then
    runs=$((${max_runs:-20} + 1))   # 20 as in tfo.py, and the warm-up
    at_most="at most "
fi
loads=$((pages * runs * 2 * delay_count))
echo "$at_most$pages pages x $runs runs x TFO off and on x $delay_count delays = $loads page loads;" \
     "about $(((loads * 7 + 59) / 60)) minutes for pages like the paper's"
[ -z "$dry_run" ] || exit 0

# Old results are kept, and never mixed with new ones.
shopt -s nullglob
old_results=(client serverlogs output-figures/*.{png,svg,pdf,html})
if [ -e client ] || [ -e serverlogs ]; then
    kept="results-$(date +%Y%m%d-%H%M%S)"
    as_user mkdir -p "$kept/output-figures"
    for result in "${old_results[@]}"; do
        [ ! -e "$result" ] || mv "$result" "$kept/$result"
    done
    echo "The results of the last run are now in $kept/"
fi

fastopen_before=$(<"$root_fastopen")
echo 3 >"$root_fastopen"

status=0
failed=
for delay in $delays; do
    tfo "$delay" || failed+=" $delay"
done

run_child as_user ./plot.py --clientdir client --outputdir output-figures --format "$format" \
    ${plot_options[@]+"${plot_options[@]}"} || status=1
if [ -n "$failed" ]; then
    echo "run.sh: with a delay of$failed ms not all was measured; what and why is said above, where that delay's loads are" >&2
    status=1
fi
exit "$status"
