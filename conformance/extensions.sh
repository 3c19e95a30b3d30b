#!/usr/bin/env bash
# One C program (interop/linux-uml/peer.c), one end of it under `tresse run`, the other one on Linux' own SCTP in a guest: an
# association with each extension of the protocol, with either end as the client and with either end doing what the
# extension is for. Both ends verify every byte, the order on each stream and the end; what `tresse run` has captured shows
# that the extension was used, by whom.
# usage: conformance/extensions.sh TRESSE [EXTENSION...]
#   (libtresse_preload.so stands beside TRESSE; root; packages as for the tests against that kernel, and tshark)
set -uo pipefail
tresse=$(realpath "$1")
shift
here=$(realpath "$(dirname "$0")")
if [ -z "${TRESSE_NAMESPACE:-}" ]; then
    for tool in linux:user-mode-linux ethtool:ethtool nft:nftables tshark:tshark; do
        command -v ${tool%:*} >/dev/null && continue
        echo "skipped: ${tool%:*} is not installed (Debian: ${tool#*:})"
        [ -z "${TRESSE_REQUIRE_PEERS:-}" ]
        exit
    done
    exec env TRESSE_NAMESPACE=1 unshare --net "$0" "$tresse" "$@"
fi
chosen="$*"
ip link set lo up
work=$(mktemp -d)
trap 'exec 9>&-; rm -rf "$work"' EXIT
failures=0 port=5000
. "$here/guest.sh"
boot 2 9000 || { echo "FAILED: the guest does not come up"; exit 1; }

# width BYTES: no packet is larger in the first network.
width() {
    ip link set peer0 mtu $1
    guest "ip link set vec0 mtu $1" >/dev/null
}

width 1500
ip link set peer1 mtu 1500
guest "ip link set vec1 mtu 1500" >/dev/null
own=10.99.0.1,10.99.1.1 theirs=10.99.0.2,10.99.1.2
# The last byte of the addresses of each.
declare -A last=([tresse]=1 [kernel]=2)

# on STACK OUTPUT WORDS...: the program, until its end.
on() {
    local stack=$1 output=$2
    shift 2
    if [ $stack = kernel ]; then
        guest "$work/agent $*" >"$output" 2>&1
    else
        rm -f "$work/capture"
        timeout -k 2 60 "$tresse" run --carrier raw --local 10.99.0.1 --local 10.99.1.1 --capture "$work/capture" -- \
            "$work/agent" "$@" >"$output" 2>&1
    fi
}

