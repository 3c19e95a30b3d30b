//! The counters of what is more than one struct, once for all formats.

use tresse::{LossCause, PathStats};
use tresse_counters::Counter;

/// Of one path.
pub(super) fn path(p: &PathStats) -> Vec<Counter> {
    let more = [
        ("timeouts", "T3-rtx expirations", p.timeouts),
        ("heartbeats_sent", "Heartbeats sent", p.heartbeats_sent),
        ("heartbeats_acked", "Heartbeats answered", p.heartbeats_acked),
    ];
    let more = more.map(|(name, meaning, value)| Counter { name, meaning, value });
    p.counters.counters().into_iter().chain(more).collect()
}

/// Counts by the cause of a loss, without those that are 0.
pub(super) fn by_cause(counts: &[u64]) -> impl Iterator<Item = (&'static str, u64)> {
    let named = LossCause::ALL.iter().map(|cause| cause.name()).zip(counts.iter().copied());
    named.filter(|(_, count)| *count > 0)
}
