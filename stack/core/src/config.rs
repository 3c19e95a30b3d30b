//! What an application chooses for an endpoint and for each association.
//!
//! Protocol behaviour (timers, thresholds, algorithms) is not here but in [`Profile`].

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tresse_wire::{ChunkType, IpLabels};

use crate::asconf::AUTHENTICATED;
use crate::auth::Authentication;
use crate::error::NotOpened;
use crate::extensions::Extensions;
use crate::mtu_discovery::MtuDiscovery;
use crate::peer_filter::PeerFilter;
use crate::profile::Profile;
use crate::reliability::Reliability;

/// Settings of an [`Endpoint`](crate::Endpoint): one SCTP port on one or more local addresses.
/// More ports can be opened later, see [`PortConfig`].
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The local SCTP port. No default that suits all; tests use 5000. With 0 there is none until
    /// [`Endpoint::open_port`](crate::Endpoint::open_port).
    pub local_port: u16,
    /// Local addresses that the endpoint is bound to. Those that the peer can reach are offered to it in
    /// INIT and INIT ACK. Empty (default): a wildcard, which means all addresses of the host, as far as
    /// they were told ([`Endpoint::set_host_addresses`](crate::Endpoint::set_host_addresses)). A single
    /// address is not written into a packet: the peer sees it as the source (RFC 9260 §5.1.2 A), after
    /// whatever a NAT made of it.
    pub local_addresses: Vec<IpAddr>,
    /// Whether to answer an INIT from a stranger (a "listening" endpoint). Default `false`:
    /// such an INIT is answered by ABORT, as RFC 9260 §8.4 asks.
    pub accept: bool,
    /// Which peers are answered. Default: all.
    pub peers: PeerFilter,
    /// The most associations kept at once; more are refused with "Out of Resource"
    /// (RFC 9260 §3.3.10.4). Default 65 536.
    pub max_associations: usize,
    /// Bytes of memory that all associations may hold together: user data in both directions, and all that
    /// is needed to keep track of it and of them ([`EndpointStats::memory`](crate::EndpointStats::memory)). Beyond one half of
    /// it windows shrink: each association may hold its part of that half, 64 KiB at least, and have
    /// as much to send as its peer takes. Beyond seven
    /// eighths new associations are refused, and chunks beyond a missing one are not taken from those that
    /// hold more than their part. Beyond all of it the association that holds the most is aborted (Out of
    /// Resource). Default 1 GiB.
    ///
    /// It does not count what the endpoint keeps for strangers: replies that wait to be sent (1 MiB), tags of
    /// associations that are over (4 MiB), rates of sources (64 KiB). An association without data takes
    /// some 7 KiB.
    pub memory: usize,
    /// Settings for associations that a peer opens. [`Endpoint::connect`](crate::Endpoint::connect) takes its own; that of the
    /// library `tresse` takes these.
    pub association: AssociationConfig,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        EndpointConfig {
            local_port: 5000,
            local_addresses: Vec::new(),
            accept: false,
            peers: PeerFilter::default(),
            max_associations: 65_536,
            memory: 1 << 30,
            association: AssociationConfig::default(),
        }
    }
}

/// Settings of one SCTP port of an endpoint; the fields mean what they do in [`EndpointConfig`].
#[derive(Clone, Debug, Default)]
pub struct PortConfig {
    /// Local addresses that it is bound to; see [`EndpointConfig::local_addresses`].
    pub local_addresses: Vec<IpAddr>,
    /// Whether peers may open associations to this port. Default `false`.
    pub accept: bool,
    /// Which peers may. Default: all.
    pub peers: PeerFilter,
    /// From addresses of which families they may; an INIT from another one is answered as if nobody
    /// listened. Default: both.
    pub families: Families,
    /// Whether an association that a peer opens has addresses only of the family that its INIT came in, as
    /// where the families have listeners of their own. Otherwise `association.families` says it. Default
    /// `false`.
    pub one_family: bool,
    /// Settings for associations that peers open to this port.
    pub association: AssociationConfig,
}

/// Families of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Families {
    /// IPv4 and IPv6.
    #[default]
    Both,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

impl Families {
    /// Those that are wanted: IPv4, IPv6. Without any there would be nothing to do: both.
    #[must_use]
    pub fn of(v4: bool, v6: bool) -> Families {
        match (v4, v6) {
            (true, false) => Families::V4,
            (false, true) => Families::V6,
            _ => Families::Both,
        }
    }

