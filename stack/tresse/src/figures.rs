//! Figures of one association.

use tresse_core::{AssociationId, AssociationInfo, AssociationStats, PathStats};

/// Everything that is known of one association at one moment. Units are those of the fields: bytes,
/// and [`Duration`](std::time::Duration) for times.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AssociationMetrics {
    /// Its number, as in trace events.
    pub id: AssociationId,
    /// State, ports, streams.
    pub info: AssociationInfo,
    /// Counters, and what waits in its buffers.
    pub stats: AssociationStats,
    /// Every path, in the order of path numbers.
    pub paths: Vec<PathStats>,
}

impl AssociationMetrics {
    /// Of one association of `core`; `None` once it has gone.
    pub(crate) fn of(
        core: &tresse_core::Endpoint,
        id: AssociationId,
    ) -> Option<AssociationMetrics> {
        Some(AssociationMetrics {
            id,
            info: core.info(id)?,
            stats: core.stats(id)?,
            paths: core.path_stats(id),
        })
    }

    /// The path to which new data goes by default.
    #[must_use]
    pub fn primary(&self) -> Option<&PathStats> {
        self.paths.iter().find(|path| path.primary)
    }
}
