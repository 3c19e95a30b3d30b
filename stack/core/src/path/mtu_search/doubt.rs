//! What is lost, perhaps for the size of its packet (RFC 8899 §4.3).

use std::time::Duration;

use super::data::{LostChunk, SMALLEST};
use super::{MtuSearchState, Search};
use crate::time::Time;

/// Because of losses the base is looked at no more often (RFC 8899 §5.1.1 has the timer of probes so).
const LEAST_BETWEEN: Duration = Duration::from_secs(15);

/// Where what is in flight is given up again and again, large packets get through none for so many RTOs.
const UNKNOWN_FOR: u32 = 4;

/// What losses say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Finding {
    /// Packets larger than the base do not get through.
    Hole,
    /// Those of today do not, which are no larger than the base.
    TooLarge,
}

impl Search {
    //= RFC 8899 4.3-1
    /// A chunk is lost, perhaps for the size of its packet, where packets are of `size` today.
    pub(in super::super) fn on_lost(
        &mut self,
        now: Time,
        lost: LostChunk,
        size: usize,
    ) -> Option<Finding> {
        // What is larger than packets are today leaves in fragments.
        if lost.size > size {
            return None;
        }
        self.data.on_lost(now, lost);
        if size > self.base && self.data.is_hole(lost, self.base) {
            return Some(Finding::Hole);
        }
        let untried =
            self.rests() && (lost.timeout || lost.times >= 2) && self.data.is_untried(lost.size);
        (untried || self.data.is_hole(lost, SMALLEST)).then(|| self.look(now, size)).flatten()
    }

    /// T3-rtx says that a chunk is lost; or the peer's window, which is closed, has it dropped, of whatever size. The base is looked
    /// at, which needs no room: what fills the window may wait for this chunk alone.
    pub(in super::super) fn on_dropped(&mut self, now: Time, lost: LostChunk, size: usize) {
        let has_found = matches!(self.phase, MtuSearchState::Searching | MtuSearchState::Complete);
        if has_found && (SMALLEST + 1..=size).contains(&lost.size) {
            self.look(now, size);
        }
    }

    /// Nothing gets through any more, or a chunk was given up, or was not answered, that may be large: where packets are of `size`
    /// today.
    pub(in super::super) fn doubt(&mut self, now: Time, size: usize) -> Option<Finding> {
        if size > self.base && self.data.is_open(self.base) {
            return Some(Finding::Hole);
        }
        self.data.is_open(SMALLEST).then(|| self.look(now, size)).flatten()
    }

    /// A chunk was given up in flight, so that nobody will tell whether it has arrived; FORWARD TSN keeps T3-rtx from expiring. Packets
    /// are of `size` today.
    pub(in super::super) fn on_given_up(
        &mut self,
        now: Time,
        rto: Duration,
        size: usize,
    ) -> Option<Finding> {
        let is_long = |safe| {
            let since = self.data.open_since(safe);
            since.is_some_and(|since| now.since(since) >= UNKNOWN_FOR * rto)
        };
        if size > self.base && is_long(self.base) && !self.is_early(now) {
            self.reason.found = Some(now);
            return Some(Finding::Hole);
        }
        is_long(SMALLEST).then(|| self.look(now, size)).flatten()
    }

    /// The base was looked at because of losses just now.
    fn is_early(&self, now: Time) -> bool {
        self.reason.found.is_some_and(|found| now.since(found) < LEAST_BETWEEN)
    }

    /// Packets of the base are too large, as it seems, or smaller ones: it is the base that is looked at, and not all the time.
    fn look(&mut self, now: Time, size: usize) -> Option<Finding> {
        if self.is_early(now) || !self.reason.reached || self.phase == MtuSearchState::Base {
            return None;
        }
        match self.phase {
            MtuSearchState::Disabled if self.due.is_some() => return None,
            MtuSearchState::Error if size <= SMALLEST => return None,
            MtuSearchState::Error => {
                self.data.forget(now);
                self.reason.found = Some(now);
                return Some(Finding::TooLarge);
            }
            _ => {}
        }
        self.reason.found = Some(now);
        self.begin(now);
        None
    }
}
