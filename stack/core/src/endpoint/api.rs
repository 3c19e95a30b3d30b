//! What one may ask or change of an endpoint's ports, and of an association on them.

use super::Endpoint;
use crate::config::{AssociationConfig, PortConfig};
use crate::error::{AssociationError, NotOpened};
use crate::ids::{AssociationId, PathId};
use crate::settings::PathSettings;
use crate::stats::{AssociationInfo, AssociationStats};
use crate::time::Time;
use tresse_wire::Tsn;

impl Endpoint {
    /// The figures of all associations together, also of those that have gone: these counters only
    /// grow.
    pub fn totals(&self) -> AssociationStats {
        self.roll.totals()
    }

    //= RFC 9260 1.3-3
    /// Opens another local SCTP port, or gives an open one other settings. These hold for
    /// associations that begin afterwards.
    ///
    /// # Errors
    /// [`NotOpened::ZeroPort`], and `Config` for a setting out of range.
    pub fn open_port(&mut self, port: u16, config: PortConfig) -> Result<(), NotOpened> {
        config.association.check()?;
        if port == 0 {
            return Err(NotOpened::ZeroPort);
        }
        self.ports.open(port, config);
        Ok(())
    }

    /// Closes a port. What arrives for it is out of the blue from now on (RFC 9260 §8.4), so its
    /// associations should have ended.
    pub fn close_port(&mut self, port: u16) {
        self.ports.close(port);
    }

    /// Ports, streams, tags and state of an association, until it is forgotten.
    pub fn info(&self, id: AssociationId) -> Option<AssociationInfo> {
        self.roll.get(id).map(|a| a.info())
    }

    /// When it sent or received a packet with user data last: from then on it is idle (SCTP_AUTOCLOSE, RFC 6458 §8.1.8). `None`
    /// if it never did, or is forgotten. What was sent again counts, what came again does not.
    pub fn last_data(&self, id: AssociationId) -> Option<Time> {
        self.roll.get(id)?.journal.data_at
    }

    /// The settings of an association, until it is forgotten.
    pub fn config(&self, id: AssociationId) -> Option<&AssociationConfig> {
        self.roll.get(id).map(|a| a.config())
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
        self.roll.with(now, &self.ports, (id, AssociationError::NoAssociation), |a| {
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
        self.roll.with(now, &self.ports, (id, AssociationError::NoAssociation), |a| {
            a.paths().get(path).ok_or(AssociationError::NoPath)?;
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
        self.roll.with(now, &self.ports, (id, AssociationError::NoAssociation), |a| {
            a.paths().get(path).ok_or(AssociationError::NoPath)?;
            a.encapsulate_path(path, port);
            Ok(())
        })
    }

    /// The Cumulative TSN Ack Point of what the peer sends (RFC 9260 §6.2): up to here all has arrived.
    /// `None` before the association is set up, and once it is forgotten.
    #[must_use]
    pub fn cumulative_tsn(&self, id: AssociationId) -> Option<Tsn> {
        self.roll.get(id)?.cumulative_tsn()
    }
}
