#!/usr/bin/env bash
# Moves real data between two `tresse perf` processes over loopback and keeps the packets:
#
#   conformance/perf-capture.sh TRESSE FOLDER [CLIENT OPTIONS]...
#
# TRESSE is the program. FOLDER receives perf.pcapng, which the client writes itself, and, where this
# user may make a network namespace and dumpcap is installed, kernel.pcapng, which the system saw.
set -euo pipefail

[ $# -ge 2 ] || {
    echo "usage: $0 TRESSE FOLDER [CLIENT OPTIONS]..." >&2
    exit 2
}
tresse=$1
folder=$2
shift 2

# In a namespace of its own the port is free and nobody else's packets are seen.
if [ -z "${TRESSE_IN_NAMESPACE:-}" ] && command -v dumpcap >/dev/null && unshare -n true 2>/dev/null; then
    TRESSE_IN_NAMESPACE=1 exec unshare -n "$0" "$tresse" "$folder" "$@"
fi

capture=
server=
trap 'kill $server $capture 2>/dev/null || true' EXIT

# wait_until COMMAND...: for five seconds.
wait_until() {
    for _ in $(seq 50); do
        "$@" && return
        sleep 0.1
    done
    echo "$0: waited in vain for: $*" >&2
    return 1
}

port_is_bound() {
    grep -qs ":$(printf '%04X' 9899) " /proc/net/udp /proc/net/udp6
}

if [ -n "${TRESSE_IN_NAMESPACE:-}" ]; then
    ip link set lo up
    # The kernel splits a run of datagrams (UDP segmentation offload) below the point where it
    # captures, so a capture would show runs. With this limit it splits above.
    ip link set lo gso_max_segs 1
    dumpcap -q -i lo -f "udp port 9899" -B 64 -w "$folder/kernel.pcapng" 2>"$folder/dumpcap.log" &
    capture=$!
    wait_until test -s "$folder/kernel.pcapng"
fi
"$tresse" perf server --once >"$folder/server.log" 2>&1 &
server=$!
wait_until port_is_bound
"$tresse" perf client 127.0.0.1 --capture "$folder/perf.pcapng" "$@"
wait "$server" || {
    cat "$folder/server.log" >&2
    exit 1
}
server=
if [ -n "$capture" ]; then
    # What was captured last is still on its way to the file.
    sleep 1
    kill -INT "$capture"
    wait "$capture"
    capture=
fi
