//! What a cell wants of an association, and of the network below it.

use std::sync::Arc;

use tresse::profile::StreamScheduler;
use tresse::{Authentication, MtuDiscovery, ReconfigurationPolicy};
use tresse_netem::LinkConfig;
use tresse_peers::{Meddler, Payload};

/// How an association of a cell is made.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// What is exchanged.
    pub(super) payload: Payload,
    /// Further words for the peer.
    pub(super) options: String,
    /// In UDP datagrams, where there is a choice.
    pub(super) udp: bool,
    /// Directly on IP, with a peer of this host that can.
    pub(super) raw: bool,
    pub(super) ipv6: bool,
    /// A network in between, to the server and to the client.
    pub(super) links: Option<[LinkConfig; 2]>,
    /// Who takes packets away from that network, or changes them.
    pub(super) meddler: Option<Arc<dyn Meddler>>,
    /// Streams of Tresse at the beginning, if more are to be added.
    pub(super) initial_streams: Option<u16>,
    /// How Tresse authenticates chunks, if it does.
    pub(super) authentication: Option<Arc<Authentication>>,
    /// Messages of several streams leave and come at a time.
    pub(super) interleaving: bool,
    /// Tresse takes packets without a checksum.
    pub(super) zero_checksum: bool,
    /// Addresses may change.
    pub(super) moving: bool,
    /// Tresse has all addresses of its host.
    pub(super) wildcard: bool,
    /// Routers may mark.
    pub(super) ecn: bool,
    /// Tresse reports damaged packets.
    pub(super) drop_reports: bool,
    /// The peer is in the wide world, and Tresse is not.
    pub(super) far: bool,
    /// Tresse is, and the peer is not.
    pub(super) abroad: bool,
    /// Two paths, and timers that notice at once when one fails.
    pub(super) two_paths: bool,
    /// A network whose packets may be of [`WIDE`] bytes.
    pub(super) wide: bool,
    /// A router between the hosts.
    pub(super) routed: bool,
    /// How Tresse finds out how large packets may be, if not as usual.
    pub(super) mtu_discovery: Option<MtuDiscovery>,
    /// Tresse soon hears whether the peer is there.
    pub(super) curious: bool,
    /// What of its streams the peer may ask Tresse to change (RFC 6525 §6.3.1).
    pub(super) reconfiguration: ReconfigurationPolicy,
    /// Bytes that may wait at Tresse, if not the usual ones.
    pub(super) send_buffer: Option<usize>,
    /// Bytes that Tresse takes before its application reads, if not the usual ones.
    pub(super) receive_buffer: Option<u32>,
    /// From how many bytes on Tresse reads parts of a message, if it does.
    pub(super) partial_delivery: Option<usize>,
    /// Which stream of Tresse sends next, if it is not the usual scheduler that says so.
    pub(super) scheduler: Option<StreamScheduler>,
    /// Settings of Tresse's profile beyond the usual ones.
    pub(super) overrides: &'static str,
}

impl Plan {
    pub(super) fn new(payload: Payload, options: &str) -> Plan {
        let options = options.to_owned();
        Plan {
            payload,
            options,
            udp: false,
            raw: false,
            ipv6: false,
            links: None,
            meddler: None,
            initial_streams: None,
            authentication: None,
            interleaving: false,
            zero_checksum: false,
            moving: false,
            wildcard: false,
            ecn: false,
            drop_reports: false,
            far: false,
            abroad: false,
            two_paths: false,
            wide: false,
            routed: false,
            mtu_discovery: None,
            curious: false,
            reconfiguration: ReconfigurationPolicy::default(),
            send_buffer: None,
            receive_buffer: None,
            partial_delivery: None,
            scheduler: None,
            overrides: "",
        }
    }
}