    /// Whether an address is of one of them.
    #[must_use]
    pub fn include(self, address: IpAddr) -> bool {
        match self {
            Families::Both => true,
            Families::V4 => address.is_ipv4(),
            Families::V6 => address.is_ipv6(),
        }
    }
}

impl PortConfig {
    /// Whether a peer at that address and SCTP port may open an association.
    pub(crate) fn accepts(&self, peer: IpAddr, port: u16) -> bool {
        self.accept && self.families.include(peer) && self.peers.admits(peer, port)
    }

    /// Addresses of which families an association has that a peer at that address opens.
    pub(crate) fn families_for(&self, peer: IpAddr) -> Families {
        match self.one_family {
            true => Families::of(peer.is_ipv4(), peer.is_ipv6()),
            false => self.association.families,
        }
    }

    /// Valid.Cookie.Life with the longest extension that is granted (RFC 9260 §5.2.6).
    pub(crate) fn longest_cookie_life(&self) -> Duration {
        // A longer life makes replay easier: it is at most doubled.
        self.association.profile.limits.cookie_life() * 2
    }
}

/// Settings of one association.
#[derive(Clone, Debug)]
pub struct AssociationConfig {
    /// Protocol behaviour. Default: the profile `tresse`.
    pub profile: Arc<Profile>,
    /// Streams we ask for in our direction (RFC 9260 §3.3.2, OS). Default 16.
    pub outbound_streams: u16,
    /// The most streams we accept in the peer's direction (MIS). Default 65 535.
    pub inbound_streams: u16,
    /// Bytes of user data that may wait in the send buffer (queued or not yet acknowledged)
    /// before [`SendError::WouldBlock`](crate::SendError::WouldBlock). Default 1 MiB.
    /// One message larger than the limit is accepted into an empty buffer up to
    /// `max_message_size`, and streams of which little waits may go beyond it
    /// ([`StreamParameters::reserve`](crate::profile::StreamParameters::reserve)).
    pub send_buffer: usize,
    /// Bytes of user data we hold for the application; advertised as a_rwnd. Default 1 MiB,
    /// at least 4 096 (RFC 9260 §3.3.2 asks for no less than 1500).
    pub receive_buffer: u32,
    /// The largest message accepted for sending and for reassembly, in bytes. Default 16 MiB.
    /// A longer incoming message aborts the association (out of resource); of one that is handed over in
    /// parts only what was not read counts.
    pub max_message_size: usize,
    /// From this many bytes on the beginning of a message may be read before its end has arrived (partial delivery, RFC 9260
    /// §6.9; SCTP_PARTIAL_DELIVERY_POINT, RFC 6458 §8.1.21): [`ReceivedMessage::part`](crate::ReceivedMessage::part) says
    /// which part it is. What is complete before any of it was read stays whole. From 1 to `receive_buffer`.
    ///
    /// With it messages of any length pass through the receive buffer, which one whole message may exceed. In
    /// return the reader has to put them together, and has half a message where the peer or the association gives up;
    /// with DATA chunks nothing else of the association is handed over until the message has ended. Default `None`:
    /// messages are handed over whole.
    pub partial_delivery_point: Option<usize>,
    /// Bytes of the largest IP packet sent on a path, IP header included. Default 1500.
    pub mtu: usize,
    /// How it is found out which packets each path takes; `mtu` is what is likely. Default: by ICMP.
    pub mtu_discovery: MtuDiscovery,
    /// What the IP headers of all packets say to routers, on paths for which nothing else is set
    /// ([`PathSettings::labels`](crate::PathSettings::labels)). Default: best effort, and no flow label.
    pub labels: IpLabels,
    /// UDP port of the peer when packets are encapsulated (RFC 6951), `None` on raw IP.
    /// 9899 is the registered one. Default `None`.
    pub encapsulation: Option<u16>,
    /// Addresses of which families the association has, ours and the peer's. Others are not told, and
    /// ignored where the peer lists them (RFC 9260 §5.1.2). It is settled when the association begins.
    /// Default: both.
    pub families: Families,
    /// `true` sends over all usable addresses of the peer at once (concurrent multipath transfer);
    /// how is in `profile.multipath`. `false` uses one address, and others when it fails
    /// (RFC 9260 §6.4). Default `false`. With a single address it changes nothing.
    pub concurrent_transfer: bool,
    /// `true` sends small messages at once; `false` holds a partial packet while data is
    /// outstanding (Nagle, RFC 9260 §6.1 / SCTP_NODELAY of RFC 6458 §8.1.5). Default `false`.
    pub no_delay: bool,
    /// `false` rejects messages that do not fit one packet (SCTP_DISABLE_FRAGMENTS,
    /// RFC 6458 §8.1.11). Default `true`.
    pub fragmentation: bool,
    /// The largest user data of one chunk: messages are cut there at the latest (SCTP_MAXSEG, RFC 6458 §8.1.16). A change holds
    /// for what is cut from then on. Smaller chunks cost headers; of several in a packet all are lost together. At least
    /// 64. Default `None`: as much as fits the packets of every path.
    pub max_segment: Option<usize>,
    /// `false` gives each message its own packet instead of bundling (the lab needs it to count
    /// packets; RFC 9260 §6.10 permits but does not require bundling). Default `true`.
    pub bundling: bool,
    /// Bytes of the SCTP packet with our INIT, at least: a shorter one is padded (RFC 4820). Whoever
    /// answers with no more than some multiple of what it got, as Tresse does (three times, IP and UDP
    /// headers counted), lists as many of its addresses as that has room for. Default 80: room for 19
    /// IPv4 addresses or 7 of IPv6; 0 pads nothing.
    pub init_size: usize,
    /// Adaptation Layer Indication that the peer is told in INIT or INIT ACK (RFC 5061 §4.2.6), if
    /// any. Default `None`: the parameter is left out.
    pub adaptation: Option<u32>,
    /// Extensions that the peer is offered. Default: partial reliability and stream reconfiguration.
    pub extensions: Extensions,
    /// The peer is told when the addresses of our host change ([`Endpoint::set_host_addresses`](crate::Endpoint::set_host_addresses)),
    /// if [`Extensions::address_reconfiguration`] was agreed on (SCTP_AUTO_ASCONF, RFC 6458 §8.1.23): new ones are added where the
    /// port is bound to a wildcard, those that are gone are deleted as soon as another one is there, and added again when they are
    /// back. Default `true`.
    pub follow_host_addresses: bool,
    /// The address of ours to which the peer is asked to send by default, in INIT or INIT ACK (RFC 5061 §4.2.4), if
    /// [`Extensions::address_reconfiguration`] is offered and the address is among those that it is told. It is advice, and a peer
    /// may send there only once it has verified it. Default `None`: the peer chooses. Later
    /// [`Endpoint::set_peer_primary`](crate::Endpoint::set_peer_primary) asks for it.
    pub preferred_address: Option<IpAddr>,
    /// How chunks are authenticated, if the extension is on (RFC 4895). Default: none needs to be.
    pub authentication: Arc<Authentication>,
    /// Which changes of streams the peer may ask for (RFC 6525).
    pub reconfiguration: ReconfigurationPolicy,
    /// When messages are given up that do not say so themselves
    /// ([`SendOptions::reliability`](crate::SendOptions::reliability)). Default: never.
    pub reliability: Reliability,
    /// `true` reports [`Event::SenderDry`](crate::Event::SenderDry). Default `false`.
    pub report_dry: bool,
    /// `true` records [`TraceEvent`](crate::TraceEvent)s
    /// for
    /// [`Endpoint::poll_trace`](crate::Endpoint::poll_trace). Default `false`, which costs nothing.
    pub trace: bool,
}

