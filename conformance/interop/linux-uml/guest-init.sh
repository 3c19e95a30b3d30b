#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Init of a user-mode Linux guest whose root is the host's, read-only: brings up SCTP and the network
# interfaces, runs the agent and powers off when that ends. On the kernel's command line: agent=PROGRAM
# and lifetime=SECONDS. Interface N (from 0 on) has the addresses 10.99.N.2/24 and fd99:N::2/64, or those
# of netN=ADDRESS,ADDRESS on the command line.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mount -t tmpfs run /run
mkdir -p /run/modules/lib
ln -s /usr/lib/uml/modules /run/modules/lib/modules
modprobe -d /run/modules -a md5 sha1_generic hmac sctp sch_netem
ip link set lo up
n=0
for path in /sys/class/net/vec*; do
    name=${path##*/}
    addresses=$(sed -n "s/.*\<net$n=\([^ ]*\).*/\1/p" /proc/cmdline)
    addresses=${addresses:-10.99.$n.2/24,fd99:$n::2/64}
    for address in ${addresses//,/ }; do
        case $address in
            *:*) ip addr add "$address" dev "$name" nodad ;;
            *) ip addr add "$address" dev "$name" ;;
        esac
    done
    ip link set "$name" up
    # Its encapsulated packets would leave with checksums that nobody fills in.
    ethtool -K "$name" tx off tso off gso off gro off >/dev/null
    n=$((n + 1))
done
# So that each path of an association keeps its own interface.
sysctl -q -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
for word in $(cat /proc/cmdline); do
    case $word in
        agent=*) agent=${word#agent=} ;;
        lifetime=*) lifetime=${word#lifetime=} ;;
    esac
done
# Whatever happens on the host, the guest does not stay.
(sleep "$lifetime"; echo o >/proc/sysrq-trigger) &
"$agent" agent 7000
echo o >/proc/sysrq-trigger
sleep 5
