//! How many damaged packets the peer is told of (draft-stewart-sctp-pktdrprep).

use std::time::Duration;

use crate::time::Time;

/// Reports that may leave in a row, and how long it takes until there may be one more: 500 in a second. Of more damage SACKs
/// tell.
const MOST: u32 = 32;
const EVERY_NANOS: u64 = 2_000_000;

/// How many reports may leave.
#[derive(Debug)]
pub(super) struct DropReports {
    left: u32,
    /// Since when there may be more.
    since: Time,
}

impl Default for DropReports {
    fn default() -> DropReports {
        DropReports { left: MOST, since: Time::ZERO }
    }
}

impl DropReports {
    /// Takes one, if there is one left.
    pub(super) fn take(&mut self, now: Time) -> bool {
        let span = u64::try_from(now.since(self.since).as_nanos()).unwrap_or(u64::MAX);
        let more = span / EVERY_NANOS;
        if more >= u64::from(MOST - self.left) {
            (self.left, self.since) = (MOST, now);
        } else {
            self.left += more as u32;
            self.since += Duration::from_nanos(more * EVERY_NANOS);
        }
        let some = self.left > 0;
        self.left -= u32::from(some);
        some
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_leave_than_time_allows() {
        let mut reports = DropReports::default();
        let taken = |reports: &mut DropReports, ms: u64| {
            (0..1000).filter(|_| reports.take(Time::from_millis(ms))).count()
        };
        assert_eq!(taken(&mut reports, 0), 32);
        assert_eq!(taken(&mut reports, 1), 0);
        assert_eq!(taken(&mut reports, 2), 1);
        assert_eq!(taken(&mut reports, 13), 5);
        assert_eq!(taken(&mut reports, 14), 1, "the rest of the time is not lost");
        assert_eq!(taken(&mut reports, 10_000), 32);
    }
}
