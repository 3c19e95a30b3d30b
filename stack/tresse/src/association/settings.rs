//! The settings of an association, and of its paths.

use tresse_core::{AssociationConfig, AssociationError, PathId, PathSettings};

use super::Association;

impl Association {
    /// The settings it has, `None` when it has ended.
    #[must_use]
    pub fn config(&self) -> Option<AssociationConfig> {
        self.inner.shared.lock().core.config(self.inner.id).cloned()
    }

    /// Gives it other settings. Of the profile, `rto`, `sack`, `limits` and `heartbeat` take effect, of the rest `no_delay`,
    /// `fragmentation`, `send_buffer` and `max_message_size` of messages that are sent from now on, and `labels`; what was
    /// negotiated or has begun stays. A path that was [configured](Self::configure_path) keeps what was set for it alone.
    ///
    /// ```
    /// # use tresse::{Association, AssociationConfig, AssociationError};
    /// # fn at_once(association: &Association) -> Result<(), AssociationError> {
    /// if let Some(config) = association.config() {
    ///     association.reconfigure(AssociationConfig { no_delay: true, ..config })?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`AssociationError::NoAssociation`] when it has ended, `Config` for a setting out of range.
    pub fn reconfigure(&self, config: AssociationConfig) -> Result<(), AssociationError> {
        self.inner.shared.act(|state, now| state.core.reconfigure(now, self.inner.id, config))
    }

    /// Gives one path other settings: they hold at once. Those it has are in [`path_stats`](Self::path_stats). So are its DSCP and
    /// its flow label changed (SCTP_PEER_ADDR_PARAMS, RFC 6458 §8.1.12):
    ///
    /// ```
    /// # use tresse::{Association, AssociationError, Dscp, IpLabels, PathSettings};
    /// # fn expedite(association: &Association) -> Result<(), AssociationError> {
    /// let expedited = Dscp::new(46).expect("below 64");
    /// for path in association.path_stats() {
    ///     let labels = IpLabels { dscp: expedited, ..path.settings.labels };
    ///     association.configure_path(path.id, PathSettings { labels, ..path.settings })?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`AssociationError`]; a setting may be out of range.
    pub fn configure_path(
        &self,
        path: PathId,
        settings: PathSettings,
    ) -> Result<(), AssociationError> {
        let id = self.inner.id;
        self.inner.shared.act(|state, now| state.core.configure_path(now, id, path, settings))
    }
}
