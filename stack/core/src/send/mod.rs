//! The sending half: what waits, what is outstanding, and what may leave.

mod abandon;
mod api;
mod concurrent;
mod context;
mod contradictions;
mod coupling;
mod cwnd_overrides;
mod distribution;
mod drain;
mod loss;
mod marks;
mod may_send;
mod patience;
mod reset;
mod rtt;
mod sack;
mod send_buffer;
mod silence;
mod single;
mod strategy;
mod strikes;
mod t3;
mod timers;
mod write;
mod zero_window;

use tresse_wire::{StreamId, Tsn};

use crate::config::AssociationConfig;
use crate::congestion::Controller;
use crate::handshake::Capabilities;
use crate::journal::Journal;
use crate::path::{PathId, Paths};
use crate::profile::Profile;
use crate::recovery::{Decisions, Recovery};
use crate::scoreboard::{AckOutcome, Scoreboard};
use crate::state::State;
use crate::streams::send_queue::SendQueue;
use crate::time::Time;
use abandon::Abandonment;
use contradictions::Contradictions;
use cwnd_overrides::CwndOverrides;
use distribution::Distribution;
pub(crate) use patience::Patience;
pub(crate) use sack::Effects;
use send_buffer::SendBuffer;
use strategy::Strategy;
pub(crate) use write::{DataPacket, Plan};
use zero_window::{PeerRoom, ZeroWindow};

//= RFC 8260 2.1-6 2.1-7 2.1-9
//= RFC 9260 1.6-3 6.1-22
/// TSNs outstanding at most: the reach of a Gap Ack Block (RFC 9260 §3.3.4). It is far from what MIDs and FSNs would allow
/// (RFC 8260 §2.1).
const MAX_TSNS: usize = 65_535;

/// What the sending half works with that is not its own.
pub(crate) struct Context<'a> {
    now: Time,
    state: State,
    config: &'a AssociationConfig,
    strategy: &'static dyn Strategy,
    paths: &'a mut Paths,
    patience: &'a mut Patience,
    journal: &'a mut Journal,
}

impl<'a> Context<'a> {
    #[inline]
    fn profile(&self) -> &'a Profile {
        &self.config.profile
    }

    /// DATA may be sent in this state.
    #[inline]
    const fn may_send_data(&self) -> bool {
        self.state.may_send_data()
    }
}

/// What a SACK carries beside acknowledgements.
#[derive(Clone, Copy, Debug)]
struct SackMarks {
    /// TSecr of the packet's TIMESTAMP chunk.
    timestamp_echo: Option<u32>,
    /// The R bit.
    retransmit_bit: bool,
    /// The PC bits: how many packets with DATA it answers, 0 if it does not say.
    packets: u8,
}

/// Scratch space for one SACK; its memory is used again for the next.
#[derive(Debug, Default)]
struct Work {
    outcome: AckOutcome,
    decisions: Decisions,
    /// TSNs that it reports as duplicates, unwrapped.
    duplicates: Vec<u64>,
}

/// The sending half of an association.
#[derive(Debug)]
pub(crate) struct Sender {
    queue: SendQueue,
    board: Scoreboard,
    recovery: Recovery,
    /// For the next SACK.
    work: Option<Box<Work>>,
    contradictions: Contradictions,
    buffer: SendBuffer,
    overrides: CwndOverrides,
    zero_window: ZeroWindow,
    /// What was agreed with the peer.
    extensions: Capabilities,
    distribution: Distribution,
    abandonment: Abandonment,
    /// The largest user data of a chunk, if the application has set one.
    max_segment: usize,
}

impl Sender {
    pub(crate) fn new(initial_tsn: Tsn, config: &AssociationConfig) -> Sender {
        let multipath = &config.profile.multipath;
        let mut board = Scoreboard::new(initial_tsn);
        board.watch_as(multipath);
        board.set_counts_headers(config.profile.congestion.counts_headers);
        // Until it is known what is agreed on, what will fit a chunk is what surely does.
        board.set_interleaved(config.extensions.interleaving);
        if Controller::samples_rate(&config.profile.congestion) {
            board.sample_delivery_rates();
        }
        Sender {
            queue: SendQueue::new(config.outbound_streams, config.profile.streams.scheduler),
            board,
            recovery: Recovery::new(&config.profile, false, false),
            work: None,
            contradictions: Contradictions::default(),
            buffer: SendBuffer::new(config.send_buffer, config.profile.streams.reserve),
            overrides: CwndOverrides::default(),
            zero_window: ZeroWindow::default(),
            extensions: Capabilities::NONE,
            distribution: Distribution::new(multipath),
            abandonment: Abandonment::default(),
            max_segment: config.max_segment.unwrap_or(usize::MAX),
        }
    }

    /// The handshake has agreed on these extensions.
    pub(crate) fn agree(&mut self, extensions: Capabilities, config: &AssociationConfig) {
        self.extensions = extensions;
        self.board.set_interleaved(extensions.chosen.interleaving);
        self.queue.set_interleaving(extensions.chosen.interleaving);
        self.recovery =
            Recovery::new(&config.profile, extensions.timestamp, extensions.retransmit_bit);
    }

    /// What is lost may leave: one packet of it, whatever cwnd says.
    pub(crate) fn retransmit_now(&mut self, profile: &Profile) {
        self.overrides.retransmit(profile.congestion.one_packet_until_sack);
    }

    /// The stream is thin.
    pub(crate) fn is_thin(&self) -> bool {
        self.recovery.is_thin(&self.board)
    }

    /// User bytes queued or not acknowledged for good.
    pub(crate) fn buffered(&self) -> usize {
        self.queue.bytes() + self.board.buffered_user_bytes()
    }

    /// Whether there is room for a message of `size` bytes of a stream.
    pub(crate) fn fits(&self, stream: StreamId, size: usize) -> bool {
        let buffered = self.buffered();
        buffered == 0
            || buffered + size <= self.buffer.send_limit()
            || self.buffer.reserve_takes(buffered, self.queue.held(stream), size)
    }

    //= RFC 9260 6.2.1-1
    /// The peer's window less what is in flight (RFC 9260 §6.2.1 B, C, D ii).
    pub(crate) fn peer_window(&self) -> usize {
        // A TSN that no Gap Ack Block can report would be dropped; once NR-SACKs have emptied the
        // send buffer, nothing else stops before it.
        if self.board.len() >= MAX_TSNS {
            return 0;
        }
        self.buffer.a_rwnd().saturating_sub(self.board.flight_user_bytes())
    }

    /// Whether the peer has room for what is outstanding.
    fn peer_room(&self) -> PeerRoom {
        PeerRoom::of(&self.board, self.buffer.a_rwnd())
    }

    /// What is in flight on `path`, lowest first.
    pub(crate) fn in_flight(&self, path: PathId) -> Vec<u64> {
        let mut found = Vec::new();
        self.board.for_each_in_flight(path, |seq| found.push(seq));
        found
    }

    /// Nothing is queued and nothing is outstanding.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.board.is_empty()
    }
}
