//! The receiving half: what arrived, what is held, and when to acknowledge.

use std::net::IpAddr;

use tresse_wire::Tsn;

use super::memory::Budget;
use crate::ack::dac::CmtDelayedAck;
use crate::ack::delayed::DelayedAck;
use crate::ack::received::ReceivedTsns;
use crate::ack::report::{Kept, Report};
use crate::ack::timestamps::TimestampEcho;
use crate::ack::window::ReceiveWindow;
use crate::config::AssociationConfig;
use crate::handshake::Extensions;
use crate::path::PathId;
use crate::profile::NrSackMode;
use crate::streams::inbound::Inbound;

/// Duplicate TSNs reported in one SACK at most.
pub(super) const MAX_DUPLICATES: usize = 64;

/// The receiving half of an association.
#[derive(Debug)]
pub(super) struct Receiver {
    /// What the peer said in INIT or INIT ACK.
    pub(super) initial_tsn: Tsn,
    pub(super) received: ReceivedTsns,
    pub(super) inbound: Inbound,
    pub(super) delayed: DelayedAck,
    pub(super) window: ReceiveWindow,
    /// Size of the receive buffer in bytes.
    pub(super) buffer: usize,
    /// Bytes of messages from before a restart of the peer that the application has not read.
    pub(super) past: usize,
    /// User bytes accepted since the association began.
    pub(super) received_bytes: u64,
    /// The right edge of the widest window ever advertised, counted as `received_bytes`: up to
    /// here the peer was allowed to send, so up to here we accept.
    pub(super) promised_bytes: u64,
    /// Streams that the peer may use.
    pub(super) streams: u16,
    /// Where the last DATA came from: SACKs go there (RFC 9260 §6.7).
    pub(super) ack_path: PathId,
    /// Where it arrived: that way SACKs go back, whatever our own data's way is.
    pub(super) ack_source: Option<IpAddr>,
    /// Timestamps of the peer (Ladha et al. §4).
    pub(super) timestamps: TimestampEcho,
    /// DATA with the R bit came since the last SACK (Ladha et al., Figure 6, rule b).
    pub(super) retransmission: bool,
    /// Delayed acknowledgement for CMT.
    pub(super) dac: Option<CmtDelayedAck>,
    /// What is promised never to be discarded; `Off` unless NR-SACKs were agreed on.
    pub(super) nr_sack: NrSackMode,
    /// The blocks of the SACK being written.
    pub(super) report: Report,
    /// What it may hold.
    pub(super) budget: Budget,
}

impl Receiver {
    /// `past` bytes of the receive buffer are taken by messages of the peer's past lives.
    pub(super) fn new(
        peer_initial_tsn: Tsn,
        streams: u16,
        extensions: Extensions,
        past: usize,
        config: &AssociationConfig,
    ) -> Receiver {
        let received = ReceivedTsns::new(peer_initial_tsn);
        let first = received.cumulative_seq() + 1;
        let nr_sack =
            if extensions.nr_sack { config.profile.multipath.nr_sack } else { NrSackMode::Off };
        let mut inbound = Inbound::new(streams, config.max_message_size, first);
        if nr_sack == NrSackMode::Delivered {
            inbound.track_delivered();
        }
        Receiver {
            initial_tsn: peer_initial_tsn,
            inbound,
            received,
            delayed: DelayedAck::new(&config.profile.sack),
            window: ReceiveWindow::new(config.receive_buffer),
            buffer: config.receive_buffer as usize,
            past,
            received_bytes: 0,
            promised_bytes: (config.receive_buffer as usize).saturating_sub(past) as u64,
            streams,
            ack_path: PathId(0),
            ack_source: None,
            timestamps: TimestampEcho::new(first - 1),
            retransmission: false,
            dac: (config.concurrent_transfer && config.profile.multipath.dac)
                .then(CmtDelayedAck::default),
            nr_sack,
            report: Report::default(),
            budget: Budget::AMPLE,
        }
    }

    /// Bytes of a SACK or NR-SACK without blocks.
    pub(super) fn sack_header(&self) -> usize {
        if self.nr_sack == NrSackMode::Off { 16 } else { 20 }
    }

    /// An upper bound of the bytes of the next SACK, should it have room.
    pub(super) fn sack_bound(&self) -> usize {
        let duplicates = self.received.duplicates(MAX_DUPLICATES).len();
        // A delivered run can split a block into three.
        let splits = self.inbound.delivered().map_or(0, |runs| 2 * runs.range_count());
        self.sack_header() + 4 * (self.received.gap_count() + splits + duplicates)
    }

    /// Takes up to `limit` blocks for a SACK into `report`.
    pub(super) fn fill_report(&mut self, window: u32, limit: usize) {
        let kept = match (self.nr_sack, self.inbound.delivered()) {
            (NrSackMode::All, _) => Kept::Everything,
            (_, Some(delivered)) => Kept::These(delivered),
            (_, None) => Kept::Nothing,
        };
        self.report.fill(&self.received, kept, window, limit);
    }

    pub(super) fn buffered(&self) -> usize {
        self.past + self.inbound.buffered()
    }

    /// Bytes that count against the window.
    pub(super) fn occupied(&self) -> usize {
        // With something left to read the application is not waiting for the rest of a message.
        if self.past > 0 { self.buffered() } else { self.inbound.occupied(self.buffer) }
    }

    /// The application has read everything.
    pub(super) fn is_read(&self) -> bool {
        self.past == 0 && self.inbound.ready() == 0
    }

    /// Remembers what a SACK that leaves now advertises.
    pub(super) fn note_advertised(&mut self, a_rwnd: u32) {
        self.window.on_sacked(a_rwnd);
        self.promised_bytes = self.promised_bytes.max(self.received_bytes + u64::from(a_rwnd));
    }
}
