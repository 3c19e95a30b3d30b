//! In which order a receiver delivers messages (RFC 9260 §6.6, RFC 8260 §2.2), and how long that
//! makes chunks wait that have arrived: head-of-line blocking.

use std::collections::BTreeMap;

use super::assembly::Message;
use super::user_data::Fragment;
use crate::flow::ms;
use crate::statistics::Delays;

/// More messages of a stream never wait: those that are missing are given up.
const MOST_WAITING: usize = 1 << 14;

/// One stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The SSN or MID that is delivered next, counted on beyond its wrap.
    next: Option<u64>,
    waiting: BTreeMap<u64, Message>,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// From the arrival of each chunk to its delivery.
    pub(super) blocked: Delays,
}

/// All streams of one direction.
#[derive(Debug, Default)]
pub(super) struct Order {
    pub(super) streams: BTreeMap<u16, Stream>,
    /// Messages that wait in all of them.
    waiting: usize,
}

impl Order {
    /// How many messages wait, and what the streams themselves take, which is as much as four each.
    pub(super) fn held(&self) -> usize {
        self.waiting + 4 * self.streams.len()
    }

    /// A message is complete at `at`; `deliver` gets all that can be delivered now. From the first
    /// one of a stream on that was captured, unless the association's beginning was.
    pub(super) fn complete(
        &mut self,
        message: Message,
        at: u64,
        from_the_beginning: bool,
        deliver: &mut dyn FnMut(Message),
    ) {
        let fragment = message.fragment;
        let stream = self.streams.entry(fragment.stream).or_default();
        if fragment.unordered {
            stream.deliver(message, at, deliver);
            return;
        }
        let before = stream.waiting.len();
        let start = if from_the_beginning { 0 } else { fragment.sequence.into() };
        let next = *stream.next.get_or_insert(start);
        match place(next, fragment) {
            Some(sequence) => {
                stream.waiting.insert(sequence, message);
                if stream.waiting.len() > MOST_WAITING {
                    stream.next = stream.waiting.first_key_value().map(|(sequence, _)| *sequence);
                }
                stream.go_on(at, deliver);
            }
            None => {
                // Chunks that arrived twice do not come here, so this one was sent before the
                // capture began, or the stream was reset (RFC 6525 §5.2.2: SSNs begin at 0).
                if fragment.sequence == 0 {
                    stream.next = Some(1);
                }
                stream.deliver(message, at, deliver);
                stream.go_on(at, deliver);
            }
        }
        self.waiting = self.waiting + stream.waiting.len() - before;
    }

    /// These streams begin again with 0, or all if there are none; what still waits lacked what was not captured.
    pub(super) fn reset(&mut self, streams: &[u16], at: u64, deliver: &mut dyn FnMut(Message)) {
        for (number, stream) in &mut self.streams {
            if streams.is_empty() || streams.contains(number) {
                let waiting = std::mem::take(&mut stream.waiting);
                self.waiting -= waiting.len();
                waiting.into_values().for_each(|message| stream.deliver(message, at, deliver));
                stream.next = Some(0);
            }
        }
    }

    /// The sender abandons all messages of a stream up to this one.
    pub(super) fn skip(&mut self, last: Fragment, at: u64, deliver: &mut dyn FnMut(Message)) {
        let stream = self.streams.entry(last.stream).or_default();
        let before = stream.waiting.len();
        let next = stream.next.unwrap_or(u64::from(last.sequence) + 1);
        let after = place(next, last).map_or(next, |sequence| sequence + 1);
        // RFC 3758 §3.6: what is complete among them is delivered.
        let behind = stream.waiting.split_off(&after);
        for message in std::mem::replace(&mut stream.waiting, behind).into_values() {
            stream.deliver(message, at, deliver);
        }
        stream.next = Some(after);
        stream.go_on(at, deliver);
        self.waiting = self.waiting + stream.waiting.len() - before;
    }
}

/// The number of a fragment's message beyond the wrap of SSN or MID; `None` if it is before `next`.
fn place(next: u64, fragment: Fragment) -> Option<u64> {
    let ahead = match fragment.index {
        None => i64::from((fragment.sequence as u16).wrapping_sub(next as u16).cast_signed()),
        Some(_) => i64::from(fragment.sequence.wrapping_sub(next as u32).cast_signed()),
    };
    (ahead >= 0).then(|| next.saturating_add_signed(ahead))
}

