//! Where the hosts of a cell are: networks of its own, unless it is played on loopback or beside the guest.

use std::net::Ipv4Addr;

use tresse_peers::{Guest, Namespace, Nat, Unavailable, WIDE, command};

use super::{Cell, Role, Stack, Subject};

/// An address of the peer that is of no private network (TEST-NET-3).
pub(super) const FAR: [u8; 4] = Nat::FAR.octets();
/// The network that has it.
const WORLD: &str = "203.0.113.0/24";

/// Gives the guest, and what it is reached from, what a cell before may have changed. The calling thread is where it is reached from.
pub(super) fn restore(guest: &Guest) {
    let mut there = format!("ip addr flush dev vec0 to {WORLD}; ip route flush root {WORLD}");
    command(&format!("ip addr flush dev peer0 to {WORLD}"));
    command(&format!("ip route flush root {WORLD}"));
    for n in 0..2 {
        let (net, tap) = (format!("10.99.{n}"), format!("peer{n}"));
        command(&format!("ip addr replace {net}.1/24 dev {tap}"));
        command(&format!("ip link set {tap} mtu 1500"));
        command(&format!(
            "ip route replace {net}.0/24 dev {tap} proto kernel scope link src {net}.1"
        ));
        command(&format!("ip -6 route replace fd99:{n}::/64 dev {tap} proto kernel metric 256"));
        there += &format!("; ip addr replace {net}.2/24 dev vec{n}");
    }
    guest.run(&there);
}

/// A namespace for each host, as far as it needs one.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// Tresse's host; if there is none, the thread is in it already.
    here: Option<Namespace>,
    /// The peer's, if it is not the guest.
    there: Option<Namespace>,
    /// One on the way. What the guest is reached from is one, where Tresse is elsewhere.
    router: Option<Namespace>,
    /// The router is one.
    nat: Option<Nat>,
}

impl Network {
    /// As a cell wants it; the calling thread is on Tresse's host.
    pub(super) fn of(cell: Cell, guest: Option<&Guest>) -> Result<Network, Unavailable> {
        match cell.subject {
            Subject::TooBig
            | Subject::BlackHole
            | Subject::BlackHoleIpv6
            | Subject::BlackHoleByPeer => Network::routed(guest),
            Subject::NatForgets => Network::translated(guest, cell.role == Role::Client),
            Subject::NatMoves | Subject::NatMovesOn => Network::translated(guest, true),
            _ if guest.is_some() => Ok(Network::default()),
            Subject::MtuSearch | Subject::MtuSearchByPeer => Network::wide(),
            Subject::Marked | Subject::MarkedInUdp if cell.peer == Stack::Usrsctp => Network::two(),
            Subject::Failover
            | Subject::Moves
            | Subject::MovesByPeer
            | Subject::HostMoves
            | Subject::HostMovesByPeer
            | Subject::Destination
            | Subject::DestinationByPeer
            | Subject::Heartbeats
            | Subject::HeartbeatsByPeer
            | Subject::Wildcards
            | Subject::WildcardAdds => Network::two(),
            _ => Ok(Network::default()),
        }
    }

    /// Two hosts with two networks between them; the calling thread is in the first one.
    fn two() -> Result<Network, Unavailable> {
        let (here, there) = (Namespace::new()?, Namespace::new()?);
        here.join(&there, 1);
        here.join(&there, 2);
        here.enter();
        Ok(Network { here: Some(here), there: Some(there), router: None, nat: None })
    }

    /// The same, and packets of the first network may have [`WIDE`] bytes.
    fn wide() -> Result<Network, Unavailable> {
        let network = Network::two()?;
        for host in [&network.there, &network.here] {
            host.iter().for_each(Namespace::enter);
            command(&format!("ip link set to1 mtu {WIDE}"));
        }
        Ok(network)
    }

