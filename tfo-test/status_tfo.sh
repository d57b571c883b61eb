#!/usr/bin/env bash
# Show this machine's TCP Fast Open setting, net.ipv4.tcp_fastopen, and what each of its bits means. Needs no root.
# Each network namespace has a setting of its own: that of a Mininet host is not this one.
# Type: ./tfo-test/status_tfo.sh
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
if [[ ! -r $SYSCTL ]]; then
    echo "net.ipv4.tcp_fastopen: not there; this kernel has no TCP Fast Open"
    exit 0
fi
value=$(<"$SYSCTL")

# bit MASK MEANING: one line on one bit. The meanings are those of the kernel's Documentation/networking/ip-sysctl.rst.
bit() {
    local state=off
    ((value & $1)) && state=on
    printf '  0x%03x  %-3s  %s\n' "$1" "$state" "$2"
}

printf 'net.ipv4.tcp_fastopen = %d (0x%x)\n' "$value" "$value"
bit 0x1 "client: a program may send data in its SYN, once it has the server's cookie"
bit 0x2 "server: data in a SYN is accepted, on listening sockets that ask for it (TCP_FASTOPEN)"
bit 0x4 "client: data goes out in the SYN even without a cookie (needs 0x1)"
bit 0x200 "server: data in a SYN is accepted even without a cookie (needs 0x2)"
bit 0x400 "server: every listening socket takes part without asking for it (needs 0x2)"
