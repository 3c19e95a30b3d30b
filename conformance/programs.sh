#!/usr/bin/env bash
# Real programs, unmodified, over `tresse run`: each pair moves data and the data is checked.
# usage: conformance/programs.sh TRESSE [self] [kernel-server] [kernel-client]
#   (libtresse_preload.so stands beside TRESSE; without a mode: self)
#   self            both ends over `tresse run`, in UDP on the loopback interface
#   kernel-server   the server on Linux' own SCTP, in a user-mode Linux guest; the client over
#                   `tresse run --carrier raw` (root; packages as for the tests against that kernel)
#   kernel-client   the other way round
# A program that is not installed is skipped; with TRESSE_REQUIRE_PEERS=1 that is a failure.
set -uo pipefail
tresse=$(realpath "$1")
shift
here=$(realpath "$(dirname "$0")")
[ $# -gt 0 ] || set -- self
for mode in "$@"; do
    case $mode in
    self) ;;
    kernel-*)
        # The guest is reached in a network namespace of its own, and so is everything else.
        if [ -z "${TRESSE_NAMESPACE:-}" ]; then
            exec env TRESSE_NAMESPACE=1 unshare --net "$0" "$tresse" "$@"
        fi
        ;;
    *)
        echo "error: $mode: known are self, kernel-server and kernel-client" >&2
        exit 2
        ;;
    esac
done
[ -z "${TRESSE_NAMESPACE:-}" ] || ip link set lo up
work=$(mktemp -d)
export ERL_CRASH_DUMP_SECONDS=0
failures=0
udp=9750
trap 'exec 9>&-; rm -rf "$work"' EXIT

have() {
    command -v "$1" >/dev/null && return 0
    echo "skipped: $1 is not installed (Debian: $2)"
    [ -z "${TRESSE_REQUIRE_PEERS:-}" ] || failures=$((failures + 1))
    return 1
}

# ---- the guest ------------------------------------------------------------------------------

. "$here/guest.sh"

# ---- both ends of a pair: commands of the shell, as one line ---------------------------------

# server PORT[/tcp] COMMAND: in the background, its output in $work/server, once it listens. Standard
# input stays open: ncat ends the association when its input ends.
server() {
    local port=$1 until
    shift
    : >"$work/server"
    if [ $mode = kernel-server ]; then
        guest "setsid bash -c 'echo \$\$ >/run/server; tail -f /dev/null | $1'" >"$work/server" 2>&1 &
        case $port in
        */tcp) until="grep -q ':$(printf %04X "${port%/tcp}") .* 0A ' /proc/net/tcp /proc/net/tcp6" ;;
        *) until="awk '\$4 == 10 && \$6 == $port { found = 1 } END { exit !found }' /proc/net/sctp/eps" ;;
        esac
        guest "for _ in {1..600}; do $until && break; sleep 0.1; done" >/dev/null
        return
    fi
    if [ $mode = self ]; then
        udp=$((udp + 1))
        carrier="--udp-port $udp" encapsulation=$udp
    else
        carrier="--carrier raw --local $server_ip" encapsulation=
    fi
    tail -f /dev/null | timeout -k 2 120 "$tresse" run $carrier -- bash -c "$1" >"$work/server" 2>&1 &
    server=$!
    python3 "$here/listening.py" $server_ip $port $encapsulation >/dev/null
}

client() {
    case $mode in
    self) timeout -k 2 90 "$tresse" run --encap-port $udp -- bash -c "$1" ;;
    kernel-server)
        timeout -k 2 90 "$tresse" run --carrier raw --local $client_ip -- bash -c "$1"
        ;;
    kernel-client) guest "timeout -k 2 90 bash -c '$1'" ;;
    esac >"$work/client" 2>&1
}

