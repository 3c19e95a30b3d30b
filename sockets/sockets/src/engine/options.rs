//! Options of a socket (RFC 6458 §8).

use std::collections::BTreeMap;
use std::sync::Arc;

use tresse::{AssociationConfig, HmacIdentifier, Profile, ReconfigurationPolicy};

use super::exposure::Exposure;
use super::notification::{event, is_among};
use tresse_socket_protocol::abi::{Fields, errno};
use tresse_socket_protocol::protocol::{TxHeader, flag};

/// Options of one socket.
#[derive(Clone)]
pub(crate) struct Options {
    /// For associations to come.
    pub(super) config: AssociationConfig,
    /// Bit n stands for the notification 0x8000 + n.
    pub(super) events: u16,
    pub(super) receive_info: bool,
    pub(super) next_info: bool,
    /// SCTP_USE_EXT_RCVINFO: data information tells of the next message as well.
    pub(super) extended_info: bool,
    /// SCTP_EXPLICIT_EOR: a message ends where the program says so.
    pub(super) explicit_end: bool,
    pub(super) context: u32,
    pub(super) exposure: Exposure,
    /// SPP_DSCP was set for associations to come.
    pub(super) own_dscp: bool,
    /// What a send without header information means.
    pub(super) defaults: TxHeader,
    pub(super) autoclose: u32,
    /// SCTP_ASCONF_SUPPORTED: addresses of associations to come may change, if chunks are authenticated as well.
    pub(super) asconf: bool,
    /// SCTP_FRAGMENT_INTERLEAVE, if it was set.
    pub(super) interleave: Option<u32>,
    /// SCTP_PARTIAL_DELIVERY_POINT: longer messages may be handed over in parts. 0 until it is set: those that are
    /// larger than the receive buffer.
    pub(super) partial_delivery: u32,
    pub(super) mapped_v4: bool,
    pub(super) v6_only: bool,
    pub(super) reuse_address: bool,
    /// SCTP_REUSE_PORT.
    pub(super) reuse_port: bool,
    /// SO_REUSEPORT: several may listen.
    pub(super) share_port: bool,
    /// Seconds of SO_LINGER, if on.
    pub(super) linger: Option<u32>,
    /// SCTP_REMOTE_UDP_ENCAPS_PORT, if set.
    pub(super) peer_udp_port: Option<u16>,
    /// SO_RCVBUF as it reads: the core has a larger one than the least.
    pub(super) receive_buffer: u32,
    /// `sinit_max_init_timeo` in milliseconds.
    pub(super) max_init_timeout: u16,
    /// Options without an effect, by level and name.
    pub(super) kept: BTreeMap<(i32, i32), i32>,
}

impl Options {
    pub(super) fn new(profile: Arc<Profile>, trace: bool) -> Options {
        // `sctp_initmsg` of Linux: 10 streams asked for, 65535 granted. RFC 6525 §7: "applications must enable this
        // extension explicitly before it is used", as where net.sctp.reconf_enable is 0.
        let mut config = AssociationConfig {
            profile,
            trace,
            outbound_streams: 10,
            reconfiguration: ReconfigurationPolicy::DENY,
            ..AssociationConfig::default()
        };
        config.extensions.stream_reconfiguration = false;
        config.follow_host_addresses = false;
        // As Linux.
        Arc::make_mut(&mut config.authentication).algorithms = vec![HmacIdentifier::SHA_1];
        let receive_buffer = config.receive_buffer;
        Options {
            config,
            events: 0,
            receive_info: false,
            next_info: false,
            extended_info: false,
            explicit_end: false,
            context: 0,
            exposure: Exposure::Unset,
            own_dscp: false,
            defaults: TxHeader::default(),
            autoclose: 0,
            asconf: false,
            interleave: None,
            partial_delivery: 0,
            mapped_v4: true,
            v6_only: false,
            reuse_address: false,
            reuse_port: false,
            share_port: false,
            linger: None,
            peer_udp_port: None,
            receive_buffer,
            max_init_timeout: 60_000,
            kept: BTreeMap::new(),
        }
    }

    /// Settings for a new association.
    pub(super) fn association(&self) -> AssociationConfig {
        let mut config = self.config.clone();
        config.partial_delivery_point = Some(self.partial_delivery_point());
        config.extensions.address_reconfiguration = self.asconf && config.extensions.authentication;
        config
    }

    /// Whether the engine has to be asked before each message: how long it may be, or to what stream it may go, is not known before.
    pub(super) fn asks_always(&self) -> bool {
        !self.config.fragmentation || self.explicit_end
    }

    //= RFC 6458 8.1.20-1
    /// The level of SCTP_FRAGMENT_INTERLEAVE. RFC 6458 §8.1.20: "An implementation should default one-to-many style sockets
    /// to level 1".
    pub(super) fn level(&self, many: bool) -> u32 {
        self.interleave.unwrap_or(u32::from(many))
    }

    /// From this many bytes on messages are handed over in parts.
    pub(super) fn partial_delivery_point(&self) -> usize {
        let buffer = self.config.receive_buffer;
        let point = if self.partial_delivery == 0 { buffer } else { self.partial_delivery };
        point.min(buffer) as usize
    }

    pub(super) fn max_message(&self) -> usize {
        self.config.max_message_size
    }

    pub(super) fn wants(&self, event: u16) -> bool {
        is_among(event, self.events)
    }

    //= RFC 6458 5.3.5-1 5.3.6-1
    /// What is to be handed over with each message.
    pub(super) fn receive_flags(&self) -> u8 {
        let mut flags = 0;
        if self.wants(event::DATA_IO_EVENT) {
            flags |= flag::SNDRCVINFO;
        }
        if self.receive_info {
            flags |= flag::RCVINFO;
        }
        if self.next_info {
            flags |= flag::NXTINFO;
        }
        if self.extended_info {
            flags |= flag::EXTRCVINFO;
        }
        flags
    }
}

//= RFC 6458 5.3.1-2 5.3.1-3
/// `struct sctp_initmsg` (RFC 6458 §5.3.1), where 0 leaves what there is.
pub(super) fn apply_init(config: &mut AssociationConfig, f: Fields<'_>) {
    let (out, most, tries, timeout) = (f.u16(0), f.u16(2), f.u16(4), f.u16(6));
    if out > 0 {
        config.outbound_streams = out;
    }
    if most > 0 {
        config.inbound_streams = most;
    }
    if tries > 0 {
        Arc::make_mut(&mut config.profile).limits.max_init_retransmits = u32::from(tries);
    }
    if timeout > 0 {
        Arc::make_mut(&mut config.profile).limits.max_init_rto_ms = f64::from(timeout);
    }
}

pub(super) fn at_least(value: &[u8], len: usize) -> Result<Fields<'_>, i32> {
    if value.len() < len { Err(errno::EINVAL) } else { Ok(Fields(value)) }
}
