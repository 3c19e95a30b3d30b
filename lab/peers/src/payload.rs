//! The user data of an interoperability test; `conformance/interop/payload.h` says the same in C.
//!
//! Every byte of a message follows from its index, so a receiver verifies all of it without
//! keeping anything. Message `i` travels on stream `i` mod streams.

use thiserror::Error;

/// SplitMix64, one step.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// FNV-1a over one message.
fn digest(message: &[u8]) -> u64 {
    message.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// What is sent in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Number of messages.
    pub messages: u64,
    /// Bytes of each message; at least 8, which hold its index.
    pub size: usize,
    /// Those of message 0, if it is a large one among small ones.
    pub first: Option<usize>,
    /// Whether the messages of every second stream are twice as long.
    pub uneven: bool,
    /// Streams in use, from 0 on; at least 1.
    pub streams: u16,
    /// Whether the messages have the U flag.
    pub unordered: bool,
    /// The payload protocol identifier of every message; `None`: it follows from the index.
    pub ppid: Option<u32>,
}

impl Payload {
    /// Ordered messages of one size on one stream.
    pub const PLAIN: Payload = Payload {
        messages: 0,
        size: 1_000,
        first: None,
        uneven: false,
        streams: 1,
        unordered: false,
        ppid: None,
    };

    /// Message `index`: words of eight bytes, big-endian, the last one cut. Word 0 is the index,
    /// word `w` is `mix(index * 2^32 + w)`.
    pub fn message(&self, index: u64) -> Vec<u8> {
        let size = self.size_of(index);
        let mut message = Vec::with_capacity(size + 8);
        message.extend_from_slice(&index.to_be_bytes());
        for word in 1..size.div_ceil(8) as u64 {
            message.extend_from_slice(&mix((index << 32).wrapping_add(word)).to_be_bytes());
        }
        message.truncate(size);
        message
    }

    /// Bytes of message `index`.
    pub fn size_of(&self, index: u64) -> usize {
        let long = self.uneven && self.stream(index) % 2 == 1;
        let size = if long { 2 * self.size } else { self.size };
        self.first.filter(|_| index == 0).unwrap_or(size)
    }

    /// The index of the message that is number `n` when they are queued stream by stream, as many on each.
    pub fn by_stream(&self, n: u64) -> u64 {
        let streams = u64::from(self.streams);
        let each = self.messages / streams;
        n % each * streams + n / each
    }

    /// The stream that message `index` travels on.
    pub fn stream(&self, index: u64) -> u16 {
        (index % u64::from(self.streams)) as u16
    }

    /// The payload protocol identifier that it travels with.
    pub fn ppid(&self, index: u64) -> u32 {
        self.ppid.unwrap_or(0x5452_0000 + (index & 0xffff) as u32)
    }

    /// User bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.bytes_of(self.messages)
    }

    /// User bytes of the first `messages` of them.
    pub fn bytes_of(&self, messages: u64) -> u64 {
        (0..messages).map(|index| self.size_of(index) as u64).sum()
    }

    /// The sum of the digests of the first `messages` messages, modulo 2^64. It does not depend on
    /// their order.
    pub fn sum(&self, messages: u64) -> u64 {
        self.sum_of(0..messages)
    }

    /// The same of any messages.
    pub fn sum_of(&self, indices: impl Iterator<Item = u64>) -> u64 {
        indices.fold(0, |sum: u64, index| sum.wrapping_add(digest(&self.message(index))))
    }
}

/// A message that is not the one expected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// Its length is not that of the messages of this test.
    #[error("a message of {0} bytes")]
    Size(usize),
    /// No message has this index.
    #[error("message {0} does not exist")]
    Index(u64),
    /// It arrived a second time, or before another one of its stream.
    #[error("message {found} came on stream {stream} where {expected} was due")]
    Order {
        /// Its stream.
        stream: u16,
        /// Its index.
        found: u64,
        /// The index that was due.
        expected: u64,
    },
    /// An unordered message arrived a second time.
    #[error("message {0} came twice")]
    Duplicate(u64),
    /// Its bytes are not those that were sent.
    #[error("message {0} is corrupt")]
    Corrupt(u64),
    /// Its stream, PPID or U flag is not that of the message sent.
    #[error("message {0} has a wrong stream, PPID or U flag")]
    Envelope(u64),
}

