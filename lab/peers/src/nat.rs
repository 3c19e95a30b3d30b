//! A NAT: a router that masquerades UDP, in a network namespace (nftables).

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddrV4};

use crate::Unavailable;
use crate::namespace::{attempt, command};

/// Mappings that are made between two losses of memory have ports of their own, this many.
const PORTS: u16 = 1_000;

/// A NAT that the namespace of the calling thread has become. All of its methods are called there.
///
/// The ports that it chooses are those from [`FIRST_PORT`](Nat::FIRST_PORT) on. Like most of its kind it drops what comes from outside
/// and belongs to nothing, without a word.
#[derive(Debug)]
pub struct Nat {
    outside: String,
    /// How often it has forgotten.
    forgotten: Cell<u16>,
}

impl Nat {
    /// Its address outside.
    pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
    /// An address of a host out there, on the same network.
    pub const FAR: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 2);
    /// What those of a second network are out there ([`second`](Nat::second)).
    pub const SECOND: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 3);
    /// The first of its ports.
    pub const FIRST_PORT: u16 = 20_000;

    /// Forwards between the interfaces of the namespace; what leaves by `outside` does so from [`ADDRESS`](Nat::ADDRESS).
    ///
    /// # Errors
    /// [`Unavailable`] where `nft` or the kernel has no NAT.
    ///
    /// # Panics
    /// When `ip` or `sysctl` refuses.
    pub fn start(outside: &str) -> Result<Nat, Unavailable> {
        let nat = Nat { outside: outside.to_owned(), forgotten: Cell::new(0) };
        command("sysctl -qw net.ipv4.ip_forward=1");
        nat.address("add");
        for line in [
            "add table ip nat".to_owned(),
            "add chain ip nat second { type nat hook postrouting priority 90 ; }".to_owned(),
            "add chain ip nat first { type nat hook postrouting priority 100 ; }".to_owned(),
            "add chain ip nat exposed { type nat hook prerouting priority -100 ; }".to_owned(),
            nat.masquerade(),
            // Behind the translation.
            "add set ip nat seen { type ipv4_addr . inet_service ; flags dynamic ; size 1024 ; }"
                .to_owned(),
            "add chain ip nat outside { type filter hook postrouting priority 110 ; }".to_owned(),
            format!(
                "add rule ip nat outside oifname {outside} meta l4proto udp update @seen {{ ip saddr . udp sport }}"
            ),
            "add chain ip nat strangers { type filter hook input priority 0 ; }".to_owned(),
            format!("add rule ip nat strangers iifname {outside} meta l4proto udp drop"),
        ] {
            attempt(&format!("nft {line}"))
                .map_err(|why| Unavailable::new(&why, "a kernel with nf_tables and its NAT"))?;
        }
        Ok(nat)
    }

    /// What comes from a second network behind it leaves from [`SECOND`](Nat::SECOND): to the world outside that is another NAT.
    ///
    /// # Panics
    /// When `ip` or `nft` refuses.
    pub fn second(&self, network: &str) {
        let (outside, second, last) = (&self.outside, Nat::SECOND, u16::MAX);
        let first = Nat::FIRST_PORT;
        command(&format!("ip addr add {second}/32 dev {outside}"));
        command(&format!(
            "nft add rule ip nat second oifname {outside} ip saddr {network} meta l4proto udp snat to {second}:{first}-{last}"
        ));
    }

    /// What comes from outside and belongs to nothing goes to the host at `inside`.
    ///
    /// # Panics
    /// When `nft` refuses.
    pub fn expose(&self, inside: Ipv4Addr) {
        let outside = &self.outside;
        command(&format!(
            "nft add rule ip nat exposed iifname {outside} meta l4proto udp dnat to {inside}"
        ));
    }

    /// Forgets all mappings, as one does that dials in again; the next ones have other ports, all of them higher.
    ///
    /// # Panics
    /// When `ip` or `nft` refuses.
    pub fn forget(&self) {
        self.forgotten.set(self.forgotten.get() + 1);
        // At once: a namespace without such a rule translates nothing, not even what it did before.
        command(&format!("nft flush chain ip nat first ; {}", self.masquerade()));
        // The kernel drops what it has masqueraded with an address that goes (nf_nat_masquerade.c).
        self.address("del");
        self.address("add");
    }

    /// How often it had forgotten before it chose a port.
    #[must_use]
    pub fn losses_before(port: u16) -> Option<u16> {
        port.checked_sub(Nat::FIRST_PORT).map(|port| port / PORTS)
    }

    /// From where packets have come, to those outside, in the order of their ports. What two processors forward at the same time may
    /// have two.
    ///
    /// # Panics
    /// When `nft` says something else.
    #[must_use]
    pub fn seen(&self) -> Vec<SocketAddrV4> {
        let said = attempt("nft list set ip nat seen").unwrap_or_else(|why| panic!("{why}"));
        let elements = said.split_once("elements = {").map_or("", |(_, rest)| rest);
        let elements = elements.split('}').next().unwrap_or_default();
        let one = |element: &str| {
            let (address, port) = element.split_once(" . ")?;
            Some(SocketAddrV4::new(address.trim().parse().ok()?, port.trim().parse().ok()?))
        };
        let elements = elements.split(',').filter(|element| !element.trim().is_empty());
        let seen = elements.map(|element| one(element).unwrap_or_else(|| panic!("{said}")));
        let mut seen: Vec<SocketAddrV4> = seen.collect();
        seen.sort_by_key(|at| (at.port(), *at.ip()));
        seen
    }

    fn address(&self, change: &str) {
        command(&format!("ip addr {change} {}/24 dev {}", Nat::ADDRESS, self.outside));
    }

    /// The rule for the mappings that come now.
    fn masquerade(&self) -> String {
        let first = Nat::FIRST_PORT + PORTS * self.forgotten.get();
        let (outside, last) = (&self.outside, first + PORTS - 1);
        format!(
            "add rule ip nat first oifname {outside} meta l4proto udp masquerade to :{first}-{last}"
        )
    }
}
