//! Chunk rescheduling (Dreibholz, Rathgeb, Rüngeler, Seggelmann, Tüxen, Stewart 2010; Sarnow 2017
//! §6.2.3), for concurrent multipath transfer.
//!
//! Idea: a chunk on a slow path holds up all that the fast paths deliver: both buffers fill, and the
//! fast paths must wait. When a buffer is nearly full, what holds it up is sent again over another
//! path, although it is not lost.
//!
//! ```text
//! blocked  <=>  buffered >= threshold * send buffer
//!           or  receive buffer - a_rwnd >= threshold * receive buffer
//! first    =    the lowest outstanding TSN, in flight on path b
//! original: first alone;  modified: all in flight on b below the first gap-acknowledged TSN
//! ```
//! A chunk that was rescheduled is left alone for one RTT of the path it took, and in the original
//! form the blocking path for one RTT of its own.

use std::ops::Range;
use std::time::Duration;

use crate::ids::{LossCause, PathId};
use crate::profile::{ChunkRescheduling, Profile};
use crate::recovery::{Advisor, Buffers};
use crate::scoreboard::Scoreboard;
use crate::time::Time;

const CAUSE: LossCause = LossCause::Rescheduled;

/// What one association has rescheduled.
#[derive(Debug, Default)]
pub(in crate::recovery) struct Rescheduling {
    /// The blocking path and since when.
    last: Option<(PathId, Time)>,
}

impl Advisor for Rescheduling {
    fn of(_profile: &Profile) -> Rescheduling {
        Rescheduling::default()
    }

    fn detours(
        &mut self,
        now: Time,
        profile: &Profile,
        buffers: &Buffers,
        board: &Scoreboard,
        srtt: &impl Fn(PathId) -> Duration,
    ) -> Option<(Range<u64>, LossCause)> {
        let parameters = &profile.multipath;
        if parameters.chunk_rescheduling == ChunkRescheduling::Off
            || !block(buffers, parameters.rescheduling_threshold)
        {
            return None;
        }
        let first = board.cumulative() + 1;
        let chunk = board.get(first).filter(|chunk| chunk.is_repeatable())?;
        let gap_acked = board.first_gap_acked()?;
        let path = chunk.path;
        let rested = |since: Time| now.since(since) >= srtt(path);
        if chunk.cause == Some(CAUSE) && !rested(chunk.last_sent) {
            return None;
        }
        if parameters.chunk_rescheduling == ChunkRescheduling::Blocking {
            return Some((first..gap_acked, CAUSE));
        }
        if self.last.is_some_and(|(last, at)| last == path && !rested(at)) {
            return None;
        }
        self.last = Some((path, now));
        Some((first..first + 1, CAUSE))
    }
}

/// Whether one of the buffers is as full as that.
fn block(buffers: &Buffers, threshold: f64) -> bool {
    let beyond = |used: usize, limit: usize| used as f64 >= threshold * limit as f64;
    beyond(buffers.sending, buffers.send_limit) || beyond(buffers.receiving, buffers.receive_limit)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tresse_wire::{DataFlags, Fsn, GapAckBlock, GapAckBlocks, Mid, Ppid, StreamId, Tsn};

    use super::*;
    use crate::scoreboard::{AckOutcome, NewChunk};

    const FULL: Buffers =
        Buffers { sending: 50, send_limit: 100, receiving: 0, receive_limit: 100 };

    /// TSNs 1 to 6 in turn on paths 0 and 1; what path 1 carries is acknowledged.
    fn board() -> Scoreboard {
        let mut board = Scoreboard::new(Tsn(1));
        for i in 0..6u8 {
            board.begin_packet();
            let chunk = NewChunk {
                stream: StreamId(0),
                mid: Mid(0),
                fsn: Fsn(0),
                ppid: Ppid(0),
                flags: DataFlags::UNFRAGMENTED,
                context: 0,
                key: None,
                payload: Bytes::from_static(&[0; 10]),
            };
            let sent = Time::from_nanos(u64::from(i));
            board.record_new(sent, PathId(u8::from(i == 2 || i == 4)), chunk);
        }
        let blocks = [3, 5].map(|at| GapAckBlock { start: at, end: at }.to_bytes());
        board
            .on_sack(Tsn(0), GapAckBlocks::new(&blocks), &mut AckOutcome::default(), |_| {})
            .unwrap();
        board
    }

    fn on_sack(
        state: &mut Rescheduling,
        ms: u64,
        form: ChunkRescheduling,
        buffers: &Buffers,
    ) -> Option<Range<u64>> {
        let mut profile = Profile::default();
        profile.multipath.chunk_rescheduling = form;
        let now = Time::ZERO + Duration::from_millis(ms);
        let found =
            state.detours(now, &profile, buffers, &board(), &|_| Duration::from_millis(100));
        let base = board().cumulative();
        found.map(|(range, _)| range.start - base..range.end - base)
    }

    #[test]
    fn the_original_takes_the_lowest_once_per_round_trip() {
        let mut state = Rescheduling::default();
        let mut at = |ms| on_sack(&mut state, ms, ChunkRescheduling::Lowest, &FULL);
        assert_eq!(at(200), Some(1..2));
        assert_eq!(at(299), None);
        assert_eq!(at(300), Some(1..2));
    }

    #[test]
    fn the_modified_form_takes_all_before_the_first_that_arrived() {
        let mut state = Rescheduling::default();
        let form = ChunkRescheduling::Blocking;
        assert_eq!(on_sack(&mut state, 200, form, &FULL), Some(1..3));
    }

    #[test]
    fn nothing_moves_while_there_is_room() {
        let mut state = Rescheduling::default();
        let room = Buffers { sending: 49, receiving: 49, ..FULL };
        assert_eq!(on_sack(&mut state, 200, ChunkRescheduling::Blocking, &room), None);
        let receiver = Buffers { sending: 0, receiving: 50, ..FULL };
        assert!(on_sack(&mut state, 200, ChunkRescheduling::Blocking, &receiver).is_some());
        assert_eq!(on_sack(&mut state, 200, ChunkRescheduling::Off, &FULL), None);
    }
}