# Ends the server's pipeline by its own process numbers.
stop() {
    if [ $mode = kernel-server ]; then
        guest 'kill -- -$(cat /run/server)' >/dev/null
        sleep 0.2
        return
    fi
    kill $server 2>/dev/null
    for pid in $(jobs -p); do
        [ "$pid" = "${guest_process:-}" ] || kill "$pid" 2>/dev/null
    done
    wait $server 2>/dev/null
}

# verdict NAME FILE TEXT: whether TEXT is in FILE, now or soon, and its line.
verdict() {
    local line
    for _ in $(seq 200); do
        line=$(grep -a -m 1 -- "$3" "$2") && break
        sleep 0.1
    done
    if [ -n "$line" ]; then
        line=$(echo "$line" | tr -d '\r' | sed 's/^[[:space:]]*//' | cut -c 1-100)
        echo "ok: $mode: $1: $line"
    else
        echo "FAILED: $mode: $1: no \"$3\" in:"
        tail -n 30 "$work/server" | cut -c 1-200 | sed 's/^/    server: /'
        tail -n 30 "$work/client" | cut -c 1-200 | sed 's/^/    client: /'
        failures=$((failures + 1))
    fi
}

# ---- what the programs need -----------------------------------------------------------------

head -c 1000000 /dev/urandom >"$work/data"
sum=$(sha256sum <"$work/data" | cut -d ' ' -f 1)

cat >"$work/echo.py" <<'PY'
import hashlib, socket, sys
one = lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)
address = (sys.argv[2], 7100)
if sys.argv[1] == "server":
    s = one(); s.bind(address); s.listen(5)
    c, _ = s.accept()
    while data := c.recv(65536):
        c.sendall(data)
else:
    data = open(sys.argv[3], "rb").read()
    c = one(); c.connect(address)
    back = b""
    for at in range(0, len(data), 20000):
        piece = data[at:at + 20000]
        c.sendall(piece)
        got = 0
        while got < len(piece):
            more = c.recv(7000); got += len(more); back += more
    print("echoed", len(back), hashlib.sha256(back).hexdigest())
PY

cat >"$work/pair.erl" <<'ERL'
-module(pair).
-export([server/1, client/1]).
server([Ip]) ->
    {ok, Address} = inet:parse_address(Ip),
    {ok, S} = gen_sctp:open(7108, [{ip, Address}]),
    ok = gen_sctp:listen(S, true),
    loop(S),
    halt().
loop(S) ->
    case gen_sctp:recv(S, 20000) of
        {ok, {_, _, _, Data}} when is_binary(Data) -> io:format("data ~s~n", [Data]), loop(S);
        {ok, _} -> loop(S);
        Other -> io:format("~p~n", [Other])
    end.
client([Ip, Peer]) ->
    {ok, Here} = inet:parse_address(Ip),
    {ok, There} = inet:parse_address(Peer),
    {ok, S} = gen_sctp:open([{ip, Here}]),
    {ok, A} = gen_sctp:connect(S, There, 7108, []),
    ok = gen_sctp:send(S, A, 0, <<"hello from erlang">>),
    gen_sctp:eof(S, A),
    timer:sleep(500),
    gen_sctp:close(S),
    halt().
ERL

cat >"$work/Pair.java" <<'JAVA'
import com.sun.nio.sctp.*;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;

public class Pair {
    public static void main(String[] args) throws Exception {
        var address = new InetSocketAddress(args[1], 7109);
        var buffer = ByteBuffer.allocate(65536);
        if (args[0].equals("client")) {
            var channel = SctpChannel.open(address, 4, 4);
            channel.send(ByteBuffer.wrap("hello from java".getBytes()), MessageInfo.createOutgoing(null, 2));
            channel.shutdown();
            while (channel.receive(buffer, null, null).bytes() >= 0) buffer.clear();
            channel.close();
            return;
        }
        var server = SctpServerChannel.open().bind(address);
        var channel = server.accept();
        MessageInfo info;
        while ((info = channel.receive(buffer, null, null)).bytes() >= 0) {
            buffer.flip();
            var text = new byte[buffer.remaining()];
            buffer.get(text);
            System.out.println("stream " + info.streamNumber() + " " + new String(text));
            buffer.clear();
        }
    }
}
JAVA

