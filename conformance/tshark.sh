#!/usr/bin/env bash
# Has tshark judge captures of SCTP: every frame must be SCTP and well-formed, with a good CRC32c
# and a good IP header checksum.
#
#   conformance/tshark.sh [--udp-port PORT]... FILE...
#
# --udp-port names a UDP port that carries SCTP besides 9899. Exit code 1: a capture is bad; 2: it
# could not be judged. Needs tshark (apt-get install tshark), which here reads files only.
set -euo pipefail

usage() {
    echo "usage: $0 [--udp-port PORT]... FILE..." >&2
    exit 2
}

# "CRC 32c", with the blank: tshark accepts other spellings silently and then checks nothing.
options=(-n -o "sctp.checksum:CRC 32c" -o "ip.check_checksum:TRUE")
# What the user data of a message might mean is not our matter.
options+=(-o "sctp.ulp_dissection:FALSE")
files=()
while [ $# -gt 0 ]; do
    case $1 in
    --udp-port)
        [ $# -ge 2 ] || usage
        options+=(-d "udp.port==$2,sctp")
        shift 2
        ;;
    -*) usage ;;
    *)
        files+=("$1")
        shift
        ;;
    esac
done
[ ${#files[@]} -gt 0 ] || usage
command -v tshark >/dev/null || {
    echo "tshark is not installed (apt-get install tshark)" >&2
    exit 2
}

# Frames of $1 that match $2, one summary line each.
frames() {
    tshark -r "$1" "${options[@]}" -Y "$2" 2>/dev/null
}

# Fails with the first frames of $1 that match filter $3; $2 says what is wrong with them.
reject() {
    local found
    found=$(frames "$1" "$3") || {
        echo "$1: tshark cannot read it" >&2
        exit 2
    }
    [ -z "$found" ] && return
    echo "$1: $(wc -l <<<"$found") frames $2, the first ones:" >&2
    head -n 5 <<<"$found" >&2
    bad=1
}

status=0
for file in "${files[@]}"; do
    bad=0
    reject "$file" "are not SCTP" "!sctp"
    reject "$file" "are malformed" '_ws.malformed || _ws.expert.group == "Malformed"'
    reject "$file" "have no good SCTP checksum" 'sctp && !(sctp.checksum.status == "Good")'
    reject "$file" "have a bad IP checksum" 'ip.checksum.status == "Bad"'
    good=$(frames "$file" 'sctp.checksum.status == "Good"' | wc -l)
    if [ "$good" -eq 0 ]; then
        echo "$file: no SCTP packet in it" >&2
        bad=1
    elif [ $bad -eq 0 ]; then
        echo "$file: $good SCTP packets, all well-formed with good checksums"
    fi
    [ $bad -eq 0 ] || status=1
done
exit $status
