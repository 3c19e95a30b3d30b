//! What the receiver keeps of the numbers of a stream (RFC 8260 §2.1).

use tresse_wire::Mid;

use super::super::renewal::Renewal;
use super::message::HALF;

/// The furthest that unordered messages stay behind the first one that may still come: it follows what comes, so that
/// MIDs wrap around.
pub(super) const REACH: u32 = HALF / 2;

/// What is known of the messages of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MessageNumbers {
    /// The ordered message that is delivered next.
    next: Mid,
    /// Unordered messages before this one will not come.
    floor: Mid,
    /// Unordered messages have come, or were passed over.
    unordered: bool,
    /// Of ordered messages, and of unordered ones.
    renewals: [Renewal; 2],
}

impl MessageNumbers {
    /// The stream begins again.
    pub(super) fn begin_again(&mut self) {
        let used = [self.next != Mid(0), self.unordered];
        let mut renewals = self.renewals;
        for (renewal, _) in renewals.iter_mut().zip(used).filter(|(_, used)| *used) {
            *renewal = Renewal::Fresh;
        }
        *self = MessageNumbers { renewals, ..MessageNumbers::default() };
    }

    /// What is known of its new time.
    pub(super) const fn renewal(self, unordered: bool) -> Renewal {
        self.renewals[unordered as usize]
    }

    pub(super) fn renewal_mut(&mut self, unordered: bool) -> &mut Renewal {
        &mut self.renewals[usize::from(unordered)]
    }

    /// Whether it is not known that unordered messages have come.
    pub(super) const fn lacks_unordered(self) -> bool {
        !self.unordered
    }

    /// Unordered messages have come.
    pub(super) fn note_unordered(&mut self) {
        self.unordered = true;
    }

    /// Messages before this one will not come.
    pub(super) fn begin_with(&mut self, unordered: bool, mid: Mid) {
        self.unordered |= unordered;
        *(if unordered { &mut self.floor } else { &mut self.next }) = mid;
    }

    pub(super) const fn first(self, unordered: bool) -> Mid {
        if unordered { self.floor } else { self.next }
    }

    /// Unordered messages far before one that has come will not come.
    pub(super) fn take_along(&mut self, mid: u32) {
        self.floor = Mid(mid.wrapping_sub(REACH));
    }

    /// An ordered message is handed over. One that waited for the end of another may have been passed over meanwhile.
    pub(super) fn pass(&mut self, mid: u32) {
        if ahead(mid, self.next) < HALF {
            self.next = Mid(mid).wrapping_add(1);
        }
    }
}

/// How far a message is ahead of `first`; half of all numbers or more if it is behind.
pub(super) const fn ahead(mid: u32, first: Mid) -> u32 {
    mid.wrapping_sub(first.0)
}