/// What the peer may ask for, if stream reconfiguration was agreed on (RFC 6525 §6.3.1). What is not allowed is denied. What
/// answers a request of this end, and is just what that asked for, is always allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReconfigurationPolicy {
    /// Streams begin again with SSN 0, incoming ones or outgoing ones (SCTP_ENABLE_RESET_STREAM_REQ). Default `true`: who does
    /// not look at SSNs notices nothing but an event, and data channels are closed with it (RFC 8831 §6.7).
    pub reset_streams: bool,
    /// All streams and the TSNs begin again (SCTP_ENABLE_RESET_ASSOC_REQ). Default `false`: it stops all data until what is
    /// outstanding has arrived.
    pub reset_association: bool,
    /// Streams are added (SCTP_ENABLE_CHANGE_ASSOC_REQ): incoming ones up to
    /// [`inbound_streams`](AssociationConfig::inbound_streams), outgoing ones up to `most_outbound_streams`. Default `true`.
    pub add_streams: bool,
    /// The most outgoing streams that there are when the peer asks for more (RFC 6525 §5.2.6). Default 65 535: one that is not
    /// used costs nothing.
    pub most_outbound_streams: u16,
}

impl ReconfigurationPolicy {
    /// Everything is denied.
    pub const DENY: ReconfigurationPolicy = ReconfigurationPolicy {
        reset_streams: false,
        reset_association: false,
        add_streams: false,
        most_outbound_streams: u16::MAX,
    };
}

