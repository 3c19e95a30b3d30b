#!/usr/bin/env bash
# The fast tests that need something of their host, on hosts that lack it: they pass, or are skipped with
# a reason and with what to do. Made by root, of namespaces and dropped privileges; nothing of it remains.
#
#     conformance/environments.sh [OPTIONS OF CARGO TEST]      # such as -p tresse-cli -p tresse-carrier
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" != 0 ]; then
    echo "skipped: environments can be made by root alone: run as root"
    exit 0
fi
# Package and name of the tests that touch the host and take seconds.
TESTS='tresse-carrier/tresse_carrier tresse/carriers tresse/loopback tresse-emulator/network
    tresse-interop/network tresse-cli/emulate tresse-cli/hosts tresse-cli/hostile'
# How to have what is missing: each reason has one of these.
HOW='run as root|apt-get install|modprobe tun|chmod |CAP_NET_RAW|sysctl |cargo install|--device'
# What is missing is missing on purpose.
unset TRESSE_REQUIRE_PEERS
export RUST_BACKTRACE=0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"

cargo test --no-run --message-format=json "$@" 2>"$scratch/build.log" >"$scratch/build.json" ||
    { cat "$scratch/build.log"; exit 1; }
python3 - "$scratch/build.json" $TESTS >"$scratch/tests" <<'END'
import json, re, sys

for line in open(sys.argv[1]):
    built = json.loads(line)
    if built.get("executable") and built["profile"]["test"]:
        package = re.split("[/#@]", built["package_id"])
        name = built["target"]["name"]
        if any(word in sys.argv[2:] for word in (f"{part}/{name}" for part in package)):
            print(built["executable"])
END
[ -s "$scratch/tests" ] || { cat "$scratch/build.log"; exit 1; }

# Each of these has loopback and nothing else of the network, so that all can run at the same time.
alone='ip link set lo up; exec "$@"'
# What is in root's own folders is out of its reach.
nobody='env PATH=/usr/sbin:/usr/bin:/sbin:/bin setpriv --reuid=65534 --regid=65534 --clear-groups'

# environment TITLE EXPECTED COMMAND...: runs the tests by the command; EXPECTED fits a skip, unless it is
# empty.
environment() {
    local title=$1 expected=$2 status=0 log test
    shift 2
    log="$scratch/${title//\//_}.log"
    while read -r test; do
        echo "== $test"
        timeout 100 "$@" "$test" </dev/null || status=1
    done <"$scratch/tests" >"$log.out" 2>"$log"
    # Reasons are on standard error, which is not in one file with the progress of other threads: whole
    # lines remain whole lines.
    cat "$log.out" >>"$log"
    if grep '^skipped:' "$log" | grep -vE "$HOW"; then
        echo "$title: a reason does not say what to do"
        status=1
    fi
    if [ -n "$expected" ] && ! grep -q "^skipped:.*$expected" "$log"; then
        echo "$title: nothing was skipped for want of $expected"
        status=1
    fi
    [ $status -eq 0 ] || cat "$log"
    grep '^test result' "$log" | awk -v title="$title" '{ passed += $4; failed += $6 }
        END { printf "%s: %d passed, %d failed", title, passed, failed }'
    # Without the addresses and names of the tests.
    { grep '^skipped:' "$log" || true; } | sed 's/^skipped: //; s/^[][0-9.:]*:0: //; s/: [a-z_0-9]*$//' | sort | uniq -c |
        sed 's/^ *\([0-9]*\) \(.*\)/; \1 skipped: \2/' | tr -d '\n'
    echo
    return $status
}

# environment TITLE EXPECTED SETUP [COMMAND...]: SETUP is for sh, in namespaces of its own.
made() {
    local title=$1 expected=$2 setup=$3
    shift 3
    environment "$title" "$expected" \
        unshare --net --mount sh -ec "$setup; $alone" sh "$@" &
    all+=($!)
}

# /dev/net with nothing in it but what follows.
empty_dev_net='mkdir -p /dev/net; mount -t tmpfs none /dev/net'
tun='mknod /dev/net/tun c 10 200; chmod'
all=()
HOME=$scratch
export HOME
made "root" "" true
# Read-only, lest root makes the device.
made "root without /dev/net/tun" /dev/net/tun "$empty_dev_net; mount -o remount,ro /dev/net"
made "root without IPv6" IPv6 \
    'for s in all default lo; do echo 1 >/proc/sys/net/ipv6/conf/$s/disable_ipv6; done'
made "root without raw sockets" CAP_NET_RAW true \
    setpriv --bounding-set=-net_raw --inh-caps=-net_raw
made "without capabilities and user namespaces" "are not permitted" true \
    unshare --user --map-root-user sh -ec \
    'echo 0 >/proc/sys/user/max_user_namespaces
     exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"' sh
# shellcheck disable=SC2086
if $nobody test -x "$(head -n 1 "$scratch/tests")"; then
    made "ordinary user" CAP_NET_RAW "$empty_dev_net; $tun 666 /dev/net/tun" $nobody
    made "ordinary user, /dev/net/tun of mode 0600" /dev/net/tun \
        "$empty_dev_net; $tun 600 /dev/net/tun" $nobody
else
    echo "skipped: ordinary users: they cannot read $PWD (chmod a+rx, or clone it elsewhere)"
fi
status=0
for pid in "${all[@]}"; do
    wait "$pid" || status=1
done
exit $status