/// Verifies the messages of one direction as they arrive.
#[derive(Clone, Debug)]
pub struct Received {
    payload: Payload,
    /// For each stream, the index that is due.
    due: Vec<u64>,
    /// Which ones came, if messages are unordered or may be missing.
    seen: Vec<bool>,
    /// Messages may be missing, but for the last one of each stream.
    partial: bool,
    messages: u64,
    bytes: u64,
    sum: u64,
}

impl Received {
    /// Nothing has arrived yet of `payload`.
    pub fn new(payload: Payload) -> Received {
        Received {
            payload,
            due: (0..u64::from(payload.streams)).collect(),
            seen: vec![false; if payload.unordered { payload.messages as usize } else { 0 }],
            partial: false,
            messages: 0,
            bytes: 0,
            sum: 0,
        }
    }

    /// The same for messages of which some may never come, but the last one of each stream does.
    pub fn partial(payload: Payload) -> Received {
        let seen = vec![false; payload.messages as usize];
        Received { partial: true, seen, ..Received::new(payload) }
    }

    /// Those that have not come, of messages that may be missing.
    pub fn missing(&self) -> Vec<u64> {
        (0..).zip(&self.seen).filter_map(|(index, seen)| (!seen).then_some(index)).collect()
    }

    /// Takes the next message.
    ///
    /// # Errors
    /// [`PayloadError`] when anything about it is not as sent.
    pub fn accept(
        &mut self,
        stream: u16,
        ppid: u32,
        unordered: bool,
        message: &[u8],
    ) -> Result<(), PayloadError> {
        let size = PayloadError::Size(message.len());
        let index = u64::from_be_bytes(*message.first_chunk().ok_or(size.clone())?);
        if message.len() != self.payload.size_of(index) {
            return Err(size);
        }
        if index >= self.payload.messages {
            return Err(PayloadError::Index(index));
        }
        let sent = (self.payload.stream(index), self.payload.ppid(index), self.payload.unordered);
        if sent != (stream, ppid, unordered) {
            return Err(PayloadError::Envelope(index));
        }
        if unordered {
            if self.seen[index as usize] {
                return Err(PayloadError::Duplicate(index));
            }
        } else {
            let due = &mut self.due[usize::from(stream)];
            while self.partial && *due < index {
                *due += u64::from(self.payload.streams);
            }
            if *due != index {
                return Err(PayloadError::Order { stream, found: index, expected: *due });
            }
            *due += u64::from(self.payload.streams);
        }
        if self.payload.message(index) != message {
            return Err(PayloadError::Corrupt(index));
        }
        if let Some(seen) = self.seen.get_mut(index as usize) {
            *seen = true;
        }
        self.messages += 1;
        self.bytes += message.len() as u64;
        self.sum = self.sum.wrapping_add(digest(message));
        Ok(())
    }

