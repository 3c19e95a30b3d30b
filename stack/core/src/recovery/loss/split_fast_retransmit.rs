//! Split Fast Retransmit, for concurrent multipath transfer (Iyengar, Amer & Stewart 2006;
//! draft-tuexen-tsvwg-sctp-multipath; Sarnow 2017 §3.2).
//!
//! Idea: packets that take different paths overtake each other all the time, which says nothing about losses. So a chunk
//! was missed only if one that left *on the same path* after it has arrived: RFC 9260 §7.2.4, for each path by itself.
//!
//! ```text
//! for each path p on which a SACK newly acknowledges something:
//!   misses(c) += 1  for c in flight on p with TSN < highest newly acknowledged on p, sent before the latest of these
//!   misses(c) += 1  again for TSN < lowest newly acknowledged on p, if the SACK answers two packets of p (`ack/dac.rs`)
//! ```

use crate::ack::AnsweredPackets;
use crate::ids::PathId;
use crate::profile::Profile;
use crate::recovery::{Miss, Misses, Rule};
use crate::scoreboard::AckOutcome;

/// The mechanism.
pub(in crate::recovery) struct SplitFastRetransmit;

impl Rule for SplitFastRetransmit {
    fn misses(profile: &Profile, outcome: &AckOutcome, packets: u8) -> Option<Misses> {
        let multipath = &profile.multipath;
        let packets = AnsweredPackets::counted(multipath, packets);
        multipath.split_fast_retransmit.then(|| split(outcome, packets))
    }
}

fn split(outcome: &AckOutcome, packets: u8) -> Misses {
    let acked = outcome.paths.iter().filter(|ack| ack.chunks > 0).count();
    let twice = AnsweredPackets::strike_twice(packets, acked);
    let mut misses = Misses::new();
    for (i, ack) in outcome.paths.iter().enumerate() {
        let sent = ack.latest.map_or(outcome.latest_sent, |latest| latest.sent);
        let lowest = ack.lowest_newly_acked.filter(|_| twice);
        let limits = ack.highest_newly_acked.into_iter().chain(lowest);
        misses.extend(limits.map(|below| Miss { path: PathId(i as u8), below, sent }));
    }
    misses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::PathAck;
    use crate::time::Time;

    fn acked(lowest: u64, highest: u64) -> PathAck {
        let (lowest_newly_acked, highest_newly_acked) = (Some(lowest), Some(highest));
        PathAck { chunks: 2, lowest_newly_acked, highest_newly_acked, ..PathAck::default() }
    }

    fn limits(paths: &[PathAck], packets: u8) -> Vec<(u8, u64)> {
        let latest_sent = Time::from_millis(5);
        let outcome = AckOutcome { paths: paths.into(), latest_sent, ..AckOutcome::default() };
        let misses = split(&outcome, packets);
        assert!(misses.iter().all(|miss| miss.sent == latest_sent));
        misses.iter().map(|miss| (miss.path.0, miss.below)).collect()
    }

    #[test]
    fn each_path_by_what_was_acknowledged_on_it() {
        assert_eq!(limits(&[acked(3, 7), PathAck::default(), acked(4, 9)], 0), [(0, 7), (2, 9)]);
        assert_eq!(limits(&[PathAck::default()], 3), []);
    }

    #[test]
    fn twice_what_two_packets_have_overtaken() {
        assert_eq!(limits(&[PathAck::default(), acked(4, 9)], 2), [(1, 9), (1, 4)]);
        assert_eq!(limits(&[acked(3, 7), acked(4, 9)], 2), [(0, 7), (1, 9)]);
    }
}
