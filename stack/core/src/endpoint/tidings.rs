//! What associations have told and nobody has polled yet.

use std::collections::VecDeque;

use crate::event::{Event, TraceEvent};
use crate::ids::AssociationId;
use crate::journal::Journal;
use crate::time::Time;

/// Events and trace events of all associations, in the order in which they were told.
#[derive(Debug, Default)]
pub(super) struct Tidings {
    events: VecDeque<(AssociationId, Event)>,
    traces: VecDeque<(AssociationId, Time, TraceEvent)>,
}

impl Tidings {
    /// Takes over what an association has to tell.
    pub(super) fn collect(&mut self, id: AssociationId, journal: &mut Journal) {
        while let Some(event) = journal.events.take() {
            self.events.push_back((id, event));
        }
        while let Some((at, event)) = journal.traces.take() {
            self.traces.push_back((id, at, event));
        }
    }

    /// The next event.
    pub(super) fn next_event(&mut self) -> Option<(AssociationId, Event)> {
        self.events.pop_front()
    }

    /// The next trace event.
    pub(super) fn next_trace(&mut self) -> Option<(AssociationId, Time, TraceEvent)> {
        self.traces.pop_front()
    }

    /// Events that wait.
    #[cfg(test)]
    pub(super) fn events(&self) -> usize {
        self.events.len()
    }
}