# An M3UA client (RFC 4666): ASP Up and Heartbeat, with payload protocol identifier 3.
cat >"$work/m3ua.py" <<'PY'
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)
s.setsockopt(132, 10, struct.pack("=4H5Ii", 0, 0, 0, 0, socket.htonl(3), 0, 0, 0, 0, 0))
s.connect((sys.argv[1], 7110))
for kind, body in ((1, b""), (3, struct.pack(">HH", 9, 8) + b"beat")):
    s.sendall(struct.pack(">BBBBI", 1, 0, 3, kind, 8 + len(body)) + body)
    answer = s.recv(1000)
    print("M3UA class", answer[2], "type", answer[3], answer[12:].decode())
PY

stp_configuration() {
    cat <<CFG
line vty
 no login
 bind 127.0.0.1 42399
cs7 instance 0
 xua rkm routing-key-allocation dynamic-permitted
 listen m3ua 7110
  accept-asp-connections dynamic-permitted
  local-ip $server_ip
CFG
}

# diameter_configuration NAME ADDRESS PORT PEER PEERS_ADDRESS PEERS_PORT: without TLS on the wire,
# but the program insists on a certificate.
diameter_configuration() {
    [ -e "$work/$1.pem" ] || openssl req -x509 -newkey rsa:2048 -nodes -days 30 \
        -subj "/CN=$1.example.net" -keyout "$work/$1.key" -out "$work/$1.pem" 2>/dev/null
    cat <<CFG
Identity = "$1.example.net";
Realm = "example.net";
Port = $3;
SecPort = 0;
No_TCP;
No_IPv6;
ListenOn = "$2";
TwTimer = 6;
TLS_Cred = "$work/$1.pem", "$work/$1.key";
TLS_CA = "$work/$1.pem";
ConnectPeer = "$4.example.net" { ConnectTo = "$5"; Port = $6; No_TLS; };
CFG
}

# ---- the programs ---------------------------------------------------------------------------

