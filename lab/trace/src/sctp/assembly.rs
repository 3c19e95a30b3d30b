//! Puts messages together from their chunks, which come in any order.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::user_data::Fragment;
use crate::event::Event;
use crate::flow::{Flow, ms};
use crate::numbers::shown;
use crate::terms::{Side, Until};

/// This many fragments are kept of messages that are not complete; those of the oldest are forgotten.
const MOST_LOOSE: usize = 1 << 16;

/// A chunk that arrived or was acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) number: u64,
    pub(super) bytes: u32,
    /// When it arrived or was acknowledged.
    pub(super) at: u64,
    /// When it was sent for the first time, if that is known.
    pub(super) first: Option<u64>,
    pub(super) fragment: Fragment,
}

/// A whole message.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    /// Number of its first chunk.
    pub(super) number: u64,
    /// The first chunk's.
    pub(super) fragment: Fragment,
    pub(super) bytes: u64,
    /// When its first chunk was sent for the first time.
    pub(super) first: Option<u64>,
    /// When each of its chunks arrived.
    pub(super) arrivals: SmallVec<[u64; 2]>,
}

impl Message {
    /// `None` of no pieces.
    fn of(pieces: &[Piece]) -> Option<Message> {
        let begin = pieces.first()?;
        Some(Message {
            number: begin.number,
            fragment: begin.fragment,
            bytes: pieces.iter().map(|piece| u64::from(piece.bytes)).sum(),
            first: begin.first,
            arrivals: pieces.iter().map(|piece| piece.at).collect(),
        })
    }

    /// Counts it as through at `at`; milliseconds since its first transmission.
    pub(super) fn through(&self, flow: &mut Flow, at: u64) -> Option<f64> {
        let transfer = self.first.map(|first| ms(first, at));
        flow.messages += 1;
        if let Some(transfer) = transfer {
            flow.transfer.note(transfer);
        }
        transfer
    }

    /// What observers are told when it is through.
    pub(super) fn event(
        &self,
        from: Side,
        transfer_ms: Option<f64>,
        until: Until,
    ) -> Event<'static> {
        let Fragment { stream, sequence, unordered, ppid, .. } = self.fragment;
        Event::Message {
            from,
            number: shown(self.number),
            stream,
            sequence,
            unordered,
            ppid,
            bytes: self.bytes,
            transfer_ms,
            until,
        }
    }
}

/// Fragments of messages that are not complete.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    /// Of DATA, by number.
    loose: BTreeMap<u64, Piece>,
    /// Those of them that belong together: the first number and the last one.
    runs: BTreeMap<u64, u64>,
    /// Of I-DATA, by stream, order and MID.
    interleaved: BTreeMap<(u16, bool, u32), Interleaved>,
    /// How many pieces those are.
    interleaved_pieces: usize,
}

/// Fragments of one message that say themselves which ones they are.
#[derive(Debug, Default)]
struct Interleaved {
    pieces: Vec<Piece>,
    /// How many the message has, once the last one is there.
    count: Option<usize>,
}

impl Assembly {
    /// Adds a chunk that was not added before. The message that it completes.
    pub(super) fn add(&mut self, piece: Piece) -> Option<Message> {
        let fragment = piece.fragment;
        if fragment.beginning && fragment.ending {
            return Message::of(&[piece]);
        }
        match fragment.index {
            None => self.add_loose(piece),
            Some(_) => self.add_interleaved(piece),
        }
    }

    /// How many pieces wait.
    pub(super) fn held(&self) -> usize {
        self.loose.len() + self.interleaved_pieces
    }

    /// These streams begin again, or all if there are none: a message of before that was given up has no more to come, and
    /// its MID is that of another one.
    pub(super) fn reset(&mut self, streams: &[u16]) {
        let pieces = &mut self.interleaved_pieces;
        self.interleaved.retain(|(stream, ..), message| {
            let stays = !streams.is_empty() && !streams.contains(stream);
            *pieces -= if stays { 0 } else { message.pieces.len() };
            stays
        });
    }

    /// Nothing more comes of messages that end before this number: those that lack a part were passed over. (Those in I-DATA
    /// chunks may go on behind it.)
    pub(super) fn forget(&mut self, before: u64) {
        while let Some((begin, _)) = self.runs.first_key_value().filter(|(_, end)| **end < before) {
            let begin = *begin;
            self.take_run(begin);
        }
    }

    fn add_loose(&mut self, piece: Piece) -> Option<Message> {
        let (mut begin, mut end) = (piece.number, piece.number);
        if self.loose.insert(piece.number, piece).is_some() {
            return None;
        }
        // RFC 9260 §6.9: "the TSNs ... MUST be assigned in strict sequence" to the fragments.
        if !piece.fragment.beginning
            && let Some((first, last)) = self.runs.range(..begin).next_back()
            && last + 1 == begin
            && !self.loose.get(last)?.fragment.ending
        {
            begin = *first;
        }
        if !piece.fragment.ending
            && let Some(last) = self.runs.get(&(end + 1))
            && !self.loose.get(&(end + 1))?.fragment.beginning
        {
            let last = *last;
            self.runs.remove(&(end + 1));
            end = last;
        }
        self.runs.insert(begin, end);
        if self.loose.get(&begin)?.fragment.beginning && self.loose.get(&end)?.fragment.ending {
            let pieces = self.take_run(begin);
            return Message::of(&pieces);
        }
        if self.loose.len() > MOST_LOOSE {
            let oldest = *self.runs.first_key_value()?.0;
            self.take_run(oldest);
        }
        None
    }

