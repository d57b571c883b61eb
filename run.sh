#!/usr/bin/env bash
# The experiment: load every page without and with TCP Fast Open at several round-trip times, then make the table and
# the figures. Type: sudo ./run.sh        (see --help for what can be changed)
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

name=Paper
delays='unset'
sweep_rtt='unset'
rtt=
testruns=4
until_ci=
max_runs=
format=png
tfo=both
tfo_options=()
plot_options=()
dry_run=
resume=
run_options=client/run.options
run_log=client/run.log

usage() {
    cat <<'END'
Usage: sudo ./run.sh [options] [options of tfo.py]

  --name NAME          pages to load: NAME.pages, NAME/ and NAME.fetchlog/ (Paper); demo: two small ones
  --delays "10 50 100" one-way delays in ms; the RTT is twice that
  --sweep-rtt 2,5,...  RTTs in ms instead: from which RTT on does TFO matter? output-figures/improvement-vs-rtt.png
                       (2,5,10,20,50,100,200 takes the paper's pages half an hour)
  --rtt recorded[*K]   instead: each server as far away as it was when it was recorded, or K times that; with --delays
                       or --sweep-rtt scaled, so that the median of the servers' RTTs is those
  --think recorded     each server takes its time before it answers, as it did when it was recorded
  --testruns N         loads of each page without and with TFO; the first warms up, the others count (4)
  --quick              one measured load instead of three
  --until-ci POINTS    then go on until half the 95% interval of each page's improvement is under POINTS percentage
                       points (such as 3), from 6 measured loads on
  --max-runs N         and give up after N measured loads (20)
  --resume             go on with the last run, which was interrupted or partly failed: measure only what is missing
                       of it, with its options, seed and order
  --dry-run            set up, check everything and say what would be done; measure nothing
  --bwnet MBIT         bandwidth of each server's link in Mbit/s (4)
  --http 1.0|1.1       1.0 opens a connection for every request, 1.1 keeps connections alive (1.0);
                       h2, recorded: see ./tfo.py --help, for recordings with https
  --paper              the paper's network and browser, and its Table 1 beside ours
  --cookies cold       as on a first visit; domain: one cookie for a site (warm, what the paper measured)
  --layout domain      one server for all host names of a domain; one: for all; recorded: as it was; FILE: host server
                       lines (host: a server for each name)
  --connections-per-host N     more or fewer than Chrome's 6
                       what these ask, and what came of it here: docs/experiments.md
  --pcap               keep a capture of each load's packets beside its log: docs/wireshark.md
  --detail             a second table: n, medians, spread, and how sure each improvement is
  --format png|svg|pdf format of the figures (png)

Results: client/, serverlogs/, output-figures/ and the table on the console. Earlier results are moved to results-DATE/.
What is printed is kept, too: client/run.log.
Exit status: 0 when every page load was measured, 1 when one was not, 2 when something you gave is wrong, 69 when this
machine lacks something, 75 when another experiment runs on it.
END
}

bad_use() {
    echo "run.sh: $1; see ./run.sh --help" >&2
    exit 2
}

# many NUMBER WHAT: 1 page, 2 pages.
many() { printf '%s %s%s' "$1" "$2" "$([ "$1" = 1 ] || echo s)"; }

given=()
for word in "$@"; do
    case "$word" in
        --resume) resume=yes ;;
        *$'\n'*) bad_use "an option with a line break in it" ;;
        *) given+=("$word") ;;
    esac
done
digit='[0123456789]'    # [0-9] has the digits of other scripts in some locales
for variable in SUDO_UID SUDO_GID; do
    [[ ${!variable-0} =~ ^(0|[123456789]$digit{0,9})$ ]] ||
        { echo "run.sh: $variable: '${!variable}' is not a number; unset it, or run: sudo ./run.sh" >&2; exit 2; }
