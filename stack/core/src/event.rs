//! What the core tells: events for the application, trace events for tools.

mod close_reason;
mod message;

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use tresse_wire::{Ppid, StreamId, Tsn};

pub use crate::asconf::{AddressChange, AddressOutcome};
use crate::ids::{LossCause, MtuCause, MtuSearchState, PathId, PathState, WindowCause};
use crate::reliability::Reliability;
use crate::time::Time;
pub use close_reason::CloseReason;
pub use message::{Message, MessagePart, NextMessage, ReceivedMessage};

/// Options of one send (RFC 6458 §5.3.4 `sctp_sndinfo`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendOptions {
    /// Payload protocol identifier. Default 0.
    pub ppid: Ppid,
    /// Send with the U flag. Default `false`.
    pub unordered: bool,
    /// Ask the peer to acknowledge at once (I bit, RFC 7053). Default `false`.
    pub sack_immediately: bool,
    /// The message is given up if none of it has been sent when so much time has passed since `send`. Once a part of it was
    /// sent it is reliable like any other (RFC 9260 §11.1.5). The peer needs no extension for that. Default `None`: it
    /// waits as long as it must.
    pub lifetime: Option<Duration>,
    /// When it is given up. Default `None`: as [`AssociationConfig::reliability`](crate::AssociationConfig::reliability)
    /// says.
    pub reliability: Option<Reliability>,
    /// Whatever the application wants back with the failure of this message (RFC 9260 §11.1.5). Default 0.
    pub context: u32,
    /// Number of the shared key that its chunks are authenticated with (SCTP_AUTHINFO, RFC 6458 §5.3.8), if the peer wants
    /// user data authenticated. Messages with different keys do not share packets. Default `None`, and what holds once the key
    /// is deactivated or deleted: the key that is active when a packet leaves.
    pub key: Option<u16>,
    /// The address of the peer that it is sent to (destination transport address, RFC 9260 §11.1.5; SCTP_ADDR_OVER, RFC 6458
    /// §5.3.2), while that is active (§6.4.1); what is lost goes where loss recovery has it go. Messages behind it wait until it
    /// has left. Default `None`: the association chooses.
    pub destination: Option<IpAddr>,
}

/// SEND FAILURE (RFC 9260 §11.2.2): a message that was not delivered, or perhaps was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendFailure {
    /// The message; without its first fragments where these were acknowledged.
    pub message: Message,
    /// All of it is there.
    pub whole: bool,
    /// [`SendOptions::context`].
    pub context: u32,
    /// Whether a part of it was sent, so that the peer may have it.
    pub sent: bool,
}

