# What scripts share that need Linux' own SCTP: a user-mode Linux guest, reached in the network namespace of the script over
# the interfaces peer0, peer1, ... Interface N has 10.99.N.1 here and 10.99.N.2 there. To be sourced, with `here` and `work` set;
# file descriptor 9 keeps the guest, and it goes with the script.

# boot [INTERFACES [MTU]]: its process number is in $guest_process afterwards.
boot() {
    local n interfaces=${1:-1} mtu=${2:-1500} words=
    cc -O1 -I "$here/interop" -o "$work/agent" "$here/interop/linux-uml/peer.c" -lsctp || return 1
    for n in $(seq 0 $((interfaces - 1))); do
        ip tuntap add dev peer$n mode tap
        ip link set peer$n mtu $mtu
        ip addr add 10.99.$n.1/24 dev peer$n
        ip link set peer$n up
        words="$words vec$n:transport=tap,ifname=peer$n,depth=128,gro=1,mtu=$mtu"
    done
    # See there: processors with more state than user-mode Linux knows of.
    cc -O2 -shared -fPIC -o "$work/xstate.so" "$here/interop/linux-uml/xstate.c" || return 1
    LD_PRELOAD="$work/xstate.so" linux mem=512M root=/dev/root rootfstype=hostfs rootflags=/ ro uml_dir="$work/uml/" \
        init="$here/interop/linux-uml/guest-init.sh" agent="$work/agent" lifetime=900 con=null con0=null,fd:1 \
        $words </dev/null >"$work/console" 2>/dev/null &
    guest_process=$!
    for _ in $(seq 600); do
        grep -q "READY agent" "$work/console" && break
        sleep 0.1
    done
    # Frames with segmentation offload would arrive as packets larger than the MTU.
    for n in $(seq 0 $((interfaces - 1))); do
        ethtool -K peer$n tso off gso off gro off
    done
    agent=10.99.$((interfaces - 1)).2
    for _ in $(seq 60); do
        { exec 9<>/dev/tcp/$agent/7000; } 2>/dev/null && return
        sleep 0.5
    done
    return 1
}

# guest COMMAND: runs it there and prints what it says.
guest() {
    exec 8<>/dev/tcp/$agent/7000
    echo "export TMPDIR=/run; cd /run; $1" >&8
    cat <&8
    exec 8>&-
}
