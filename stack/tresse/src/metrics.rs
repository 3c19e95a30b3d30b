//! Figures of an endpoint and its associations at one moment.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use slotmap::Key;
use tresse_carrier::CarrierStats;
use tresse_core::{AssociationId, AssociationStats, EndpointStats, Time};

use crate::figures::AssociationMetrics;
use crate::shared::Shared;

/// The short name of an association, such as `3v1`: its place, and how often that was used. No other
/// association of the endpoint ever has it.
#[must_use]
pub fn association_name(id: AssociationId) -> String {
    let number = id.data().as_ffi();
    format!("{}v{}", number & 0xffff_ffff, number >> 32)
}

/// Everything that is known of an endpoint at one moment.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EndpointMetrics {
    /// The moment, on the endpoint's clock.
    pub at: Time,
    /// Local addresses and UDP ports (0 on raw IP).
    pub local: Vec<SocketAddr>,
    /// What belongs to no association, with what was dropped, by cause.
    pub endpoint: EndpointStats,
    /// The figures of all associations together, also of those that have gone.
    pub totals: AssociationStats,
    /// What the sockets did, as of the driver's last round.
    pub carrier: CarrierStats,
    /// The associations that are there now, in no particular order.
    pub associations: Vec<AssociationMetrics>,
    /// Associations that are there and were left out, because only this many were asked for.
    pub omitted: usize,
}

/// Looks at an endpoint from outside, such as for a metrics server. Clones are cheap. It keeps
/// nothing open: the endpoint ends as it would without it, and its last figures can still be read.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tresse::{Config, Endpoint, SendOptions, StreamId};
///
/// let server = Endpoint::bind(Config::server("127.0.0.1:0".parse()?, 5001))?;
/// let client = Endpoint::bind(Config::client("127.0.0.1:0".parse()?))?;
/// let association = client.connect((server.local_addr(), 5001)).await?;
/// association.send(StreamId(0), "hello").await?;
///
/// let metrics = client.monitor().metrics(100);
/// assert_eq!(metrics.totals.messages_sent, 1);
/// let path = metrics.associations[0].primary().expect("there is always one");
/// println!("{}: cwnd {} bytes, RTO {:?}", path.remote, path.cwnd, path.rto);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Monitor {
    shared: Arc<Shared>,
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").field("local", &self.shared.local).finish_non_exhaustive()
    }
}

impl Monitor {
    pub(crate) fn new(shared: &Arc<Shared>) -> Monitor {
        Monitor { shared: Arc::clone(shared) }
    }

    /// The figures of now, with at most `limit` associations one by one. The endpoint stands still
    /// while they are copied, about a microsecond for each association.
    #[must_use]
    pub fn metrics(&self, limit: usize) -> EndpointMetrics {
        let at = self.shared.clock.now();
        let state = self.shared.lock();
        let core = &state.core;
        let all = core.associations();
        let associations: Vec<AssociationMetrics> =
            all.iter().take(limit).filter_map(|id| AssociationMetrics::of(core, *id)).collect();
        EndpointMetrics {
            at,
            local: self.shared.local.clone(),
            endpoint: core.endpoint_stats(),
            totals: core.totals(),
            carrier: state.carrier,
            omitted: all.len() - associations.len(),
            associations,
        }
    }
}