/// What an application must know of an association (RFC 9260 §11.2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// COMMUNICATION UP: the association is established.
    Connected {
        /// Negotiated streams in our direction.
        outbound_streams: u16,
        /// Negotiated streams in the peer's direction.
        inbound_streams: u16,
        /// `true` when the peer opened it.
        accepted: bool,
    },
    /// RESTART: the peer restarted; both directions begin again (RFC 9260 §5.2.4 A), and so do all paths, also those
    /// that had failed: no `PathChanged` says so. Messages not yet acknowledged are reported by `SendFailed` before this
    /// event. What the peer's first life sent and nobody has read stays readable, ahead of what the second one sends.
    Restarted,
    /// Messages wait in [`Endpoint::recv`](crate::Endpoint::recv). Sent when the queue stops being empty, not for each message.
    Readable,
    /// After `WouldBlock`: there is room in the send buffer again.
    Writable,
    /// SEND FAILURE: this message was not acknowledged when the association ended (RFC 9260 §11.2.2).
    SendFailed(SendFailure),
    /// SEND FAILURE: the lifetime of this message ended before any of it was sent (RFC 9260 §11.1.5). The association goes on.
    Expired(SendFailure),
    /// SEND FAILURE: this message was given up, as its [`Reliability`] says, and the peer gets nothing of it any more, or
    /// got all of it. Whether a part had been sent is [`SendFailure::sent`]. The association goes on.
    Abandoned(SendFailure),
    /// NETWORK STATUS CHANGE of one path.
    PathChanged {
        /// Which path.
        path: PathId,
        /// The peer's address.
        address: IpAddr,
        /// Its state when it was last told of, [`Unconfirmed`](PathState::Unconfirmed) if it was not confirmed then (RFC 9260 §5.4).
        before: PathState,
        /// Its new state.
        state: PathState,
    },
    /// Another path is the primary one: the application asked for it, or the one before has failed (RFC 7829 §5,
    /// `limits.ps_max_retrans`).
    PrimaryChanged {
        /// Which path.
        path: PathId,
        /// The peer's address.
        address: IpAddr,
    },
    /// COMMUNICATION ERROR: the peer sent an ERROR chunk with this cause code and value. It is left out while 256 events of the
    /// association wait, and so are `PathChanged`, `PrimaryChanged` and `PeerAdaptation`: a peer can cause these at will.
    PeerError {
        /// Cause code (RFC 9260 §3.3.10).
        cause: u16,
        /// The cause's value as received.
        value: Bytes,
    },
    /// After `Connected` or `Restarted`: the Adaptation Layer Indication of the peer (RFC 5061 §4.2.6), if it sent one.
    PeerAdaptation(u32),
    /// All that was sent is acknowledged and nothing waits to be sent (RFC 6458 §6.1.9). Only with
    /// [`AssociationConfig::report_dry`](crate::AssociationConfig::report_dry).
    SenderDry,
    /// Streams begin again with SSN 0, or do not: at the request of this end or of the peer (RFC 6525 §6.1.1). For incoming
    /// streams, all messages from before have been read by then, and none from after, unless the association ends or the peer
    /// restarts: then it is told at once.
    StreamsReset {
        /// Which of ours they are; never both.
        direction: ResetDirection,
        /// The streams; none for all.
        streams: Vec<StreamId>,
        /// What became of it; always `Performed` if the peer asked for it.
        outcome: ReconfigurationOutcome,
    },
    /// All streams of both directions begin again with SSN 0, and the TSNs with others, or do not (RFC 6525 §6.1.2). All
    /// messages from before have been read by then, and none from after.
    AssociationReset {
        /// What became of it.
        outcome: ReconfigurationOutcome,
        /// The next TSN that this end uses.
        local_tsn: Tsn,
        /// The next TSN that the peer uses.
        remote_tsn: Tsn,
    },
    /// There are more streams, or there are not (RFC 6525 §6.1.3).
    StreamsAdded {
        /// What became of it.
        outcome: ReconfigurationOutcome,
        /// Streams in our direction.
        outbound_streams: u16,
        /// Streams in the peer's direction.
        inbound_streams: u16,
    },
    /// What became of a change of our addresses that the peer was asked for (RFC 5061).
    AddressChanged {
        /// What was asked.
        change: AddressChange,
        /// Our address.
        address: IpAddr,
        /// What became of it.
        outcome: AddressOutcome,
    },
    /// The peer has another address, whose path is not confirmed yet (SCTP_ADDR_ADDED, RFC 6458 §6.1.2).
    PeerAddressAdded(PathId, IpAddr),
    /// The peer has removed one of its addresses (SCTP_ADDR_REMOVED, RFC 6458 §6.1.2). What was in flight there leaves again over
    /// another path.
    PeerAddressRemoved(PathId, IpAddr),
    /// Something about the authentication of chunks is to be known (SCTP_AUTHENTICATION_EVENT, RFC 6458 §6.1.8). What a peer can
    /// cause at will is left out while 256 events wait, as [`PeerError`](Self::PeerError) is.
    Authentication(AuthenticationEvent),
    /// The peer began a graceful shutdown; no further message is accepted for sending.
    PeerShutdown,
    /// COMMUNICATION LOST or SHUTDOWN COMPLETE: the association is gone, and this its last event; what was received can be read
    /// until `forget`.
    Closed(CloseReason),
}

impl Event {
    /// Incoming streams begin again, by a reset or since the peer restarted: it stands between messages from before and from
    /// after ([`Endpoint::tells_of_reset`](crate::Endpoint::tells_of_reset)).
    #[must_use]
    pub fn begins_streams_again(&self) -> bool {
        match self {
            Event::StreamsReset { direction, .. } => *direction == ResetDirection::Incoming,
            Event::AssociationReset { .. } | Event::Restarted => true,
            _ => false,
        }
    }
}