    fn take_run(&mut self, begin: u64) -> Vec<Piece> {
        let Some(end) = self.runs.remove(&begin) else { return Vec::new() };
        (begin..=end).filter_map(|number| self.loose.remove(&number)).collect()
    }

    fn add_interleaved(&mut self, piece: Piece) -> Option<Message> {
        let Fragment { stream, unordered, sequence, .. } = piece.fragment;
        let key = (stream, unordered, sequence);
        let message = self.interleaved.entry(key).or_default();
        // RFC 8260 §2.1: FSNs count from 0 without a gap.
        if piece.fragment.ending {
            message.count = piece.fragment.index.map(|index| index as usize + 1);
        }
        message.pieces.push(piece);
        self.interleaved_pieces += 1;
        if message.count == Some(message.pieces.len()) {
            let mut pieces = self.interleaved.remove(&key)?.pieces;
            self.interleaved_pieces -= pieces.len();
            pieces.sort_unstable_by_key(|piece| piece.fragment.index);
            return Message::of(&pieces);
        }
        if self.interleaved_pieces > MOST_LOOSE {
            let (_, oldest) = self.interleaved.pop_first()?;
            self.interleaved_pieces -= oldest.pieces.len();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(number: u64, flags: &str, sequence: u32, index: Option<u32>) -> Piece {
        let has = |c| flags.contains(c);
        let fragment = Fragment {
            stream: 1,
            sequence,
            ppid: 7,
            unordered: has('U'),
            beginning: has('B'),
            ending: has('E'),
            index,
        };
        Piece { number, bytes: 10, at: 100 + number, first: Some(number), fragment }
    }

    #[test]
    fn fragments_of_data_have_consecutive_numbers() {
        let mut a = Assembly::default();
        assert_eq!(a.add(piece(4, "BE", 0, None)).unwrap().bytes, 10);
        // Two messages of three and two chunks, the last chunks first.
        assert_eq!(a.add(piece(9, "E", 2, None)), None);
        assert_eq!(a.add(piece(7, "E", 1, None)), None);
        assert_eq!(a.add(piece(5, "B", 1, None)), None);
        let first = a.add(piece(6, "", 1, None)).unwrap();
        assert_eq!((first.number, first.bytes, first.first), (5, 30, Some(5)));
        assert_eq!(first.arrivals.as_slice(), [105, 106, 107]);
        assert_eq!(a.add(piece(8, "B", 2, None)).unwrap().number, 8);
        assert!(a.loose.is_empty());
    }

    #[test]
    fn fragments_of_interleaved_messages_are_counted() {
        let mut a = Assembly::default();
        assert_eq!(a.add(piece(1, "B", 0, Some(0))), None);
        assert_eq!(a.add(piece(2, "B", 1, Some(0))), None);
        assert_eq!(a.add(piece(5, "E", 0, Some(2))), None);
        assert_eq!(a.add(piece(4, "E", 1, Some(1))).unwrap().number, 2);
        assert_eq!(a.add(piece(3, "", 0, Some(1))).unwrap().bytes, 30);
        assert!(a.interleaved.is_empty());
    }

    #[test]
    fn after_a_reset_a_mid_is_that_of_another_message() {
        let mut a = Assembly::default();
        assert_eq!(a.add(piece(1, "B", 0, Some(0))), None);
        assert_eq!(a.add(piece(2, "", 0, Some(1))), None);
        a.reset(&[7]);
        assert_eq!(a.held(), 2);
        a.reset(&[1]);
        assert_eq!(a.held(), 0);
        assert_eq!(a.add(piece(9, "B", 0, Some(0))), None);
        assert_eq!(a.add(piece(10, "E", 0, Some(1))).unwrap().number, 9);
        assert_eq!(a.add(piece(11, "B", 1, Some(0))), None);
        a.reset(&[]);
        assert_eq!(a.held(), 0);
    }

    #[test]
    fn what_was_passed_over_is_forgotten() {
        let mut a = Assembly::default();
        for (number, flags) in [(5, "B"), (6, ""), (8, "E"), (10, "B")] {
            assert_eq!(a.add(piece(number, flags, 1, None)), None);
        }
        a.forget(8);
        assert_eq!(a.held(), 2);
        a.forget(9);
        assert_eq!(a.add(piece(11, "E", 2, None)).unwrap().number, 10);
        assert_eq!(a.held(), 0);
    }

    /// Fragments without a beginning, or without an end: what it costs to look for them must not grow
    /// with their number, or these would take minutes.
    #[test]
    fn what_never_becomes_whole_costs_little() {
        let count = 4 * MOST_LOOSE as u64;
        for (flags, index) in [("", false), ("E", false), ("", true)] {
            let mut a = Assembly::default();
            for number in (1..=count).rev() {
                let index = index.then_some(number as u32);
                assert_eq!(a.add(piece(number, flags, 7, index)), None);
                assert!(a.loose.len() <= MOST_LOOSE && a.interleaved_pieces <= MOST_LOOSE);
            }
            assert!(a.runs.len() <= MOST_LOOSE);
        }
        // What comes then is put together as ever.
        let mut a = Assembly::default();
        for number in 10..10 + count {
            assert_eq!(a.add(piece(number, "", 0, None)), None);
        }
        assert_eq!(a.add(piece(4, "E", 0, None)), None);
        assert_eq!(a.add(piece(3, "B", 0, None)).map(|message| message.bytes), Some(20));
    }
}
