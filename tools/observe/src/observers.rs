//! Several observers of one endpoint.

use std::fmt;

use tresse::{AssociationId, ObservedEvent, ObservedPacket, Observer, Time, TraceEvent};

/// Any number of observers, asked in the order in which they were added.
#[derive(Default)]
pub struct Observers {
    list: Vec<Box<dyn Observer>>,
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observers").field("number", &self.list.len()).finish()
    }
}

impl Observers {
    /// Adds one.
    pub fn add(&mut self, observer: impl Observer + 'static) {
        self.list.push(Box::new(observer));
    }

    /// Whether there is no observer: then the endpoint needs none either.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl Observer for Observers {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        self.list.iter_mut().for_each(|observer| observer.packet(packet));
    }

    fn event(&mut self, event: &ObservedEvent<'_>) {
        self.list.iter_mut().for_each(|observer| observer.event(event));
    }

    fn trace(&mut self, association: AssociationId, at: Time, event: &TraceEvent) {
        self.list.iter_mut().for_each(|observer| observer.trace(association, at, event));
    }
}