/// What an application may want to know of authenticated chunks (RFC 4895).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthenticationEvent {
    /// After `Connected` or `Restarted`: this end offers to authenticate chunks, and the peer does not. They go
    /// unauthenticated both ways (SCTP_AUTH_NO_AUTH).
    NotSupported,
    /// The chunks of the peer are authenticated with another key than those before (SCTP_AUTH_NEW_KEY).
    NewKey {
        /// Its number.
        key: u16,
        /// The number of the one before; 0 in the beginning.
        before: u16,
    },
    /// This key was deactivated, and nothing is authenticated with it any more, not even what is sent again: it
    /// may be deleted once the peer does not use it either (SCTP_AUTH_FREE_KEY).
    FreeKey {
        /// Its number.
        key: u16,
    },
    /// Chunks came that claim to be authenticated with a key that is not there, and were dropped. It is told again when
    /// another number has come, or a key was set or deleted.
    UnknownKey {
        /// Its number.
        key: u16,
    },
}

/// Which streams are reset (RFC 6525 §6.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetDirection {
    /// The streams that this end sends on (Outgoing SSN Reset Request, RFC 6525 §4.1).
    Outgoing,
    /// The streams that the peer sends on: it is asked to reset them (Incoming SSN Reset Request, RFC 6525 §4.2).
    Incoming,
    /// The streams of both directions with these numbers.
    Both,
}

/// What became of a request to change streams (RFC 6525 §4.4, table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconfigurationOutcome {
    /// It was done.
    Performed,
    /// Nothing had to be done: things were as they were asked to be.
    NothingToDo,
    /// The peer does not want to.
    Denied,
    /// It cannot be done, or not now; or the association ended before the peer had answered; or the peer answered that it
    /// does it, and did something else, or nothing within RTO.Max.
    Failed,
}

impl ReconfigurationOutcome {
    /// Whether things are as they were asked to be.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, ReconfigurationOutcome::Performed | ReconfigurationOutcome::NothingToDo)
    }
}