    /// How many messages have arrived.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Their user bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The sum of their digests.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Whether every message has arrived; or the last one of each stream, where others may be missing.
    pub fn is_complete(&self) -> bool {
        if !self.partial {
            return self.messages == self.payload.messages;
        }
        let last = self.seen.len().saturating_sub(usize::from(self.payload.streams));
        self.seen[last..].iter().all(|seen| *seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: Payload = Payload { messages: 6, size: 21, streams: 2, ..Payload::PLAIN };

    fn accept(received: &mut Received, index: u64) -> Result<(), PayloadError> {
        let message = PAYLOAD.message(index);
        let unordered = received.payload.unordered;
        received.accept(PAYLOAD.stream(index), PAYLOAD.ppid(index), unordered, &message)
    }

    #[test]
    fn a_message_is_its_index_and_what_follows_from_it() {
        let message = PAYLOAD.message(1);
        assert_eq!(message.len(), 21);
        assert_eq!(message[..8], 1u64.to_be_bytes());
        assert_eq!(message[8..16], mix((1 << 32) + 1).to_be_bytes());
        assert_eq!(message[16..], mix((1 << 32) + 2).to_be_bytes()[..5]);
        assert_eq!(Payload { size: 8, ..PAYLOAD }.message(5), 5u64.to_be_bytes());
    }

    #[test]
    fn the_first_one_may_be_larger() {
        let payload = Payload { first: Some(1000), ..PAYLOAD };
        let sizes: Vec<_> = (0..6).map(|index| payload.message(index).len()).collect();
        assert_eq!(sizes, [1000, 21, 21, 21, 21, 21]);
        assert_eq!((payload.bytes(), payload.bytes_of(0)), (1105, 0));
        let mut received = Received::new(payload);
        let small = PAYLOAD.message(0);
        assert_eq!(received.accept(0, payload.ppid(0), false, &small), Err(PayloadError::Size(21)));
        received.accept(0, payload.ppid(0), false, &payload.message(0)).unwrap();
    }

    #[test]
    fn those_of_every_second_stream_may_be_twice_as_long() {
        let payload = Payload { uneven: true, ..PAYLOAD };
        let sizes: Vec<_> = (0..6).map(|index| payload.message(index).len()).collect();
        assert_eq!(sizes, [21, 42, 21, 42, 21, 42]);
        assert_eq!(payload.bytes(), 189);
        assert_eq!((0..6).map(|n| payload.by_stream(n)).collect::<Vec<_>>(), [0, 2, 4, 1, 3, 5]);
    }

    #[test]
    fn the_sum_ignores_the_order_of_streams() {
        let mut received = Received::new(PAYLOAD);
        for index in [1, 0, 2, 4, 3, 5] {
            accept(&mut received, index).unwrap();
        }
        assert!(received.is_complete());
        assert_eq!(received.sum(), PAYLOAD.sum(6));
    }

    #[test]
    fn every_deviation_is_found() {
        let mut received = Received::new(PAYLOAD);
        accept(&mut received, 0).unwrap();
        let order = |found, expected| PayloadError::Order { stream: 0, found, expected };
        assert_eq!(accept(&mut received, 0), Err(order(0, 2)));
        assert_eq!(accept(&mut received, 4), Err(order(4, 2)));
        assert_eq!(accept(&mut received, 6), Err(PayloadError::Index(6)));

        let mut message = PAYLOAD.message(2);
        let ppid = PAYLOAD.ppid(2);
        assert_eq!(received.accept(1, ppid, false, &message), Err(PayloadError::Envelope(2)));
        assert_eq!(received.accept(0, ppid + 1, false, &message), Err(PayloadError::Envelope(2)));
        assert_eq!(received.accept(0, ppid, true, &message), Err(PayloadError::Envelope(2)));
        assert_eq!(received.accept(0, ppid, false, &message[1..]), Err(PayloadError::Size(20)));
        message[20] ^= 1;
        assert_eq!(received.accept(0, ppid, false, &message), Err(PayloadError::Corrupt(2)));
    }

    #[test]
    fn what_may_be_missing_is_in_order_all_the_same() {
        let mut received = Received::partial(PAYLOAD);
        accept(&mut received, 2).unwrap();
        accept(&mut received, 1).unwrap();
        let late = PayloadError::Order { stream: 0, found: 0, expected: 4 };
        assert_eq!(accept(&mut received, 0), Err(late));
        accept(&mut received, 4).unwrap();
        assert!(!received.is_complete(), "the last one of stream 1 is not there");
        accept(&mut received, 5).unwrap();
        assert!(received.is_complete());
        assert_eq!((received.missing(), received.messages()), (vec![0, 3], 4));
    }

    #[test]
    fn what_is_unordered_and_may_be_missing_comes_once_in_any_order() {
        let mut received = Received::partial(Payload { unordered: true, ..PAYLOAD });
        for index in [5, 2, 4] {
            assert!(!received.is_complete());
            accept(&mut received, index).unwrap();
        }
        assert!(received.is_complete());
        accept(&mut received, 1).unwrap();
        assert_eq!(accept(&mut received, 2), Err(PayloadError::Duplicate(2)));
        assert_eq!((received.missing(), received.messages()), (vec![0, 3], 4));
    }

    #[test]
    fn unordered_messages_come_once_in_any_order() {
        let mut received = Received::new(Payload { unordered: true, ..PAYLOAD });
        accept(&mut received, 5).unwrap();
        accept(&mut received, 1).unwrap();
        assert_eq!(accept(&mut received, 5), Err(PayloadError::Duplicate(5)));
        assert_eq!(received.messages(), 2);
    }
}
