#!/usr/bin/env bash
# Real programs, unmodified, over `tresse run`: each pair moves data and the data is checked.
# usage: conformance/programs.sh TRESSE   (libtresse_preload.so stands beside it)
# A program that is not installed is skipped; with TRESSE_REQUIRE_PEERS=1 that is a failure.
set -uo pipefail
tresse=$(realpath "$1")
work=$(mktemp -d)
failures=0
udp=9750
trap 'rm -rf "$work"' EXIT

have() {
    command -v "$1" >/dev/null && return 0
    echo "skipped: $1 is not installed (Debian: $2)"
    [ -z "${TRESSE_REQUIRE_PEERS:-}" ] || failures=$((failures + 1))
    return 1
}

# server COMMAND...: in the background, on a UDP port of its own, its output in $work/server.
# Standard input stays open: ncat ends the association when its input ends.
server() {
    udp=$((udp + 1))
    : >"$work/server"
    tail -f /dev/null | timeout -k 2 40 "$tresse" run --udp-port $udp -- "$@" >"$work/server" 2>&1 &
    server=$!
    # Until the port of the engine is bound, and a little longer for the program.
    for _ in $(seq 50); do
        grep -q "$(printf ':%04X ' $udp)" /proc/net/udp && break
        sleep 0.1
    done
    sleep 1
}

client() {
    timeout -k 2 30 "$tresse" run --encap-port $udp -- "$@"
}

# Ends the server's pipeline by its own process numbers.
stop() {
    kill $server 2>/dev/null
    for pid in $(jobs -p); do kill "$pid" 2>/dev/null; done
    wait 2>/dev/null
}

# verdict NAME FILE TEXT: whether TEXT is in FILE, and its line.
verdict() {
    if line=$(grep -a -m 1 -- "$3" "$2"); then
        echo "ok: $1: $(echo "$line" | tr -d '\r' | sed 's/^[[:space:]]*//' | cut -c 1-100)"
    else
        echo "FAILED: $1: no \"$3\" in:"
        sed 's/^/    /' "$2" | head -30
        failures=$((failures + 1))
    fi
}

head -c 1000000 /dev/urandom >"$work/data"
sum=$(sha256sum <"$work/data" | cut -d ' ' -f 1)

if have python3 python3; then
    cat >"$work/echo.py" <<'PY'
import hashlib, socket, sys
one = lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)
if sys.argv[1] == "server":
    s = one(); s.bind(("127.0.0.1", 7100)); s.listen(5)
    c, _ = s.accept()
    while data := c.recv(65536):
        c.sendall(data)
else:
    data = open(sys.argv[2], "rb").read()
    c = one(); c.connect(("127.0.0.1", 7100))
    back = b""
    for at in range(0, len(data), 20000):
        piece = data[at:at + 20000]
        c.sendall(piece)
        got = 0
        while got < len(piece):
            more = c.recv(7000); got += len(more); back += more
    print("echoed", len(back), hashlib.sha256(back).hexdigest())
PY
    server python3 "$work/echo.py" server
    client python3 "$work/echo.py" client "$work/data" >"$work/client" 2>&1
    verdict "Python sockets, 1 MB there and back" "$work/client" "echoed 1000000 $sum"
    stop
fi

if have iperf3 iperf3; then
    server iperf3 -s -1
    client iperf3 -c 127.0.0.1 --sctp -t 2 >"$work/client" 2>&1
    verdict "iperf3 --sctp" "$work/client" "receiver"
    stop
    server iperf3 -s -1
    client iperf3 -c 127.0.0.1 --sctp -t 2 -R >"$work/client" 2>&1
    verdict "iperf3 --sctp -R" "$work/client" "receiver"
    stop
fi

if have ncat ncat; then
    server ncat --sctp -l 7101
    (echo "hello from ncat"; sleep 1) | client ncat --sctp 127.0.0.1 7101 >"$work/client" 2>&1
    verdict "ncat --sctp" "$work/server" "hello from ncat"
    stop
fi

if have socat socat; then
    server socat SCTP-LISTEN:7102,reuseaddr,fork EXEC:cat
    (echo "hello from socat"; sleep 3) | client socat - SCTP:127.0.0.1:7102 >"$work/client" 2>&1
    verdict "socat, echoed by a child process" "$work/client" "hello from socat"
    stop
fi