/// A decision or a fact of loss recovery, for analysers and plots. Off unless
/// [`AssociationConfig::trace`](crate::AssociationConfig::trace).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TraceEvent {
    /// A DATA chunk left.
    Sent {
        /// Its TSN.
        tsn: Tsn,
        /// The path it took.
        path: PathId,
        /// Bytes of user data.
        bytes: usize,
        /// 1 for the first transmission.
        transmission: u32,
        /// Why it was sent again; `None` for the first transmission.
        cause: Option<LossCause>,
    },
    /// A SACK was processed.
    Sacked {
        /// Its Cumulative TSN Ack.
        cumulative: Tsn,
        /// Gap Ack Blocks in it.
        gap_blocks: usize,
        /// Duplicate TSNs in it.
        duplicates: usize,
        /// Bytes that it acknowledged for the first time.
        newly_acked: usize,
        /// The peer's advertised window.
        a_rwnd: u32,
    },
    /// A chunk was declared lost.
    Lost {
        /// Its TSN.
        tsn: Tsn,
        /// Path of its last transmission.
        path: PathId,
        /// Why.
        cause: LossCause,
        /// Miss indications it had.
        misses: u32,
    },
    /// A message was given up of which a part had been sent.
    Abandoned {
        /// TSN of its first chunk.
        tsn: Tsn,
        /// Chunks of it that were sent and not acknowledged cumulatively.
        chunks: usize,
    },
    /// A FORWARD TSN chunk left.
    Forwarded {
        /// Its New Cumulative TSN.
        tsn: Tsn,
        /// The path it took.
        path: PathId,
        /// How many streams it lists.
        streams: usize,
    },
    /// A FORWARD TSN or I-FORWARD-TSN chunk was processed.
    PassedOver {
        /// Its New Cumulative TSN.
        tsn: Tsn,
        /// How many streams or messages it lists.
        streams: usize,
        /// Chunks that were dropped, for the rest of their messages will not come.
        dropped: usize,
        /// Whether it passed over anything; otherwise it was out of date, or out of all range.
        advanced: bool,
    },
    /// The application was told that the rest of a message will not come of which it has read a part
    /// ([`MessagePart::Aborted`]).
    PartialDeliveryAborted {
        /// TSN of its first fragment.
        tsn: Tsn,
        /// The stream it came on.
        stream: StreamId,
    },
    /// A packet drop report was processed.
    DropReport {
        /// Bytes of the packet that it quotes.
        quoted: usize,
        /// Whether something is sent again for it.
        helped: bool,
    },
    /// A chunk that was acknowledged by a gap block is no longer: the receiver reneged.
    Reneged {
        /// Its TSN.
        tsn: Tsn,
    },
    /// A new packet was allowed beyond the congestion window, as Limited Transmit does.
    ExtraPacket {
        /// The path.
        path: PathId,
    },
    /// A round-trip time was measured.
    Rtt {
        /// The path.
        path: PathId,
        /// The sample.
        sample: Duration,
        /// Smoothed RTT after it.
        srtt: Duration,
        /// Retransmission timeout after it.
        rto: Duration,
    },
    /// The congestion state of a path changed.
    Window {
        /// The path.
        path: PathId,
        /// Congestion window in bytes.
        cwnd: usize,
        /// Slow-start threshold in bytes.
        ssthresh: usize,
        /// Bytes in flight.
        flight: usize,
        /// What changed it.
        cause: WindowCause,
    },
    /// T3-rtx expired.
    TimerExpired {
        /// The path.
        path: PathId,
        /// RTO after backing off.
        rto: Duration,
    },
    /// What was declared lost had arrived: the retransmission was unnecessary, and what it cost
    /// the congestion window is given back.
    Spurious {
        /// The path that had been cut.
        path: PathId,
        /// Whether T3-rtx had expired; otherwise SACKs had declared the loss.
        timeout: bool,
        /// What found it out.
        by: SpuriousCause,
    },
    /// Packets that may be marked (ECN) vanish on a path: no more leave there.
    EcnGivenUp {
        /// The path.
        path: PathId,
    },
    /// The MTU of a path changed.
    Mtu {
        /// The path.
        path: PathId,
        /// Bytes of the largest IP packet until now.
        old: usize,
        /// Those of the largest one from now on.
        new: usize,
        /// What changed it.
        cause: MtuCause,
    },
    /// The search for the MTU of a path is in another state.
    MtuSearch {
        /// The path.
        path: PathId,
        /// That one; `None` if nobody is to search any more.
        state: Option<MtuSearchState>,
        /// Bytes of the largest IP packet meanwhile.
        mtu: usize,
    },
    /// A probe of the path MTU left.
    MtuProbe {
        /// The path.
        path: PathId,
        /// Bytes of its SCTP packet.
        length: usize,
        /// Its padding is a PAD chunk (RFC 4820); otherwise it is within the Heartbeat Info.
        pad_chunk: bool,
    },
    /// The bound of RTO.Min that follows what is measured has moved. Rules of the profile, as that of thin streams, may let
    /// RTO.Min be less.
    RtoMin {
        /// The new bound.
        rto_min: Duration,
    },
    /// T3-rtx was (re)started.
    TimerArmed {
        /// The path.
        path: PathId,
        /// When it will expire.
        at: Time,
    },
}

impl TraceEvent {
    /// A new packet left that neither cwnd nor pacing would have let go.
    pub(crate) const fn extra_packet(path: PathId) -> TraceEvent {
        TraceEvent::ExtraPacket { path }
    }
}

/// What detected a spurious retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpuriousCause {
    /// The echoed timestamp is that of the original (RFC 3522; Ladha et al., Figure 6 I).
    EifelTimestamp,
    /// The SACK carries no retransmit bit (Ladha et al., Figure 6 II).
    EifelRetransmitBit,
    /// Every retransmitted TSN was reported as a duplicate (RFC 3708).
    DupTsn,
    /// SACKs acknowledge what was sent before the timeout (RFC 5682).
    FRto,
}

impl SpuriousCause {
    /// A short name for tables, such as `dup-tsn`.
    pub const fn name(self) -> &'static str {
        match self {
            SpuriousCause::EifelTimestamp => "eifel-timestamp",
            SpuriousCause::EifelRetransmitBit => "eifel-retransmit-bit",
            SpuriousCause::DupTsn => "dup-tsn",
            SpuriousCause::FRto => "f-rto",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_find_every_cause_where_it_is_listed() {
        for (i, cause) in LossCause::ALL.iter().enumerate() {
            assert_eq!(cause.index(), i);
        }
    }
}
