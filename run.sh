#!/usr/bin/env bash
# The experiment: load every page without and with TCP Fast Open at several round-trip times, then make the table and
# the figures. Type: sudo ./run.sh        (see --help for what can be changed)
# shellcheck disable=SC2317  # the traps call functions
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

usage() {
    cat <<'END'
Usage: sudo ./run.sh [options]
  --name NAME          pages to load: NAME.pages, NAME/ and NAME.fetchlog/ (Paper); Small: two small ones
  --delays "10 50 100" one-way delays in ms; the RTT is twice that. --sweep-rtt 2,5,20: RTTs instead
  --testruns N         loads of each page without and with TFO; the first warms up, the others count (4)
  --quick              one measured load instead of three
  --compare-transports TCP, TFO, TLS 1.3 early data and QUIC beside each other, over https
  --resume             go on with the last run, which was interrupted or partly failed, with its options
  --version            versions of TFO Lab, Chrome, driver, kernel: the first line of a bug report
  --dry-run            set up, check everything and say what would be done; measure nothing
  --detail             a second table: n, medians, spread, and how sure each improvement is
  --format png|svg|pdf format of the figures (png)
and all options of ./tfo.py that change the network, the servers or the browser: ./tfo.py --help
Results: client/, serverlogs/, output-figures/ and the table (also client/run.log). Earlier ones go to results-DATE/.
Exit status: 0 all was measured, 1 something was not, 2 wrong input, 69 the machine lacks something, 75 it is taken.
END
}
fail() { printf '%s\n' "$1" >&2; exit "${2-2}"; }
# plot.py's options and our own are taken out; tfo.py reads all others, and refuses what is wrong.
name=Paper resume='' dry_run='' over_tls='' before='' given=() tfo_options=() plot_options=()
while (($#)); do
    word=$1 value=(); shift
    [[ $word != @(--name|--format) ]] || { value=("${@:1:1}"); shift $(($# > 0)); }
    case "$word" in
        *$'\n'*) fail "run.sh: an option with a line break in it; see ./run.sh --help" ;;
        --help | -h) usage; exit 0 ;;
        --version) exec ./tfo.py --version ;;
        --resume) resume=--resume; continue ;;
        --dry-run) dry_run=--dry-run=check; continue ;;
        --dir | --dir=* | --on-user* | --dry-run=*) fail "run.sh: ${word%%=*}: is for ./tfo.py alone; see ./run.sh --help" ;;
        --compare-transports | --early | --early=* | h3 | --http=h3) over_tls=--https tfo_options+=("$word") ;;
        --detail) plot_options+=("$word") ;;
        --format*) [[ $word${value[*]} =~ ^--format=?(png|svg|pdf)$ ]] || fail "run.sh: --format: png, svg or pdf; see --help"
            plot_options+=("$word" "${value[@]}") ;;
        --name*) name=${word#--name} name=${name#=}${value[*]} tfo_options+=("$word" "${value[@]}") ;;
        *) tfo_options+=("$word") ;;
    esac
    given+=("$word" "${value[@]}")
done
[ "$(id -u)" -eq 0 ] || fail "run.sh: needs root for network namespaces; run: sudo ./run.sh"
[[ ${SUDO_UID-0} =~ ^[0-9]+$ ]] || fail "run.sh: SUDO_UID: '$SUDO_UID' is not a number; unset it, or run: sudo ./run.sh"
as_user=()      # what needs no root is done as the user who called sudo, so that results belong to that user
[ -z "${SUDO_UID-}" ] || as_user=(env "HOME=$(getent passwd "$SUDO_UID" | cut -d: -f6 || true)"
    setpriv --reuid "$SUDO_UID" --regid "${SUDO_GID-$SUDO_UID}" --init-groups --)
[ "${SUDO_UID:-0}" != 0 ] || umask 022     # the servers of root itself are an ordinary user's, who must read the pages
if [ -n "$resume" ]; then
    saved=$("${as_user[@]}" head -c 65536 client/run.options 2>/dev/null) ||
        fail "run.sh: --resume: there is no run to go on with (client/run.options); leave it out; see ./run.sh --help"
    [ "${given[*]}" = "${saved//$'\n'/ }" ] || [ ${#given[@]} -eq 0 ] ||
        fail "run.sh: --resume goes on with the options of that run (${saved//$'\n'/ }); leave out others"
    [ ${#given[@]} -gt 0 ] || [ -z "$saved" ] || { mapfile -t saved <<<"$saved"; exec ./run.sh --resume $dry_run "${saved[@]}"; }
fi
# Run a program and wait, so that bash passes a signal on at once; should this script be killed, it ends as on Ctrl-C.
child=; run() { setpriv --pdeathsig TERM -- "$@" & child=$!; local status=0; wait "$child" || status=$?; child=''; return "$status"; }
stop() {
    trap '' INT TERM HUP QUIT
    [ -z "$child" ] || { kill -TERM "$child" 2>/dev/null || true; wait "$child" || true; }
    [ -z "$before" ] || restore
    trap - "$1" && kill -"$1" $$
    exit 131        # of SIGQUIT bash does not die
}
trap 'stop INT' INT; trap 'stop TERM' TERM; trap 'stop HUP' HUP; trap 'stop QUIT' QUIT

# One experiment at a time: two would share the machine, and neither's times would be true.
notes=/run/tfo-lab.lock
exec 9</var/tmp       # tfo.py inherits it, and uses the lock by it (harness/system/lock.py)
flock --nonblock 9 || fail "/var/tmp: another experiment is running: $(python3 -B -c \
    'from harness.system.lock import holder; print(holder())'); wait for its end or stop it" 75
# The machine's own switch is put back at the end; by tfo.py should this script be killed, by the next run should both be.
fastopen=/proc/sys/net/ipv4/tcp_fastopen left=$(sed -n 's/^tcp_fastopen \([0-9]\{1,5\}\)$/\1/p' "$notes" 2>/dev/null || true)
[ -z "$left" ] || echo "$left" >"$fastopen"; before=$(<"$fastopen")
printf 'pid %s (./run.sh --name %s) since %s\ntcp_fastopen %s\n' $$ "$name" "$(date +%T)" "$before" >"$notes"
restore() { echo "$before" >"$fastopen"; : >"$notes"; }; trap restore EXIT
run ./scripts/setup.sh
[ "$name" != demo ] || name=Small tfo_options+=(--name Small)
[[ -z $over_tls || $name != @(Paper|Small) ]] || name+=-https tfo_options+=(--name "$name")   # the same pages over TLS
[[ $name != @(Paper|Small)?(-https) ]] || run "${as_user[@]}" ./scripts/make_pages.py --name "$name" $over_tls
begun=("${dry_run:-$resume}")
[ -n "${begun[0]}" ] || begun=("--new-run=$(printf '%s\n' "${given[@]}")")
echo 3 >"$fastopen"
status=0; run ./tfo.py "${begun[@]}" "${tfo_options[@]}" || status=$?
((status < 2)) && [ -z "$dry_run" ] || exit "$status"

log=("${as_user[@]}" tee -a client/run.log)       # what is printed is kept, too
exec 8> >("${log[@]}" >&2); keeper=$!
table=$("${as_user[@]}" ./plot.py --clientdir client --outputdir output-figures "${plot_options[@]}" 2>&8) || status=1
exec 8>&- && { wait "$keeper" || true; }
"${log[@]}" <<<"$table" || status=1
exit "$status"