done
# Whatever needs no root is done as the user who called sudo, so that results belong to that user.
become_user=()
if [ "$(id -u)" -eq 0 ] && [ -n "${SUDO_UID:-}" ]; then
    # shellcheck disable=SC2153  # sudo sets both
    become_user=(env "HOME=$(getent passwd "$SUDO_UID" | cut -d: -f6 || true)" setpriv --reuid "$SUDO_UID" --regid "$SUDO_GID" --init-groups --)
fi
[ "${SUDO_UID:-0}" != 0 ] || umask 022     # the servers of root itself are an ordinary user's, who must read the pages
as_user() { ${become_user[@]+"${become_user[@]}"} "$@"; }
if [ -n "$resume" ]; then
    [ -f "$run_options" ] || bad_use "--resume: there is no run to go on with ($run_options); leave it out"
    mapfile -t saved < <(as_user head -c 65536 "$run_options")
    [ ${#given[@]} -eq 0 ] || [ "${given[*]}" = "${saved[*]-}" ] ||
        bad_use "--resume goes on with the options of that run (${saved[*]-none}); leave out others"
    given=(${saved[@]+"${saved[@]}"})
    tfo_options+=(--resume)
fi

set -- ${given[@]+"${given[@]}"}
while [ $# -gt 0 ]; do
    case "$1" in
        --name=* | --delays=* | --testruns=* | --sweep-rtt=* | --rtt=* | --until-ci=* | --max-runs=* | --format=* | --tfo=*)
            set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
    esac
    case "$1" in
        --name | --delays | --testruns | --sweep-rtt | --rtt | --until-ci | --max-runs | --format | --tfo)
            [ -n "${2-}" ] || bad_use "$1 needs a value"
            option=${1#--}
            printf -v "${option//-/_}" '%s' "$2"
            shift 2
            ;;
        --detail) plot_options+=("$1"); shift ;;
        --dry-run=*) bad_use "$1: is for ./tfo.py alone" ;;
        --dir | --dir=* | --on-user | --on-user=*) bad_use "${1%%=*}: is for ./tfo.py alone" ;;
        --delaynet | --delaynet=*) bad_use "--delaynet: say --delays, or --sweep-rtt" ;;
        --quick) testruns=2; shift ;;
        --dry-run) dry_run=yes; shift ;;
        --help | -h) usage; exit 0 ;;
        *) tfo_options+=("$1"); shift ;;
    esac
done
if [ "$sweep_rtt" != unset ]; then
    [ "$delays" = unset ] || bad_use "--sweep-rtt and --delays both say how long packets take; leave one out"
    [[ " ${tfo_options[*]-}" != *" --delayhome"* ]] || bad_use "--sweep-rtt: leave out --delayhome, which adds to the RTT"
    [[ $sweep_rtt =~ ^$digit+(\.$digit+)?(,$digit+(\.$digit+)?)*$ ]] || bad_use "--sweep-rtt: write RTTs in ms such as 2,5,10"
    # LC_ALL=C: elsewhere 2.5 is 2 to an awk that reads 2,5, and prints that.
    delays=$(LC_ALL=C awk -v RS=, '{ printf "%s%.9g", (NR > 1 ? " " : ""), $1 / 2 }' <<<"$sweep_rtt")
fi
[ -z "$rtt" ] || tfo_options+=(--rtt "$rtt")
if [ "$delays" = unset ]; then
    delays="10 50 100"
    [ -z "$rtt" ] || delays=recorded    # one experiment, whose delays the recording tells
fi
for delay in $delays; do
    [ -n "$rtt" ] && [ "$delay" = recorded ] || [[ $delay =~ ^(0|[123456789]$digit{0,6})(\.$digit{1,6})?$ ]] ||
        bad_use "--delays: '$delay' is not a number of milliseconds"
done
twice=$(LC_ALL=C awk -v RS='[ \n]+' 'NF && seen[$1 + 0]++ { print $1; exit }' <<<"$delays")
[ -z "$twice" ] || bad_use "--delays: $twice stands there twice"
[ -n "${delays// /}" ] || bad_use "--delays: no delay given"
[[ $format =~ ^(png|svg|pdf)$ ]] || bad_use "--format: png, svg or pdf"
[ -z "$until_ci" ] || tfo_options+=(--until-ci "$until_ci")
[ -z "$max_runs" ] || tfo_options+=(--max-runs "$max_runs")
[[ $testruns =~ ^[123456789]$digit{0,3}$ && $testruns -ge 2 && $testruns -le 1000 ]] ||
    bad_use "--testruns: from 2, since the first load warms up, to 1000"