    /// Two hosts and a router between them, on networks 1 and 2; or one, and the guest behind what it is reached from. The calling
    /// thread is in the first one.
    fn routed(guest: Option<&Guest>) -> Result<Network, Unavailable> {
        let here = Namespace::new()?;
        let network = if let Some(guest) = guest {
            let router = guest.namespace();
            here.join(router, 1);
            guest.run("ip route replace 10.1.0.0/24 via 10.99.0.1");
            guest.run("ip -6 route replace fd01::/64 via fd99:0::1");
            Network { here: Some(here), there: None, router: None, nat: None }
        } else {
            let (router, there) = (Namespace::new()?, Namespace::new()?);
            here.join(&router, 1);
            router.join(&there, 2);
            Network { here: Some(here), there: Some(there), router: Some(router), nat: None }
        };
        network.at_router(guest, || {
            command("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
            command("ip addr replace fd01::2/64 dev to1 nodad");
            whole_packets("to1");
            if guest.is_none() {
                command("ip addr add fd02::1/64 dev to2 nodad");
                whole_packets("to2");
            }
        });
        if let Some(there) = &network.there {
            there.enter();
            command("ip addr add fd02::2/64 dev to2 nodad");
            command("ip route add default via 10.2.0.1");
            command("ip -6 route add default via fd02::1");
            whole_packets("to2");
        }
        network.enter();
        command("ip addr add fd01::1/64 dev to1 nodad");
        command("ip route add default via 10.1.0.2");
        command("ip -6 route add default via fd01::2");
        whole_packets("to1");
        Ok(network)
    }

    /// As [`routed`](Self::routed), and the router is a NAT. Tresse's host is behind it if that is `ours`, or else the peer's, and the other
    /// one has [`FAR`], and no way to what is behind.
    fn translated(guest: Option<&Guest>, ours: bool) -> Result<Network, Unavailable> {
        let mut network = Network::routed(guest)?;
        let theirs = if guest.is_some() { "peer0" } else { "to2" };
        let outside = if ours { theirs } else { "to1" };
        network.nat = Some(network.at_router(guest, || Nat::start(outside))?);
        let far = Ipv4Addr::from(FAR);
        if !ours {
            command("ip route del default");
            command(&format!("ip addr add {far}/24 dev to1"));
        }
        network.at_peer(guest, || match (guest, ours) {
            (Some(guest), true) => {
                guest.run("ip route del 10.1.0.0/24");
                guest.run(&format!("ip addr add {far}/24 dev vec0"));
            }
            (Some(guest), false) => {
                guest.run(&format!("ip route replace {WORLD} via 10.99.0.1"));
            }
            (None, true) => {
                command("ip route del default");
                command(&format!("ip addr add {far}/24 dev to2"));
            }
            (None, false) => {}
        });
        Ok(network)
    }

    /// What the router is, if not a mere router.
    pub(super) fn nat(&self) -> Option<&Nat> {
        self.nat.as_ref()
    }

    /// Gives the peer [`FAR`], from where it answers on both networks.
    pub(super) fn move_peer_away(&self, guest: Option<&Guest>) {
        let far = Ipv4Addr::from(FAR);
        let add = |interface| format!("ip addr add {far}/32 dev {interface}");
        let next = if let Some(guest) = guest {
            guest.run(&add("vec0"));
            "10.99.0.2"
        } else {
            self.at_peer(None, || {
                command(&add("to1"));
                for net in 1..=2 {
                    command(&format!("ip route replace 10.{net}.0.0/24 dev to{net} src {far}"));
                }
            });
            "10.1.0.2"
        };
        command(&format!("ip route replace {far} via {next}"));
    }

    /// Moves the calling thread to Tresse's host.
    fn enter(&self) {
        self.here.iter().for_each(Namespace::enter);
    }

    /// Does something where the peer is started.
    pub(super) fn at_peer<R>(&self, guest: Option<&Guest>, work: impl FnOnce() -> R) -> R {
        self.within(self.there.as_ref(), guest, work)
    }

    /// Does something on the router.
    pub(super) fn at_router<R>(&self, guest: Option<&Guest>, work: impl FnOnce() -> R) -> R {
        self.within(self.router.as_ref(), guest, work)
    }

    fn within<R>(
        &self,
        there: Option<&Namespace>,
        guest: Option<&Guest>,
        work: impl FnOnce() -> R,
    ) -> R {
        match (there, guest) {
            (Some(there), _) => there.enter(),
            (None, Some(guest)) => guest.enter(),
            (None, None) => {}
        }
        let done = work();
        self.enter();
        done
    }
}

/// What is segmented by the interface of another host would pass a router as one packet.
fn whole_packets(interface: &str) {
    command(&format!("ethtool -K {interface} tso off gso off gro off tx-udp-segmentation off"));
}