impl Stream {
    fn go_on(&mut self, at: u64, deliver: &mut dyn FnMut(Message)) {
        while let Some(message) = self.next.and_then(|next| self.waiting.remove(&next)) {
            self.next = self.next.map(|next| next + 1);
            self.deliver(message, at, deliver);
        }
    }

    fn deliver(&mut self, message: Message, at: u64, deliver: &mut dyn FnMut(Message)) {
        self.messages += 1;
        self.bytes += message.bytes;
        for arrival in &message.arrivals {
            self.blocked.note(ms(*arrival, at));
        }
        deliver(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(stream: u16, sequence: u32, arrived: u64) -> Message {
        let fragment = Fragment { stream, sequence, ..Fragment::default() };
        let arrivals = [arrived].into_iter().collect();
        Message { number: sequence.into(), fragment, bytes: 10, first: None, arrivals }
    }

    /// Completes a message of a stream; the sequence numbers that this delivers.
    fn complete(order: &mut Order, stream: u16, sequence: u32, at: u64) -> Vec<u32> {
        let mut found = Vec::new();
        let mut deliver = |message: Message| found.push(message.fragment.sequence);
        order.complete(message(stream, sequence, at), at, true, &mut deliver);
        found
    }

    #[test]
    fn streams_wait_for_themselves_only() {
        let mut order = Order::default();
        assert_eq!(complete(&mut order, 0, 0, 0), [0]);
        assert_eq!(complete(&mut order, 0, 2, 1_000_000), Vec::<u32>::new());
        assert_eq!(complete(&mut order, 1, 0, 2_000_000), [0]);
        assert_eq!(complete(&mut order, 0, 1, 5_000_000), [1, 2]);
        let blocked = order.streams[&0].blocked.summary().unwrap();
        assert_eq!((blocked.count, blocked.max_ms, blocked.min_ms), (3, 4.0, 0.0));
        assert_eq!(order.streams[&1].blocked.summary().unwrap().max_ms, 0.0);
    }

    #[test]
    fn numbers_wrap_and_are_reset() {
        let mut order = Order::default();
        order.streams.entry(0).or_default().next = Some(0xffff);
        assert_eq!(complete(&mut order, 0, 0, 0), Vec::<u32>::new());
        assert_eq!(complete(&mut order, 0, 0xffff, 0), [0xffff, 0]);
        assert_eq!(complete(&mut order, 0, 1, 0), [1]);
        // RFC 6525: 0 again.
        assert_eq!(complete(&mut order, 0, 0, 0), [0]);
        assert_eq!(complete(&mut order, 0, 1, 0), [1]);
    }

    #[test]
    fn after_a_reset_messages_wait_for_the_first_one() {
        let mut order = Order::default();
        for stream in 0..2 {
            assert_eq!(complete(&mut order, stream, 0, 0), [0]);
            // Something that was not captured is missing.
            assert_eq!(complete(&mut order, stream, 2, 0), Vec::<u32>::new());
        }
        let mut found = Vec::new();
        order.reset(&[1, 7], 5, &mut |message| found.push(message.fragment.sequence));
        assert_eq!(found, [2]);
        assert_eq!(order.waiting, 1);
        assert_eq!(complete(&mut order, 1, 1, 6), Vec::<u32>::new());
        assert_eq!(complete(&mut order, 1, 0, 7), [0, 1]);
        assert_eq!(complete(&mut order, 0, 1, 8), [1, 2], "the other one goes on");
        order.reset(&[], 9, &mut |_| panic!("nothing waits"));
        assert_eq!(complete(&mut order, 0, 0, 10), [0]);
    }

    #[test]
    fn what_is_abandoned_is_not_waited_for() {
        let mut order = Order::default();
        assert_eq!(complete(&mut order, 0, 1, 0), Vec::<u32>::new());
        assert_eq!(complete(&mut order, 0, 4, 0), Vec::<u32>::new());
        let mut found = Vec::new();
        let mut deliver = |message: Message| found.push(message.fragment.sequence);
        let last = Fragment { sequence: 3, ..Fragment::default() };
        order.skip(last, 9_000_000, &mut deliver);
        assert_eq!(found, [1, 4]);
    }
}
