//! One association: its state, and one file per procedure.
//!
//! The association is the only place where facts become actions: it feeds the scoreboard, the
//! recovery algorithms, the congestion controllers and the paths, and applies what they decide.

mod addresses;
mod api;
mod cookie;
mod data;
mod errors;
mod heartbeat;
mod icmp;
mod input;
mod lifetime;
mod listing;
mod memory;
mod restart;
mod sack;
mod setup;
mod shutdown;
mod timers;
mod transmit;
mod verification;

use std::collections::VecDeque;
use std::net::IpAddr;

use bytes::Bytes;
use tresse_wire::{CauseWriter, Tsn, VerificationTag};

use crate::config::AssociationConfig;
use crate::event::{CloseReason, Event, ReceivedMessage};
use crate::journal::Journal;
use crate::memory::Throughput;
use crate::path::source::Sources;
use crate::path::{PathId, Paths};
use crate::profile::Profile;
use crate::receive::Receiver;
use crate::rng::Rng;
use crate::send::{Context, Patience, Sender};
use crate::state::State;
use crate::stats::{AssociationStats, PathStats};
use crate::time::Time;
use errors::Errors;
use listing::Listing;
pub(crate) use setup::AcceptedCookie;
use setup::Setup;
use shutdown::Shutdown;
use verification::Probes;

//= RFC 9260 1.3-2 5.3.1-2
/// Ports and tags: how packets find this association.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    /// What the peer puts into its packets.
    pub(crate) local_tag: VerificationTag,
    /// What we put into ours; 0 while unknown.
    pub(crate) peer_tag: VerificationTag,
    //= RFC 9260 5.1.3-6
    /// Random stand-ins for the two tags in cookies (RFC 9260 §5.2.2), so that a cookie never
    /// shows the tags of a running association.
    pub(crate) local_tie_tag: u32,
    pub(crate) peer_tie_tag: u32,
}

/// What tells the peers of an endpoint apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerKey {
    /// Our SCTP port.
    pub local_port: u16,
    /// An address of the peer.
    pub address: IpAddr,
    /// The peer's SCTP port.
    pub remote_port: u16,
    /// The peer's UDP port if it is reached through UDP (RFC 6951).
    pub encapsulation: Option<u16>,
}

/// A control chunk that waits to be sent.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    Init,
    CookieEcho,
    /// With the source that it leaves from, if not the one of its path.
    CookieAck(Option<IpAddr>),
    Heartbeat(Bytes, Option<IpAddr>),
    HeartbeatAck(Bytes, Option<IpAddr>),
    Shutdown(Option<IpAddr>),
    ShutdownAck(Option<IpAddr>),
    ShutdownComplete(Option<IpAddr>),
    /// Encoded error causes.
    Error(Vec<u8>),
    Abort(Abort),
}

/// An ABORT chunk that waits to be sent, with the tag of its packet.
#[derive(Clone, Debug)]
pub(crate) struct Abort {
    tag: VerificationTag,
    /// The T bit: the tag is not the peer's (RFC 9260 §8.5.1 B).
    reflected: bool,
    /// Encoded error causes.
    causes: Vec<u8>,
}

/// At most this many replies wait at once: a flood of requests is not answered in full.
const MAX_OUTBOX: usize = 64;
/// An association.
#[derive(Debug)]
pub(crate) struct Association {
    pub(crate) identity: Identity,
    pub(crate) state: State,
    pub(crate) config: AssociationConfig,
    pub(crate) paths: Paths,
    /// Our addresses.
    sources: Sources,
    /// Some addresses of the peer have no path: we cannot reach them, or they were too many.
    omits_addresses: bool,
    /// Source of the packet being written, if not that of its path.
    other_source: Option<IpAddr>,
    rng: Rng,
    pub(crate) setup: Setup,
    sender: Sender,
    /// Exists once the peer's initial TSN is known.
    receiver: Option<Receiver>,
    shutdown: Shutdown,
    /// Messages from before a restart of the peer, not yet read.
    retained: VecDeque<ReceivedMessage>,
    outbox: VecDeque<(PathId, Control)>,
    pub(crate) journal: Journal,
    errors: Errors,
    patience: Patience,
    probes: Probes,
    /// How much of the peer's data the application takes.
    read: Throughput,
    /// Where it stands in the lists of its endpoint.
    pub(crate) listing: Listing,
}

/// What both ways of creating an association need.
pub(crate) struct Blueprint {
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    pub(crate) local_tag: VerificationTag,
    pub(crate) initial_tsn: Tsn,
    pub(crate) sources: Sources,
    pub(crate) config: AssociationConfig,
    pub(crate) rng: Rng,
}

