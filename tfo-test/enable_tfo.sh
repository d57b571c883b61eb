#!/usr/bin/env bash
# Turn this machine's TCP Fast Open on until the next boot: net.ipv4.tcp_fastopen = 3 (1 for clients + 2 for servers).
# Mininet hosts have settings of their own, which tfo.py makes. Exit status 2 without root or without TFO in the kernel.
# Type: sudo ./tfo-test/enable_tfo.sh
set -euo pipefail

usage() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

case "${1-}" in -h | --help) usage; exit 0 ;; esac
if (($#)); then
    echo "unknown argument: $1; see $0 --help" >&2
    exit 2
fi
SYSCTL=/proc/sys/net/ipv4/tcp_fastopen
if [[ ! -e $SYSCTL ]]; then
    echo "no $SYSCTL: this kernel has no TCP Fast Open; use Linux 4.15 or newer" >&2
    exit 2
elif ((EUID != 0)); then
    echo "root is needed to change net.ipv4.tcp_fastopen; run: sudo $0" >&2
    exit 2
fi
before=$(<"$SYSCTL")
echo 3 >"$SYSCTL"
echo "net.ipv4.tcp_fastopen: $before -> $(<"$SYSCTL")"