[[ $tfo =~ ^(0|1|both)$ ]] || bad_use "--tfo: 0, 1 or both"
[[ $name =~ ^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$ ]] ||
    bad_use "--name: letters, digits, '.', '_' and '-' only, and no '.' or '-' in front"
[ "$(id -u)" -eq 0 ] || { echo "run.sh: needs root for network namespaces; run: sudo ./run.sh" >&2; exit 2; }

# A child in the background and a wait for it: only so does bash pass a signal on at once. The child is the program
# itself, not a function: else a shell of its own would get the signal, and the program would live on.
child=
run_child() {
    "$@" &
    child=$!
    local status=0
    wait "$child" || status=$?
    child=
    return "$status"
}
run_user_child() { run_child ${become_user[@]+"${become_user[@]}"} "$@"; }

# shellcheck disable=SC2317  # called by the traps
stop() {
    trap '' INT TERM HUP QUIT
    if [ -n "$child" ]; then
        kill -TERM "$child" 2>/dev/null || true
        wait "$child" || true
    fi
    restore
    trap - EXIT "$1"
    kill -"$1" $$
    exit 131        # of SIGQUIT bash does not die
}

tfo() {
    local delay=$1
    shift
    local delaynet=()
    [ "$delay" = recorded ] || delaynet=(--delaynet "$delay")
    # Should we be killed, it ends as it does on Ctrl-C.
    run_child setpriv --pdeathsig TERM -- ./tfo.py "$@" --name "$name" ${delaynet[@]+"${delaynet[@]}"} --testruns "$testruns" --tfo "$tfo" \
        ${tfo_options[@]+"${tfo_options[@]}"}
}

root_fastopen=/proc/sys/net/ipv4/tcp_fastopen
fastopen_before=
table=
# shellcheck disable=SC2317  # called by the traps
restore() {
    [ -z "$table" ] || rm -f "$table"
    if [ -n "$fastopen_before" ]; then
        echo "$fastopen_before" >"$root_fastopen"
        fastopen_before=
        holder >"$lock"
    fi
}
trap restore EXIT
for signal in INT TERM HUP QUIT; do
    # shellcheck disable=SC2064  # the signal's name is meant to be filled in now
    trap "stop $signal" "$signal"
done

# One experiment at a time: two would share the machine, and neither's times would be true.
lock=/run/tfo-lab.lock
(umask 077 && exec 9<>"$lock")
exec 9<>"$lock"
if ! flock --nonblock 9; then
    present=$(python3 -B -c 'from harness.system.lock import holder; print(holder())' 2>/dev/null || head -n 1 "$lock")
    echo "$lock: another experiment is running: $present; wait for its end or stop it" >&2
    exit 75         # BUSY of harness/errors.py
fi
chmod 600 "$lock"
# A run that was killed could not put this back; it had noted what was there.
left=$(sed -n "s/^tcp_fastopen \($digit\{1,5\}\)\$/\1/p" "$lock" | head -n 1)
if [ -n "$left" ]; then
    echo "$left" >"$root_fastopen"
    echo "net.ipv4.tcp_fastopen is $left again, as it was before a run that was killed" >&2
fi
began=$(date +%T)
holder() { echo "pid $$ (./run.sh --name $name) since $began"; }
holder >"$lock"
export TFO_LAB_LOCK_FD=9

run_child ./scripts/setup.sh
if [ "$name" = Paper ]; then
    run_user_child ./scripts/make_pages.py --name Paper
elif [ "$name" = demo ]; then
    run_user_child ./scripts/make_pages.py --name demo --shape demo.shape
fi
[ -f "$name.pages" ] || { echo "$name.pages:1: no such file; make it with one URL per line" >&2; exit 2; }