if have sctp_test lksctp-tools; then
    server stdbuf -oL sctp_test -H 127.0.0.1 -P 7103 -l
    client sctp_test -H 127.0.0.1 -P 7104 -h 127.0.0.1 -p 7103 -s -x 3 -c 2 >"$work/client" 2>&1
    sleep 1
    verdict "sctp_test, data" "$work/server" "Data 1453 bytes"
    verdict "sctp_test, notification" "$work/server" "SHUTDOWN_COMPLETE"
    stop
fi

if have sctp_darn lksctp-tools; then
    server stdbuf -oL sctp_darn -H 127.0.0.1 -P 7105 -l
    (sleep 1; echo "hello from sctp_darn"; sleep 1) |
        client sctp_darn -H 127.0.0.1 -P 7106 -h 127.0.0.1 -p 7105 -s >"$work/client" 2>&1
    verdict "sctp_darn" "$work/server" "hello from sctp_darn"
    stop
fi

if have netperfmeter netperfmeter; then
    server netperfmeter 7107
    client netperfmeter 127.0.0.1:7107 -runtime=2 \
        -sctp const0:const1400:const0:const1400 >"$work/client" 2>&1
    verdict "netperfmeter, both directions saturated" "$work/client" "Reception:"
    stop
fi

if have erl erlang-base; then
    server erl -noshell -eval '
        {ok, S} = gen_sctp:open(7108, [{ip, {127,0,0,1}}]), ok = gen_sctp:listen(S, true),
        Loop = fun(F) -> case gen_sctp:recv(S, 20000) of
            {ok, {_, _, _, Data}} when is_binary(Data) -> io:format("data ~s~n", [Data]), F(F);
            {ok, _} -> F(F);
            Other -> io:format("~p~n", [Other]) end end,
        Loop(Loop), halt().'
    sleep 2
    client erl -noshell -eval '
        {ok, S} = gen_sctp:open([{ip, {127,0,0,1}}]),
        {ok, A} = gen_sctp:connect(S, {127,0,0,1}, 7108, []),
        ok = gen_sctp:send(S, A, 0, <<"hello from erlang">>),
        gen_sctp:eof(S, A), timer:sleep(500), gen_sctp:close(S), halt().' >"$work/client" 2>&1
    verdict "Erlang gen_sctp" "$work/server" "data hello from erlang"
    stop
fi

if have javac default-jdk-headless; then
    cat >"$work/Pair.java" <<'JAVA'
import com.sun.nio.sctp.*;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;

public class Pair {
    public static void main(String[] args) throws Exception {
        var address = new InetSocketAddress("127.0.0.1", 7109);
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
    javac -d "$work" "$work/Pair.java" 2>/dev/null
    server java -cp "$work" Pair server
    sleep 2
    client java -cp "$work" Pair client >"$work/client" 2>&1
    sleep 1
    verdict "Java com.sun.nio.sctp" "$work/server" "stream 2 hello from java"
    stop
fi

if have osmo-stp osmo-stp; then
    cat >"$work/stp.cfg" <<'CFG'
line vty
 no login
 bind 127.0.0.1 42399
cs7 instance 0
 xua rkm routing-key-allocation dynamic-permitted
 listen m3ua 7110
  accept-asp-connections dynamic-permitted
  local-ip 127.0.0.1
CFG
    # An M3UA client (RFC 4666): ASP Up and Heartbeat, with payload protocol identifier 3.
    cat >"$work/m3ua.py" <<'PY'
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)
s.setsockopt(132, 10, struct.pack("=4H5Ii", 0, 0, 0, 0, socket.htonl(3), 0, 0, 0, 0, 0))
s.connect(("127.0.0.1", 7110))
for kind, body in ((1, b""), (3, struct.pack(">HH", 9, 8) + b"beat")):
    s.sendall(struct.pack(">BBBBI", 1, 0, 3, kind, 8 + len(body)) + body)
    answer = s.recv(1000)
    print("M3UA class", answer[2], "type", answer[3], answer[12:].decode())
PY
    server osmo-stp -c "$work/stp.cfg"
    client python3 "$work/m3ua.py" >"$work/client" 2>&1
    verdict "osmo-stp, ASP Up Ack" "$work/client" "M3UA class 3 type 4"
    verdict "osmo-stp, Heartbeat Ack" "$work/client" "M3UA class 3 type 6 beat"
    stop
fi

[ $failures -eq 0 ] && echo "all programs passed" || echo "$failures failures"
[ $failures -eq 0 ]