try_all() {
    if have python3 python3; then
        server 7100 "python3 $work/echo.py server $server_ip"
        client "python3 $work/echo.py client $server_ip $work/data"
        verdict "Python sockets, 1 MB there and back" "$work/client" "echoed 1000000 $sum"
        stop
    fi

    if have iperf3 iperf3; then
        for direction in "" " -R"; do
            # On TCP its two ends agree what to do.
            server 5201/tcp "iperf3 -s -1"
            client "iperf3 -c $server_ip --sctp -t 2$direction"
            verdict "iperf3 --sctp$direction" "$work/client" "receiver"
            stop
        done
    fi

    if have ncat ncat; then
        server 7101 "ncat --sctp -l 7101"
        client "(echo hello from ncat; sleep 1) | ncat --sctp $server_ip 7101"
        verdict "ncat --sctp" "$work/server" "hello from ncat"
        stop
    fi

    if have socat socat; then
        server 7102 "socat SCTP-LISTEN:7102,reuseaddr,fork EXEC:cat"
        client "(echo hello from socat; sleep 2) | socat - SCTP:$server_ip:7102"
        verdict "socat, echoed by a child process" "$work/client" "hello from socat"
        stop
    fi

    if have sctp_test lksctp-tools; then
        server 7103 "stdbuf -oL sctp_test -H $server_ip -P 7103 -l"
        client "sctp_test -H $client_ip -P 7104 -h $server_ip -p 7103 -s -x 3 -c 2"
        verdict "sctp_test, data" "$work/server" "Data 1453 bytes"
        verdict "sctp_test, notification" "$work/server" "SHUTDOWN_COMPLETE"
        stop
    fi

    if have sctp_darn lksctp-tools; then
        server 7105 "stdbuf -oL sctp_darn -H $server_ip -P 7105 -l"
        client "(sleep 1; echo hello from sctp_darn; sleep 1) | sctp_darn -H $client_ip -P 7106 -h $server_ip -p 7105 -s"
        verdict "sctp_darn" "$work/server" "hello from sctp_darn"
        stop
    fi

    if have netperfmeter netperfmeter; then
        server 7107 "netperfmeter 7107"
        client "netperfmeter $server_ip:7107 -runtime=2 -sctp const0:const1400:const0:const1400"
        sed -n '/- Transmission:/,/- Reception:/p' "$work/client" >"$work/out"
        sed -n '/- Reception:/,/- Loss:/p' "$work/client" >"$work/in"
        verdict "netperfmeter, saturated, sent" "$work/out" "Bits: *[1-9]"
        verdict "netperfmeter, saturated, received" "$work/in" "Bits: *[1-9]"
        stop
    fi

    if have erlc erlang-base; then
        [ -e "$work/pair.beam" ] || erlc -o "$work" "$work/pair.erl"
        server 7108 "erl -noshell -pa $work -run pair server $server_ip"
        client "erl -noshell -pa $work -run pair client $client_ip $server_ip"
        verdict "Erlang gen_sctp" "$work/server" "data hello from erlang"
        stop
    fi

    if have javac default-jdk-headless; then
        [ -e "$work/Pair.class" ] || javac -d "$work" "$work/Pair.java" 2>/dev/null
        server 7109 "java -cp $work Pair server $server_ip"
        client "java -cp $work Pair client $server_ip"
        verdict "Java com.sun.nio.sctp" "$work/server" "stream 2 hello from java"
        stop
    fi

    if have osmo-stp osmo-stp; then
        stp_configuration >"$work/stp.cfg"
        server 7110 "osmo-stp -c $work/stp.cfg"
        client "python3 $work/m3ua.py $server_ip"
        verdict "osmo-stp, ASP Up Ack" "$work/client" "M3UA class 3 type 4"
        verdict "osmo-stp, Heartbeat Ack" "$work/client" "M3UA class 3 type 6 beat"
        stop
    fi

    if have freeDiameterd freediameter && have openssl openssl; then
        diameter_configuration one $server_ip 7111 two $client_ip 7112 >"$work/one.conf"
        diameter_configuration two $client_ip 7112 one $server_ip 7111 >"$work/two.conf"
        server 7111 "freeDiameterd -d -d -c $work/one.conf"
        # A watchdog is due after 4 to 8 s; then it is told to end, which it does gracefully.
        client "timeout -k 10 13 freeDiameterd -d -d -c $work/two.conf"
        verdict "freeDiameter, CER" "$work/server" "Capabilities-Exchange-Answer"
        verdict "freeDiameter, CEA" "$work/client" "'STATE_WAITCEA'.*'STATE_OPEN'"
        verdict "freeDiameter, watchdog" "$work/client" "SENT.*Device-Watchdog-Answer"
        verdict "freeDiameter, end" "$work/client" "framework is terminated"
        stop
    fi
}

for mode in "$@"; do
    server_ip=127.0.0.1 client_ip=127.0.0.1
    if [ $mode != self ] && [ -z "${guest_process:-}" ]; then
        if ! { have linux user-mode-linux && have ethtool ethtool && boot; }; then
            echo "skipped: $mode: there is no guest with Linux' SCTP"
            [ -z "${TRESSE_REQUIRE_PEERS:-}" ] || failures=$((failures + 1))
            continue
        fi
    fi
    case $mode in
    kernel-server) server_ip=10.99.0.2 client_ip=10.99.0.1 ;;
    kernel-client) server_ip=10.99.0.1 client_ip=10.99.0.2 ;;
    esac
    try_all
done

[ $failures -eq 0 ] && echo "all programs passed" || echo "$failures failures"
[ $failures -eq 0 ]
