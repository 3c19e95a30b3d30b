//! What a run brings, and how much it may take.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::flow::record::Traces;

/// Beyond the time that the workload names, for the last recovery; a run that takes longer hangs.
pub(super) const RESERVE: Duration = Duration::from_secs(4 * 3600);
/// No run needs this many events.
pub(super) const EVENT_LIMIT: u64 = 400_000_000;

/// What a run brought.
pub(in super::super) struct Measured {
    pub(in super::super) packets: u64,
    pub(in super::super) values: BTreeMap<String, f64>,
    pub(in super::super) traces: Traces,
}
