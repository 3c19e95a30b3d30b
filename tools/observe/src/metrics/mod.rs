//! Figures of an endpoint for programs: as JSON, in Prometheus' text format, over HTTP.

mod counters;
mod http;
mod openmetrics;
mod snapshot;

pub use http::MetricsServer;
pub use openmetrics::prometheus;
pub use snapshot::{AssociationSnapshot, PathSnapshot, Snapshot};
