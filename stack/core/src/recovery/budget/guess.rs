//! From when on a guess may be sent (RFC 8085 §3.1), for a chunk that is late.
//!
//! ```text
//! behind a repair = most + max(most - least, least unless known)     of the round trips of the last minutes
//! late            = max(longest SACK, SRTT, behind a repair) + G
//! at              = max(now, a repair under way is answered, late + 4 RTTVAR after it left; the chunk is answered from + late)
//! ```
//! A repair is a packet more than the stream has by itself: behind one a round trip may take once again as much beyond the longest as
//! that is beyond the shortest. Until repairs have shown (`known`) what one of them adds, that is as much as a round trip: on a slow
//! link that is a packet and its SACK.

use std::time::Duration;

/// What a round trip may take behind a repair.
pub(super) fn behind_repair((least, most): (Duration, Duration), known: bool) -> Duration {
    let unknown = if known { Duration::ZERO } else { least };
    most + (most - least).max(unknown)
}

/// Of the timers before those of RFC 9260 this one is bounded although another path works: the first one of a path whose answers come.
/// An answer to a source that is gone is not late: it does not come.
pub(super) const fn is_first_of_a_path_that_works(in_a_row: u32, proven: bool) -> bool {
    in_a_row == 0 && proven
}

/// The other path is as near as this one, where what leaves there lengthens no queue.
pub(super) fn is_near(own: Option<Duration>, other: Option<Duration>) -> bool {
    other.zip(own).is_some_and(|(other, own)| other <= 2 * own)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_repair_may_add_as_much_as_was_seen_and_at_first_a_round_trip() {
        let both =
            |most: u32| [true, false].map(|known| behind_repair((200 * MS, most * MS), known));
        assert_eq!(both(200), [200 * MS, 400 * MS]);
        assert_eq!(both(350), [500 * MS, 550 * MS]);
    }

    #[test]
    fn a_path_is_near_whose_round_trip_is_no_more_than_twice_as_long() {
        let near = |own: Option<u32>, other: Option<u32>| {
            is_near(own.map(|n| n * MS), other.map(|n| n * MS))
        };
        assert!(near(Some(10), Some(20)) && !near(Some(10), Some(21)));
        assert!(!near(None, Some(20)) && !near(Some(10), None));
    }
}