# Whatever is wrong with the pages or the options shows here, before anything is moved or measured.
for delay in $delays; do
    tfo "$delay" --dry-run=check >/dev/null
done

pages=$(as_user grep -c '[^[:space:]]' "$name.pages" || true)
delay_count=$(wc -w <<<"$delays")
runs=$testruns
at_most=
sides=2
what="TFO off and on"
[ "$tfo" = both ] || { sides=1; what="TFO $([ "$tfo" = 1 ] && echo on || echo off)"; }
if [ -n "$until_ci" ]; then
    runs=$((${max_runs:-20} + 1))   # 20 as in tfo.py, and the warm-up
    at_most="at most "
fi
load_s=7
[[ " ${tfo_options[*]-} " != *" --paper "* ]] || load_s=10     # nytimes' page takes 9 s there
loads=$((pages * runs * sides * delay_count))
plan="$at_most$(many "$pages" page) x $(many "$runs" run) x $what x $(many "$delay_count" delay) = $loads page loads; \
about $(many $(((loads * load_s + 59) / 60)) minute) for pages like the paper's${resume:+, less what is there already}"
echo "$plan"
[ -z "$dry_run" ] || exit 0

# Old results are kept, and never mixed with new ones.
shopt -s nullglob
kept=
old_results=(client serverlogs output-figures/*.{png,svg,pdf,html})
if [ -z "$resume" ] && { [ -e client ] || [ -e serverlogs ]; }; then
    kept="results-$(date +%Y%m%d-%H%M%S)"
    as_user mkdir "$kept" "$kept/output-figures"
    for result in "${old_results[@]}"; do
        [ ! -e "$result" ] || as_user mv -T -- "$result" "$kept/$result"
    done
fi

# A FIFO, which who writes there would wait for, can come there during the run, too: it is looked for each time.
loggable() { [ ! -L "$run_log" ] && { [ -f "$run_log" ] || [ ! -e "$run_log" ]; }; }
loggable || { echo "$run_log: is no file; move it away" >&2; exit 2; }

as_user mkdir -p client
if [ -z "$resume" ]; then      # all of them or none: on a full disk --resume would go on with other options
    as_user tee "$run_options.new" >/dev/null < <(printf '%s\n' "${given[@]}" | sed '/^$/d')
    as_user mv -T -- "$run_options.new" "$run_options"
fi
as_user tee -a "$run_log" >/dev/null <<<"# $(date '+%F %T') ./run.sh${resume:+ --resume} ${given[*]-}
$plan"
# Print what comes in, and keep it in the log, which is the user's.
keep() { if loggable; then as_user tee -a "$run_log"; else cat; fi; }
say() { keep <<<"$1"; }
[ -z "$kept" ] || say "The results of the last run are now in $kept/"

before=$(<"$root_fastopen")
{ holder; echo "tcp_fastopen $before"; } >"$lock"
fastopen_before=$before
echo 3 >"$root_fastopen"

status=0
ended=0
failed=
for delay in $delays; do
    ended=0
    tfo "$delay" || ended=$?
    [ "$ended" -eq 0 ] || failed+=" $delay"
    [ "$ended" -lt 2 ] || break      # what is wrong now is wrong with the other delays, too
done

table=$(mktemp /run/tfo-lab-table-XXXXXX)    # /tmp may be full, and all is measured by now
exec 8> >(keep >&2)
keeper=$!
run_user_child ./plot.py --clientdir client --outputdir output-figures --format "$format" \
    ${plot_options[@]+"${plot_options[@]}"} >"$table" 2>&8 || status=1
exec 8>&-
wait "$keeper" || true
keep <"$table"
[ "$ended" -lt 2 ] || exit "$ended"
if [ -n "$failed" ]; then
    with="a delay of$failed ms"
    [ "$failed" != " recorded" ] || with="the recorded delays"
    say "run.sh: with $with not all was measured; what and why is said above, where that delay's loads are" >&2
    status=1
fi
exit "$status"
