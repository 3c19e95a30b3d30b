//! One association: it routes chunks and timers to its parts, opens and closes.
//!
//! What has state of its own is a struct with closed fields that never sees the association: the two halves,
//! [`Sender`](crate::send::Sender) and [`Receiver`](crate::receive::Receiver), and here `PathMonitor` (paths and addresses),
//! `Reconfiguration` (streams that change), `AddressChanges`, `Authenticator`, `DropReports`, `Opening`, `Closing` and `Outbox`. What they share
//! comes as a `Common`; what they leave to do comes back as a value, an `End` among them.
//!
//! The files in which methods of the association itself are, each of which may call those of the ones before:
//! this one and `parts`; `end`; `progress`; `sack`; `shutdown`; `setup`; `cookie`, `restart` and the other procedures; `input`,
//! `timers`, `transmit` and `api`.

mod addresses;
mod api;
mod asconf;
mod authentication;
mod checksum;
mod closing;
mod common;
mod cookie;
mod data;
mod drop_rate;
mod drops;
mod end;
mod errors;
mod extensions;
mod icmp;
mod identity;
mod incoming;
mod input;
mod listing;
mod marks;
mod memory;
mod monitor;
mod opening;
mod origin;
mod outbox;
mod parts;
mod path_mtu;
mod phase;
mod progress;
mod reconfiguration;
mod restart;
mod sack;
mod setup;
mod shutdown;
mod timers;
mod transmit;
mod verification;

use tresse_wire::{Tsn, VerificationTag};

use crate::config::AssociationConfig;
use crate::journal::Journal;
use crate::path::source::Sources;
use crate::path::{Paths, StandardTimers};
use crate::receive::Receiver;
use crate::rng::Rng;
use crate::send::{Context, Sender};
use crate::state::State;
use crate::time::Time;
use addresses::Addresses;
use asconf::AddressChanges;
pub(crate) use asconf::lookup_addresses;
use authentication::Authenticator;
pub(crate) use authentication::KeyChange;
pub(crate) use checksum::sets_up;
use common::{Common, Halves};
use drop_rate::DropReports;
use errors::Errors;
pub(crate) use identity::Identity;
pub use identity::PeerKey;
pub(crate) use listing::Listing;
use monitor::PathMonitor;
use opening::Opening;
pub(crate) use origin::AcceptedCookie;
use origin::Origin;
use outbox::{Abort, Control, Outbox};
use phase::Phase;
use reconfiguration::Reconfiguration;

/// An association.
#[derive(Debug)]
pub(crate) struct Association {
    identity: Identity,
    /// What it does, with what belongs to that alone.
    phase: Phase,
    config: AssociationConfig,
    paths: Paths,
    monitor: PathMonitor,
    rng: Rng,
    origin: Origin,
    sender: Sender,
    receiver: Receiver,
    outbox: Outbox,
    pub(crate) journal: Journal,
    errors: Errors,
    standard: StandardTimers,
    extras: Extras,
    /// Where it stands in the lists of its endpoint.
    pub(crate) listing: Listing,
}

/// What there is beyond RFC 9260, as far as it was agreed on.
#[derive(Debug)]
struct Extras {
    /// Authenticated chunks (RFC 4895).
    authenticator: Authenticator,
    /// Changes of addresses (RFC 5061).
    changes: Option<Box<AddressChanges>>,
    /// Damaged packets that the peer is told of (draft-stewart-sctp-pktdrprep).
    drops: DropReports,
    /// Changes of streams (RFC 6525).
    reconfiguration: Option<Box<Reconfiguration>>,
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
        let authenticator = Authenticator::new(&config);
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
            monitor: PathMonitor::new(sources),
            rng,
            origin: Origin::new(initial_tsn),
            sender: Sender::new(initial_tsn, &config),
            receiver: Receiver::new(&config),
            outbox: Outbox::default(),
            journal: Journal::new(config.trace),
            errors: Errors::default(),
            standard: StandardTimers::default(),
            extras: Extras {
                authenticator,
                changes: None,
                drops: DropReports::default(),
                reconfiguration: None,
            },
            listing: Listing::default(),
            config,
        }
    }

    /// The sending half, and what it works with.
    fn sending(&mut self, now: Time) -> (&mut Sender, Context<'_>) {
        let Association { phase, config, paths, standard, journal, sender, .. } = self;
        (sender, Context::new(now, phase.state(), config, paths, standard, journal))
    }

    /// Its state as RFC 9260 §4 names it.
    #[inline]
    pub(crate) const fn state(&self) -> State {
        self.phase.state()
    }

    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// The addresses of ours that the peer knows of, and whether all of the peer's have a path.
    pub(crate) const fn addresses(&self) -> &Addresses {
        self.monitor.addresses()
    }

    /// Its ports and tags.
    #[inline]
    pub(crate) const fn identity(&self) -> Identity {
        self.identity
    }

    /// The settings that it was created with, or has been given since.
    #[inline]
    pub(crate) const fn config(&self) -> &AssociationConfig {
        &self.config
    }

    /// The addresses of the peer, each with what is known of the way there.
    #[inline]
    pub(crate) const fn paths(&self) -> &Paths {
        &self.paths
    }

    #[cfg(test)]
    pub(crate) const fn paths_mut(&mut self) -> &mut Paths {
        &mut self.paths
    }

    /// How it came to be.
    pub(crate) const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// What signs its packets.
    pub(crate) const fn authenticator(&self) -> &Authenticator {
        &self.extras.authenticator
    }
}
