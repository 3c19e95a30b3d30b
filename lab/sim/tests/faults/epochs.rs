//! Streams that begin again: where their SSNs do, and whether both ends agree.

use std::collections::BTreeMap;

use tresse_core::wire::StreamId;
use tresse_core::{CloseReason, Event, ReconfigurationOutcome, ResetDirection};

use crate::ledger::{Kind, Ledger};

/// What one end knows of the streams in one association.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epochs {
    /// The next SSN of each incoming stream.
    next: BTreeMap<u16, u16>,
    /// Lists of incoming streams that began again, and of outgoing ones.
    incoming: Vec<Vec<StreamId>>,
    outgoing: Vec<Vec<StreamId>>,
    /// Outgoing ones of which it is not known.
    unknown: Option<Vec<StreamId>>,
    associations: usize,
    /// A reset of the association of which it is not known.
    unknown_association: bool,
    /// The peer restarted: what is read may be from before.
    over: bool,
    /// The association has ended, and was told of all resets: what is read may be from before some.
    closed: bool,
}

impl Epochs {
    /// The peer begins again.
    pub(crate) fn restart(&mut self) {
        self.over = true;
    }

    /// The association has ended.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// An ordered message was read; the SSN that it should have had, if that is another one.
    fn read(&mut self, stream: u16, ssn: u16) -> Option<u16> {
        let next = self.next.entry(stream).or_default();
        let expected = *next;
        *next = ssn.wrapping_add(1);
        (!(self.over || self.closed || self.unknown_association) && ssn != expected)
            .then_some(expected)
    }

    fn look(&mut self, event: &Event) -> Option<&'static str> {
        let is = |outcome: &ReconfigurationOutcome, wanted| *outcome == wanted;
        match event {
            Event::StreamsReset { direction: ResetDirection::Incoming, streams, outcome }
                if is(outcome, ReconfigurationOutcome::Performed) =>
            {
                self.next.retain(|stream, _| {
                    !(streams.is_empty() || streams.contains(&StreamId(*stream)))
                });
                self.incoming.push(streams.clone());
                Some("incoming streams reset")
            }
            Event::StreamsReset { direction: ResetDirection::Outgoing, streams, outcome } => {
                match outcome {
                    ReconfigurationOutcome::Performed => self.outgoing.push(streams.clone()),
                    ReconfigurationOutcome::Failed => self.unknown = Some(streams.clone()),
                    _ => {}
                }
                Some(if outcome.is_success() { "outgoing streams reset" } else { "reset refused" })
            }
            Event::AssociationReset { outcome, .. } => {
                if is(outcome, ReconfigurationOutcome::Performed) {
                    self.next.clear();
                    self.associations += 1;
                    return Some("association reset");
                }
                // Refused, or overtaken by the end of the association.
                self.unknown_association |= is(outcome, ReconfigurationOutcome::Failed);
                Some("reset of the association refused")
            }
            Event::StreamsAdded { outcome, .. } => {
                Some(if outcome.is_success() { "streams added" } else { "more streams refused" })
            }
            Event::StreamsReset { .. } => Some("reset refused"),
            _ => None,
        }
    }

    /// Whether the peer of this sender saw what it was told. The end of the association may have overtaken the last answer.
    fn is_seen_by(&self, peer: &Epochs) -> bool {
        let mut sent = self.outgoing.clone();
        let lists = sent == peer.incoming || {
            sent.extend(self.unknown.clone());
            sent == peer.incoming
        };
        let unknown = self.unknown_association || peer.unknown_association;
        lists && (self.associations == peer.associations || unknown)
    }
}

impl Ledger {
    /// An ordered message with this SSN was read.
    pub(crate) fn numbered(&mut self, end: usize, stream: u16, ssn: u16) {
        let expected = self.ends[end].epochs.read(stream, ssn);
        // What was given up leaves a gap.
        let wrong = |expected: &u16| !self.gaps || ssn.wrapping_sub(*expected) >= 0x8000;
        if let Some(expected) = expected.filter(wrong) {
            let text =
                format!("{}: stream {stream}: SSN {ssn}, not {expected}", self.ends[end].name);
            self.violate(Kind::Epochs, text);
        }
    }

    /// Something may have become of the streams of an end.
    pub(crate) fn reconfigured(&mut self, end: usize, event: &Event) {
        self.seen.extend(self.ends[end].epochs.look(event));
    }

    /// Once nothing can happen any more: associations that ended gracefully had the same resets at both ends.
    pub(crate) fn settle_epochs(&mut self) {
        let graceful = |end: usize| {
            let end = &self.ends[end];
            !end.epochs.over && matches!(end.closed, Some((_, CloseReason::Shutdown)))
        };
        let mut texts = Vec::new();
        for (sender, receiver) in self.pairs() {
            if !(graceful(sender) && graceful(receiver)) {
                continue;
            }
            let [from, to] = [sender, receiver].map(|end| &self.ends[end]);
            if !from.epochs.is_seen_by(&to.epochs) {
                texts.push(format!(
                    "{}: {:?}, but {}: {:?}",
                    from.name, from.epochs, to.name, to.epochs
                ));
            }
        }
        for text in texts {
            self.violate(Kind::Epochs, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reset(direction: ResetDirection, outcome: ReconfigurationOutcome) -> Event {
        Event::StreamsReset { direction, streams: vec![StreamId(1)], outcome }
    }

    #[test]
    fn wrong_numbers_and_ends_that_disagree_are_noticed() {
        let mut receiver = Epochs::default();
        assert_eq!(receiver.read(1, 0), None);
        assert_eq!(receiver.read(1, 0), Some(1));
        receiver.look(&reset(ResetDirection::Incoming, ReconfigurationOutcome::Performed));
        assert_eq!(receiver.read(1, 0), None);
        assert_eq!(receiver.read(2, 1), Some(0));
        let mut sender = Epochs::default();
        assert!(!sender.is_seen_by(&receiver));
        sender.look(&reset(ResetDirection::Outgoing, ReconfigurationOutcome::Denied));
        assert!(!sender.is_seen_by(&receiver));
        sender.look(&reset(ResetDirection::Outgoing, ReconfigurationOutcome::Failed));
        assert!(sender.is_seen_by(&receiver), "its answer was lost");
        sender.look(&reset(ResetDirection::Outgoing, ReconfigurationOutcome::Performed));
        assert!(sender.is_seen_by(&receiver));
        sender.look(&reset(ResetDirection::Outgoing, ReconfigurationOutcome::Performed));
        assert!(!sender.is_seen_by(&receiver));
    }
}