# pair NAME SERVER CLIENT WORDS_OF_TRESSE WORDS_OF_KERNEL [WHO:TYPE...] [judge=COMMAND...]: runs both, and looks for chunks of
# these types. A command says nothing if all is well.
pair() {
    local name=$1 server=$2 client=$3 what=
    local -A words=([tresse]="--address $own $4" [kernel]="--address $theirs $5")
    shift 5
    port=$((port + 1))
    # What the one before has said is no sign that this one is ready.
    rm -f "$work/server" "$work/client"
    # The kernel keeps nothing of an earlier run.
    on $server "$work/server" server --port $port --peer-port $((port + 1000)) --timeout 25 ${words[$server]} &
    local running=$!
    for _ in $(seq 200); do
        grep -qs READY "$work/server" && break
        sleep 0.05
    done
    local peer=$theirs
    [ $server = kernel ] || peer=$own
    on $client "$work/client" client --port $((port + 1000)) --peer $peer --peer-port $port --timeout 20 ${words[$client]}
    wait $running
    for end in server client; do
        grep -q "^OK .*end=shutdown" "$work/$end" || what="$what; the $end: $(tail -n 2 "$work/$end" | tr '\r\n' '  ')"
    done
    # Of each packet the source and the types of its chunks: "10.99.0.1 3,0".
    tshark -r "$work/capture" -T fields -e ip.src -e sctp.chunk_type >"$work/chunks" 2>/dev/null
    for wanted in "$@"; do
        if [[ $wanted = judge=* ]]; then
            local said
            said=$(${wanted#judge=} $server $client)
            [ -z "$said" ] || what="$what; $said"
            continue
        fi
        local sender=${wanted%%:*} type=${wanted#*:}
        grep -qE "^10\.99\.[01]\.${last[$sender]}[[:space:]](.*,)?$type(,|\$)" "$work/chunks" ||
            what="$what; no chunk of type $type by $sender"
    done
    if [ -z "$what" ]; then
        echo "ok: $name: server on $server: $(grep -h "^OK" "$work/client" | tr -d '\r' | cut -c 1-60)"
    else
        echo "FAILED: $name: server on $server$what"
        failures=$((failures + 1))
    fi
}

# both NAME WORDS_OF_TRESSE WORDS_OF_KERNEL [WHO:TYPE...]: with either end as the server.
both() {
    pair "$1" kernel tresse "${@:2}"
    pair "$1" tresse kernel "${@:2}"
}

wanted() {
    [ -z "$chosen" ] || [[ " $chosen " = *" $1 "* ]]
}

# What one end sends, and the other one then takes.
sends="--send 240 --receive 0" takes="--send 0 --receive 240"
bursts="--size 500 --streams 4 --interval 20 --burst 8 --no-delay"
DATA=0 ERROR_ECNE=12 CWR=13 AUTH=15 I_DATA=64 ASCONF_ACK=128 RECONFIG=130 PAD=132 FORWARD_TSN=192 ASCONF=193

# larger_data WHO: whether it has sent data in packets of more than 8000 bytes, and none that was fragmented on the way.
larger_data() {
    local from="(ip.src == 10.99.0.${last[$1]} || ip.src == 10.99.1.${last[$1]})"
    [ -n "$(tshark -r "$work/capture" -Y "$from && sctp.chunk_type == 0 && ip.len > 8000" 2>/dev/null | head -1)" ] ||
        echo "no data by $1 in a packet of more than 8000 bytes"
    [ -z "$(tshark -r "$work/capture" -Y "$from && ip.flags.mf == 1" 2>/dev/null | head -1)" ] ||
        echo "a packet of $1 was fragmented"
}

# unimportant SERVER CLIENT: whether something of Tresse was given up, and only of those messages that matter least.
unimportant() {
    local end=server
    [ $1 = tresse ] && end=client
    tr -d '\r' <"$work/$end" | awk '
        /^MISSING/ { n++; if (int($2 / 4) % 2 == 0) print "message " $2 " matters and is missing" }
        END { if (n == 0) print "nothing was given up" }'
}

# in_order WHO: whether what waited on stream 3 left well before what had waited as long on stream 0.
in_order() {
    tshark -r "$work/capture" -Y "(ip.src == 10.99.0.${last[$1]} || ip.src == 10.99.1.${last[$1]}) && sctp.chunk_type == 0" \
        -T fields -e sctp.data_sid 2>/dev/null | tr ',' '\n' | awk '
        { sub(/^0x0*/, ""); sum[$1 + 0] += NR; n[$1 + 0]++ }
        END {
            if (n[0] < 100 || n[3] < 100) { print "few chunks: " n[0] " and " n[3]; exit }
            ahead = sum[0] / n[0] - sum[3] / n[3]
            if (ahead < 4) print "stream 3 is only " ahead " chunks ahead of stream 0"
        }'
}

# output STACK SERVER: what the program on that stack has said. Who looks reads all of it: what writes into a closed pipe has
# failed (pipefail).
output() {
    local end=client
    [ $1 = $2 ] && end=server
    tr -d '\r' <"$work/$end"
}

# denied WHO SERVER CLIENT: whether its program was told so.
denied() {
    output $1 $2 | grep "^DENIED" >/dev/null || echo "$1's program was not told that it is denied something"
}

# lost: whether the network has taken something away, of both directions.
lost() {
    local hook
    for hook in output input; do
        nft list chain ip loss $hook | grep "counter packets [1-9]" >/dev/null || echo "nothing was lost by $hook"
    done
}

# deleted WHO SERVER CLIENT: whether its program could delete the key.
deleted() {
    output $1 $2 | grep -x "DELETED 1" >/dev/null || echo "$1's program has deleted nothing"
}

# in_parts WHO SERVER CLIENT: whether its program has read the large message in more than one.
in_parts() {
    output $1 $2 | grep -E "^PARTS ([2-9]|[1-9][0-9])" >/dev/null || echo "$1's program has read no parts"
}

# destined WHO: whether an eighth of its data, what names the second address, went there, and the rest to the first one.
destined() {
    local other=kernel
    [ $1 = kernel ] && other=tresse
    tshark -r "$work/capture" -Y "(ip.src == 10.99.0.${last[$1]} || ip.src == 10.99.1.${last[$1]}) && sctp.chunk_type == 0" \
        -T fields -e ip.dst -e sctp.chunk_type 2>/dev/null | awk -v second=10.99.1.${last[$other]} '
        { n = split($2, types, ","); for (i = 1; i <= n; i++) if (types[i] == 0) { all++; if ($1 == second) there++ } }
        END { if (all < 1000 || there < 0.08 * all || there > 0.25 * all) print there + 0 " of " all + 0 " chunks went to the second address" }'
}

if wanted reconfiguration; then
    all="--with reset $bursts --messages 240 --duplex"
    both "both ends reset their streams" "$all --reset-at 120" "$all --reset-at 80" tresse:$RECONFIG kernel:$RECONFIG
    more="--with reset $bursts --messages 240 --duplex --initial-streams 2"
    both "streams added by Tresse's end" "$more --add-streams" "$more" tresse:$RECONFIG kernel:$RECONFIG
    both "streams added by the kernel's end" "$more" "$more --add-streams" tresse:$RECONFIG kernel:$RECONFIG
    both "everything reset by Tresse's end" "--with reset $bursts $sends --reset-all-at 120" "--with reset $bursts $takes" \
        tresse:$RECONFIG kernel:$RECONFIG
    both "everything reset by the kernel's end" "--with reset $bursts $takes" "--with reset $bursts $sends --reset-all-at 120" \
        tresse:$RECONFIG kernel:$RECONFIG
    for asks in tresse kernel; do
        words=("--with reset $bursts --messages 240 --duplex --denied-at 120" "--with deny-changes $bursts --messages 240 --duplex")
        [ $asks = tresse ] || words=("${words[1]}" "${words[0]}")
        both "everything that $asks's end asks for is denied" "${words[@]}" tresse:$RECONFIG kernel:$RECONFIG "judge=denied $asks"
    done
    # A kernel that is the client of an association with two paths does not send its request again (it is silent from then on),
    # and as the server it does.
    for asks in tresse kernel; do
        words=("$all --reset-at 120" "$all")
        [ $asks = tresse ] || words=("${words[1]}" "${words[0]}")
        for server in kernel tresse; do
            [ $asks = kernel ] && [ $server = tresse ] && continue
            # The first request, and the first answer. One may be behind a SACK without gaps.
            nft add table ip loss
            for hook in output input; do
                nft add chain ip loss $hook "{ type filter hook $hook priority 0 ; }"
                for first in "@th,96,8 130" "@th,96,8 3 @th,224,8 130"; do
                    nft add rule ip loss $hook ip protocol 132 $first numgen inc mod 1000 == 0 counter drop
                done
            done
            client=kernel
            [ $server = kernel ] && client=tresse
            pair "the first reset by $asks's end is lost, and its answer" $server $client "${words[@]}" \
                tresse:$RECONFIG kernel:$RECONFIG judge=lost
            nft delete table ip loss
        done
    done
fi

if wanted partial-reliability; then
    # One of 12 packets of data is lost, and a round trip takes 40 ms: what is lost is older than that when it is missed.
    guest "tc qdisc add dev vec0 root netem delay 40ms" >/dev/null
    for sender in tresse kernel; do
        hook=output way=oifname
        [ $sender = tresse ] || hook=input way=iifname
        nft add table ip loss
        nft add chain ip loss $hook "{ type filter hook $hook priority 0 ; }"
        nft add rule ip loss $hook ip protocol 132 @th,96,8 0 numgen inc mod 12 == 0 drop
        for policy in "--lifetime 30" "--retransmissions 0"; do
            words=("$bursts $sends $policy" "$bursts $takes --partial")
            [ $sender = tresse ] || words=("${words[1]}" "${words[0]}")
            both "given up by $sender's end,$policy" "${words[@]}" $sender:$FORWARD_TSN
        done
        nft delete table ip loss
    done
    guest "tc qdisc del dev vec0 root" >/dev/null
fi

if wanted priorities; then
    # Half of the messages do not matter, and of what is sent in the time the link takes about half. What is given up was never
    # sent, so that there is nothing to pass over. The other direction is in the matrix: whether the kernel makes room is a matter of
    # luck, and a message that has begun it gives up in a way that ends the association (docs/interop.md).
    nft add table ip narrow
    nft add chain ip narrow output "{ type filter hook output priority 0 ; }"
    nft add rule ip narrow output ip protocol 132 @th,96,8 0 limit rate over 400 kbytes/second burst 8000 bytes drop
    both "the least important first by Tresse's end" \
        "--size 4000 --streams 4 --interval 20 --burst 4 --send 400 --receive 0 --priorities 1,9 --send-buffer 65536" \
        "--size 4000 --streams 4 --send 0 --receive 400 --partial" tresse:$DATA judge=unimportant
    nft delete table ip narrow
    # The stream scheduler (RFC 8260): a whole burst waits for the window.
    guest "tc qdisc add dev vec0 root netem delay 40ms" >/dev/null
    many="--scheduler priority --size 1000 --streams 4"
    for sender in tresse kernel; do
        words=("$many --send 1200 --receive 0" "$many --send 0 --receive 1200")
        [ $sender = tresse ] || words=("${words[1]}" "${words[0]}")
        both "stream 3 before stream 0 by $sender's end" "${words[@]}" "judge=in_order $sender"
    done
    guest "tc qdisc del dev vec0 root" >/dev/null
fi

if wanted mtu-search; then
    # The kernel probes for the first time when 5 s are over.
    width 9000
    all="--with mtu-search --size 16000 --streams 4 --interval 100 --messages 90 --duplex"
    both "larger packets, searched by both ends" "$all" "$all" tresse:$PAD kernel:$PAD "judge=larger_data tresse"
    width 1500
    both "no larger ones where none pass" "$all" "$all" tresse:$PAD
fi

if wanted authentication; then
    all="--with auth $bursts --messages 240 --duplex"
    both "another key by Tresse's end" "$all --change-key-at 120" "$all" tresse:$AUTH kernel:$AUTH
    both "another key by the kernel's end" "$all" "$all --change-key-at 120" tresse:$AUTH kernel:$AUTH
    for deletes in tresse kernel; do
        words=("$all --change-key-at 60 --delete-key-at 180" "$all --change-key-at 60")
        [ $deletes = tresse ] || words=("${words[1]}" "${words[0]}")
        both "the first key is deleted by $deletes's end" "${words[@]}" tresse:$AUTH kernel:$AUTH "judge=deleted $deletes"
    done
fi

if wanted parts; then
    large="--size 500 --streams 4 --first 1000000"
    for reads in tresse kernel; do
        words=("$large --send 0 --receive 40 --partial-delivery 8192" "$large --send 40 --receive 0 --send-buffer 4000000")
        [ $reads = tresse ] || words=("${words[1]}" "${words[0]}")
        both "a large message is read in parts by $reads's end" "${words[@]}" "judge=in_parts $reads"
    done
fi

if wanted destinations; then
    # By the second half both ends have asked whether both addresses are there.
    some="$bursts --messages 2400 --duplex"
    for names in tresse kernel; do
        words=("$some --peer $theirs" "$some --peer $own")
        [ $names = tresse ] && words[0]="${words[0]} --destine-every 4" || words[1]="${words[1]} --destine-every 4"
        both "messages for one address by $names's end" "${words[@]}" "judge=destined $names"
    done
fi

if wanted interleaving; then
    # Messages of one chunk: docs/interop.md says what the kernel makes of larger ones.
    all="--with interleaving $bursts --messages 240 --duplex"
    both "messages in I-DATA chunks" "$all" "$all" tresse:$I_DATA kernel:$I_DATA
fi

if wanted addresses; then
    all="--with asconf --size 500 --streams 4 --interval 10 --burst 8 --messages 900 --duplex"
    both "other addresses by Tresse's end" "$all --readdress-at 200" "$all" tresse:$ASCONF kernel:$ASCONF_ACK
    both "other addresses by the kernel's end" "$all" "$all --readdress-at 200" kernel:$ASCONF tresse:$ASCONF_ACK
fi

if wanted marks; then
    # In both networks: a busy guest that waits for its handshake goes on in the other one.
    nft add table ip marks
    for hook in output:oifname prerouting:iifname; do
        nft add chain ip marks ${hook%:*} "{ type filter hook ${hook%:*} priority 0 ; }"
        nft add rule ip marks ${hook%:*} ${hook#*:} "{ peer0, peer1 }" ip protocol 132 ip ecn ect0 numgen inc mod 20 == 0 ip ecn set ce
    done
    all="--with ecn --size 1000 --messages 2000 --duplex"
    both "data that the network marks" "$all" "$all" tresse:$ERROR_ECNE kernel:$ERROR_ECNE tresse:$CWR kernel:$CWR
    nft delete table ip marks
fi

[ $failures -eq 0 ] && echo "all extensions passed" || echo "$failures failures"
[ $failures -eq 0 ]