impl Association {
    fn new(blueprint: Blueprint, paths: Paths) -> Association {
        let Blueprint { local_port, remote_port, local_tag, initial_tsn, sources, config, mut rng } =
            blueprint;
        let identity = Identity {
            local_port,
            remote_port,
            local_tag,
            peer_tag: VerificationTag(0),
            local_tie_tag: rng.next_nonzero_u32(),
            peer_tie_tag: rng.next_nonzero_u32(),
        };
        Association {
            identity,
            state: State::CookieWait,
            paths,
            sources,
            omits_addresses: false,
            other_source: None,
            rng,
            setup: Setup::new(initial_tsn),
            sender: Sender::new(initial_tsn, &config),
            receiver: None,
            shutdown: Shutdown::default(),
            retained: VecDeque::new(),
            outbox: VecDeque::new(),
            journal: Journal::new(config.trace),
            errors: Errors::default(),
            patience: Patience::default(),
            probes: Probes::default(),
            read: Throughput::NONE,
            listing: Listing::default(),
            config,
        }
    }

    /// The sending half, and what it works with.
    fn sending(&mut self, now: Time) -> (&mut Sender, Context<'_>) {
        let Association { state, config, paths, patience, journal, sender, .. } = self;
        (sender, Context::new(now, *state, config, paths, patience, journal))
    }

    fn context(&mut self, now: Time) -> Context<'_> {
        self.sending(now).1
    }

    fn profile(&self) -> &Profile {
        &self.config.profile
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Queues a control chunk; beyond the limit it is dropped. Tells whether it will leave.
    fn push_control(&mut self, path: PathId, control: Control) -> bool {
        if self.outbox.len() >= MAX_OUTBOX {
            return false;
        }
        match control {
            //= RFC 9260 3.2.2-3 3.3.11-1 3.3.12-1 5.1-7 5.1-8 5.1.5-5 5.1.5-7
            // RFC 9260 §5.1: these MUST be the first chunk in the packet.
            Control::CookieEcho | Control::CookieAck(_) => self.outbox.push_front((path, control)),
            _ if control.is_search() => self.outbox.push_back((path, control)),
            _ => {
                let before = self.outbox.iter().position(|(_, c)| c.is_search());
                self.outbox.insert(before.unwrap_or(self.outbox.len()), (path, control));
            }
        }
        true
    }

    /// Ends the association without a word to the peer.
    pub(crate) fn close(&mut self, reason: CloseReason) {
        if self.is_closed() {
            return;
        }
        self.state = State::Closed;
        // What is queued already (SHUTDOWN COMPLETE, ABORT) still leaves.
        self.outbox.retain(|(_, c)| matches!(c, Control::ShutdownComplete(_) | Control::Abort(_)));
        self.stop_timers();
        self.fail_unsent_messages();
        self.journal.event(Event::Closed(reason));
    }

    //= RFC 9260 3.3.7-1 8.5.1-4 9.1-1 9.1-2
    /// Sends ABORT with `causes` and ends the association.
    fn abort_with(&mut self, causes: Vec<u8>, reason: CloseReason) {
        self.outbox.clear();
        // Without a tag the peer would discard it; it has no association yet anyway.
        let tag = self.identity.peer_tag;
        if tag != VerificationTag(0) {
            let path = self.paths.data_path();
            let abort = Abort { tag, reflected: false, causes };
            self.outbox.push_back((path, Control::Abort(abort)));
        }
        self.close(reason);
    }

    /// Aborts because the peer broke the protocol.
    fn abort_violation(&mut self, what: &'static str) {
        let causes = CauseWriter::new().protocol_violation(what.as_bytes()).finish();
        self.abort_with(causes, CloseReason::ProtocolViolation(what));
    }

    fn stop_timers(&mut self) {
        self.setup.t1 = None;
        self.shutdown = Shutdown::default();
        self.sender.stop_timers();
        self.patience.stop();
        for path in self.paths.iter_mut() {
            path.t3.stop();
            path.heartbeat.plan(None);
        }
    }

    /// SEND FAILURE for every message that was not acknowledged in full.
    fn fail_unsent_messages(&mut self) {
        for failure in self.sender.drain() {
            self.journal.event(Event::SendFailed(failure));
        }
    }

    //= RFC 9260 8.1-1 8.1-3 8.1-4
    /// Ends the association when there were too many consecutive errors.
    ///
    /// RFC 9260 §8.1: if the counter exceeds Association.Max.Retrans, the peer is unreachable.
    fn judge_errors(&mut self) {
        if self.errors.all() > self.profile().limits.association_max_retrans {
            self.abort_with(Vec::new(), CloseReason::Unreachable);
        }
    }

    fn path_changed(&mut self, path: PathId) {
        self.journal.path_changed(&mut self.paths[path]);
    }

    pub(crate) fn stats(&self) -> AssociationStats {
        let mut stats = self.journal.stats.clone();
        stats.send_buffered = self.sender.buffered();
        stats.receive_buffered = self.receiver.as_ref().map_or(0, Receiver::buffered);
        stats.peer_rwnd = self.sender.peer_window();
        stats.memory = self.memory();
        stats
    }

    pub(crate) fn path_stats(&self) -> Vec<PathStats> {
        let primary = self.paths.primary();
        self.paths.iter().map(|p| p.stats(self.sender.flight(p.id), p.id == primary)).collect()
    }
}
