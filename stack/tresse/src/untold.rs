//! Streams that begin again, as far as the driver has taken that from the core and nobody has heard of it: packets leave before
//! (`driver.rs`), and another thread may read meanwhile.

use tresse_core::{AssociationId, Event};

/// The associations of such events, each as often as it has some: few at any time.
#[derive(Debug, Default)]
pub(crate) struct Untold(Vec<AssociationId>);

impl Untold {
    /// Whether there is anything to hear in it.
    pub(crate) fn concerns(event: &Event) -> bool {
        event.begins_streams_again() || matches!(event, Event::Closed(_))
    }

    /// The driver has taken an event.
    pub(crate) fn note(&mut self, id: AssociationId, event: &Event) {
        if event.begins_streams_again() {
            self.0.push(id);
        }
    }

    /// Who reads has heard of it. Behind the end there is nothing to hear of.
    pub(crate) fn hear(&mut self, id: AssociationId, event: &Event) {
        if event.begins_streams_again() {
            if let Some(at) = self.0.iter().position(|untold| *untold == id) {
                self.0.swap_remove(at);
            }
        } else if matches!(event, Event::Closed(_)) {
            self.0.retain(|untold| *untold != id);
        }
    }

    /// What could be read of an association may be from behind such an event.
    pub(crate) fn has(&self, id: AssociationId) -> bool {
        self.0.contains(&id)
    }
}
