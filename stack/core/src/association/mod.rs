//! One association: its state, and one file per procedure.
//!
//! It routes chunks and timers to the two halves, [`Sender`](crate::send::Sender) and [`Receiver`](crate::receive::Receiver), owns
//! the handshake, the shutdown and what changes an association, and does what the halves leave to it.

mod addresses;
mod api;
mod asconf;
mod authentication;
mod checksum;
mod cookie;
mod data;
mod errors;
mod heartbeat;
mod icmp;
mod input;
mod lifetime;
mod listing;
mod marks;
mod memory;
mod outbox;
mod path_mtu;
mod phase;
mod reconfiguration;
mod restart;
mod sack;
mod setup;
mod shutdown;
mod timers;
mod transmit;
mod verification;

use std::net::IpAddr;
use std::sync::Arc;

use tresse_wire::{CauseWriter, Tsn, VerificationTag};

use crate::config::AssociationConfig;
use crate::event::{CloseReason, Event};
use crate::journal::Journal;
use crate::path::source::Sources;
use crate::path::{PathId, Paths};
use crate::profile::Profile;
use crate::receive::Receiver;
use crate::rng::Rng;
use crate::send::{Context, Patience, Sender};
use crate::state::State;
use crate::stats::{AssociationStats, PathStats};
use crate::time::Time;
use addresses::Addresses;
pub(crate) use asconf::lookup_addresses;
use authentication::Authenticator;
pub(crate) use checksum::needs_checksum;
use errors::Errors;
pub(crate) use listing::Listing;
use outbox::{Abort, Control, Outbox};
use phase::{Opening, Phase};
use reconfiguration::Reconfiguration;
pub(crate) use setup::AcceptedCookie;
use setup::Origin;

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

/// An association.
#[derive(Debug)]
pub(crate) struct Association {
    pub(crate) identity: Identity,
    /// What it does, with what belongs to that alone.
    phase: Phase,
    pub(crate) config: AssociationConfig,
    pub(crate) paths: Paths,
    addresses: Addresses,
    rng: Rng,
    origin: Origin,
    sender: Sender,
    receiver: Receiver,
    outbox: Outbox,
    pub(crate) journal: Journal,
    errors: Errors,
    patience: Patience,
    /// Changes of streams (RFC 6525), if that was agreed on.
    reconfiguration: Option<Box<Reconfiguration>>,
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
        let auth = Authenticator::new(&config);
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
            phase: Phase::CookieWait(Opening::default()),
            paths,
            addresses: Addresses::new(sources),
            rng,
            origin: Origin::new(initial_tsn, auth),
            sender: Sender::new(initial_tsn, &config),
            receiver: Receiver::new(&config),
            outbox: Outbox::default(),
            journal: Journal::new(config.trace),
            errors: Errors::default(),
            patience: Patience::default(),
            reconfiguration: None,
            listing: Listing::default(),
            config,
        }
    }

    /// The sending half, and what it works with.
    fn sending(&mut self, now: Time) -> (&mut Sender, Context<'_>) {
        let Association { phase, config, paths, patience, journal, sender, .. } = self;
        (sender, Context::new(now, phase.state(), config, paths, patience, journal))
    }

    fn context(&mut self, now: Time) -> Context<'_> {
        self.sending(now).1
    }

    fn profile(&self) -> &Profile {
        &self.config.profile
    }

    /// Its state as RFC 9260 §4 names it.
    #[inline]
    pub(crate) const fn state(&self) -> State {
        self.phase.state()
    }

    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// Queues a control chunk; beyond the limit it is dropped. Tells whether it will leave.
    fn push_control(&mut self, path: PathId, control: Control) -> bool {
        let path = self.redirect(path, &control);
        path.is_some_and(|path| self.outbox.push(path, control))
    }

    /// Ends the association without a word to the peer.
    pub(crate) fn close(&mut self, reason: CloseReason) {
        if self.is_closed() {
            return;
        }
        self.end_partial_delivery();
        self.end_reconfiguration();
        self.end_changes();
        self.phase = Phase::Closed;
        self.outbox.keep_last_words();
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
            self.outbox.abort(path, abort);
        }
        self.close(reason);
    }

    /// Aborts because the peer broke the protocol.
    fn abort_violation(&mut self, what: &'static str) {
        let causes = CauseWriter::new().protocol_violation(what.as_bytes()).finish();
        self.abort_with(causes, CloseReason::ProtocolViolation(what));
    }

    /// Those that do not belong to the phase.
    fn stop_timers(&mut self) {
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
        if self.paths.is_living(path) {
            self.journal.path_changed(&mut self.paths[path]);
        }
    }

    /// Something was not answered on a path; `true` if that changed its state.
    fn count_failure(&mut self, path: PathId, error: bool) -> bool {
        let failure = self.paths.count_failure(path, error);
        if failure.changes_state() {
            self.path_changed(path);
        }
        if failure.changes_primary() {
            self.primary_changed();
        }
        failure.changes_state()
    }

    /// A request was not answered on a path: that backs off its RTO, and counts for it and for the association. `false` if
    /// the association ended with it.
    fn outlives_silence(&mut self, now: Time, path: PathId) -> bool {
        let error = self.context(now).is_error();
        let profile = Arc::clone(&self.config.profile);
        self.paths[path].rtt.back_off(&profile);
        if self.count_failure(path, error) {
            self.ask_failed(now, path);
        }
        self.doubt_source(now, path, now);
        self.errors.timeouts += u32::from(error);
        self.judge_errors();
        !self.is_closed()
    }

    fn primary_changed(&mut self) {
        self.journal.primary_changed(&self.paths[self.paths.primary()]);
    }

    pub(crate) fn stats(&self) -> AssociationStats {
        let mut stats = self.journal.stats.clone();
        stats.send_buffered = self.sender.buffered();
        stats.receive_buffered = self.receiver.buffered();
        stats.peer_rwnd = self.sender.peer_window();
        stats.memory = self.memory();
        stats
    }

    pub(crate) fn path_stats(&self) -> Vec<PathStats> {
        let primary = self.paths.primary();
        self.paths.iter().map(|p| p.stats(self.sender.flight(p.id), p.id == primary)).collect()
    }
}