impl Default for ReconfigurationPolicy {
    fn default() -> Self {
        ReconfigurationPolicy {
            reset_streams: true,
            add_streams: true,
            ..ReconfigurationPolicy::DENY
        }
    }
}

impl Default for AssociationConfig {
    fn default() -> Self {
        AssociationConfig {
            profile: Profile::tresse(),
            outbound_streams: 16,
            inbound_streams: u16::MAX,
            send_buffer: 1 << 20,
            receive_buffer: 1 << 20,
            max_message_size: 16 << 20,
            partial_delivery_point: None,
            mtu: 1500,
            mtu_discovery: MtuDiscovery::default(),
            labels: IpLabels::default(),
            encapsulation: None,
            families: Families::Both,
            concurrent_transfer: false,
            no_delay: false,
            fragmentation: true,
            max_segment: None,
            bundling: true,
            init_size: 80,
            adaptation: None,
            extensions: Extensions::default(),
            follow_host_addresses: true,
            preferred_address: None,
            authentication: Arc::default(),
            reconfiguration: ReconfigurationPolicy::default(),
            reliability: Reliability::Full,
            report_dry: false,
            trace: false,
        }
    }
}

impl AssociationConfig {
    //= RFC 5061 4.1.1-2 4.1.2-1
    /// Chunks that are to be authenticated whatever the settings say: those that the extensions need.
    pub(crate) fn authenticated(&self) -> &'static [ChunkType] {
        if self.extensions.address_reconfiguration { &AUTHENTICATED } else { &[] }
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// [`NotOpened::Config`] names the setting, its value and what is allowed.
    pub fn check(&self) -> Result<(), NotOpened> {
        let check = |name: &str, value: usize, low: usize, high: usize| {
            if (low..=high).contains(&value) {
                Ok(())
            } else if high == usize::MAX {
                Err(NotOpened::Config(format!("{name} is {value}, not {low} or more")))
            } else {
                Err(NotOpened::Config(format!("{name} is {value}, not in {low} to {high}")))
            }
        };
        //= RFC 9260 3.3.2-11 3.3.2-13 3.3.3-11 3.3.3-14
        check("outbound_streams", usize::from(self.outbound_streams), 1, 65_535)?;
        check("inbound_streams", usize::from(self.inbound_streams), 1, 65_535)?;
        check("send_buffer", self.send_buffer, 1, usize::MAX)?;
        //= RFC 9260 3.3.2-8 3.3.3-8
        check("receive_buffer", self.receive_buffer as usize, 4096, u32::MAX as usize)?;
        if let Some(point) = self.partial_delivery_point {
            check("partial_delivery_point", point, 1, self.receive_buffer as usize)?;
        }
        check("max_message_size", self.max_message_size, 1, usize::MAX)?;
        check("max_segment", self.max_segment.unwrap_or(usize::MAX), 64, usize::MAX)?;
        check("init_size", self.init_size, 0, 512)?;
        // RFC 9260 needs room for a cookie and for a chunk; IPv6 asks for 1280 anyway.
        check("mtu", self.mtu, 512, 65_535)?;
        if self.extensions.address_reconfiguration && !self.extensions.authentication {
            let why = "extensions.address_reconfiguration needs extensions.authentication";
            return Err(NotOpened::Config(why.to_owned()));
        }
        self.authentication.check().map_err(NotOpened::Config)?;
        self.mtu_discovery.check(self.mtu).map_err(NotOpened::Config)
    }
}
