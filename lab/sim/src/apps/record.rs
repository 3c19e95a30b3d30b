//! What programs see happen, with its time.

use tresse_core::{AssociationId, Event, Time, TraceEvent};

/// A trace event with its simulation time and association.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceRecord {
    /// Simulation time.
    pub at: Time,
    /// The association.
    pub association: AssociationId,
    /// What happened.
    pub event: TraceEvent,
}

/// An event with its simulation time and association.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRecord {
    /// Simulation time.
    pub at: Time,
    /// The association.
    pub association: AssociationId,
    /// What happened.
    pub event: Event,
}

/// Events other than `Readable` and `Writable`, which say nothing in hindsight.
pub(super) fn worth_recording(event: &Event) -> bool {
    !matches!(event, Event::Readable | Event::Writable)
}
