//! The SCTP ports of an endpoint, and what one may ask or change of an association on them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{AssociationId, Endpoint};
use crate::association::Identity;
use crate::config::{AssociationConfig, PortConfig};
use crate::error::{AssociationError, ConnectError};
use crate::path::{PathId, PathSettings};
use crate::profile::LimitParameters;
use crate::stats::{AssociationInfo, AssociationStats};
use crate::time::Time;
use tresse_wire::Tsn;

/// The longest life of a cookie that `port` has given out; a port that is closed may have given
/// out the default.
pub(super) fn longest_cookie_life(ports: &BTreeMap<u16, PortConfig>, port: u16) -> Duration {
    match ports.get(&port) {
        Some(port) => port.longest_cookie_life(),
        None => LimitParameters::default().cookie_life() * 2,
    }
}

impl Endpoint {
    /// The figures of all associations together, also of those that have gone: these counters only
    /// grow.
    pub fn totals(&self) -> AssociationStats {
        let mut totals = self.past_stats.clone();
        for association in self.associations.values() {
            totals.add(&association.stats());
        }
        totals
    }

    //= RFC 9260 1.3-3
    /// Opens another local SCTP port, or gives an open one other settings. These hold for
    /// associations that begin afterwards.
    ///
    /// # Errors
    /// [`ConnectError::ZeroPort`], and `Config` for a setting out of range.
    pub fn open_port(&mut self, port: u16, config: PortConfig) -> Result<(), ConnectError> {
        config.association.check()?;
        if port == 0 {
            return Err(ConnectError::ZeroPort);
        }
        self.ports.insert(port, config);
        Ok(())
    }

    /// Closes a port. What arrives for it is out of the blue from now on (RFC 9260 §8.4), so its
    /// associations should have ended.
    pub fn close_port(&mut self, port: u16) {
        self.ports.remove(&port);
    }

    /// Ports, streams, tags and state of an association, until it is forgotten.
    pub fn info(&self, id: AssociationId) -> Option<AssociationInfo> {
        self.associations.get(id).map(|a| a.info())
    }

    /// The settings of an association, until it is forgotten.
    pub fn config(&self, id: AssociationId) -> Option<&AssociationConfig> {
        self.associations.get(id).map(|a| &a.config)
    }

    /// Gives an association other settings. Of the profile, `rto`, `sack`, `limits` and
    /// `heartbeat` take effect, of the rest `no_delay`, `fragmentation`, `send_buffer` and
    /// `max_message_size` of messages that are sent; what was negotiated or has begun stays.
    ///
    /// # Errors
    /// [`AssociationError::NoAssociation`], or `Config` for a setting out of range.
    pub fn reconfigure(
        &mut self,
        now: Time,
        id: AssociationId,
        config: AssociationConfig,
    ) -> Result<(), AssociationError> {
        config.check().map_err(|e| AssociationError::Config(e.to_string()))?;
        self.with(now, id, |a| {
            a.reconfigure(now, config);
            Ok(())
        })
    }

    /// Gives one path of an association other settings (RFC 9260 §8.3 A to C): they hold at once. A
    /// later [`reconfigure`](Self::reconfigure) changes of them what it changes in the profile.
    ///
    /// # Errors
    /// [`AssociationError::NoAssociation`], `NoPath`, and `Config` for a setting out of range.
    pub fn configure_path(
        &mut self,
        now: Time,
        id: AssociationId,
        path: PathId,
        settings: PathSettings,
    ) -> Result<(), AssociationError> {
        settings.check()?;
        self.with(now, id, |a| {
            a.paths.get(path).ok_or(AssociationError::NoPath)?;
            a.configure_path(now, path, settings);
            Ok(())
        })
    }

    /// Sends to another UDP port of the peer's address of `path` (RFC 6951 §6.1), or with `None` directly
    /// on IP, until a packet from there shows that the peer uses another one (§5.4).
    ///
    /// # Errors
    /// [`AssociationError::NoAssociation`] and `NoPath`.
    pub fn encapsulate_path(
        &mut self,
        now: Time,
        id: AssociationId,
        path: PathId,
        port: Option<u16>,
    ) -> Result<(), AssociationError> {
        self.with(now, id, |a| {
            a.paths.get(path).ok_or(AssociationError::NoPath)?;
            a.paths[path].encapsulate(port);
            a.listing.moved = true;
            Ok(())
        })
    }

    /// The Cumulative TSN Ack Point of what the peer sends (RFC 9260 §6.2): up to here all has arrived.
    /// `None` before the association is set up, and once it is forgotten.
    #[must_use]
    pub fn cumulative_tsn(&self, id: AssociationId) -> Option<Tsn> {
        self.associations.get(id)?.cumulative_tsn()
    }

    /// The peer left a tag behind: a cookie that carries it opens nothing any more.
    pub(super) fn remember(&mut self, now: Time, past: Identity) {
        let life = longest_cookie_life(&self.ports, past.local_port);
        self.past.add(now, past, life);
    }
}
