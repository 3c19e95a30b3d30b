//! The messages that carry the load: each can be verified to the last byte.
//!
//! ```text
//!  index (8 bytes)                 counted from 0
//!  time of the send call (8)       nanoseconds of the sender's monotonic clock
//!  flags (4)                       bit 0: echo the header; bit 1: more of its frame follows; the
//!                                  upper 16 bits: place of its flow in the request
//!  CRC32c (4)                      over everything else in the message
//!  filler                          pseudo-random, different from message to message
//! ```

use bytes::{Bytes, BytesMut};

/// Bytes before the filler: the smallest message.
pub(crate) const HEADER_LEN: usize = 24;
/// The most streams a test may use.
pub(crate) const MAX_STREAMS: u16 = 1000;
/// The largest message, bytes.
pub(crate) const MAX_SIZE: u64 = 16 << 20;

const CRC: std::ops::Range<usize> = 20..24;

/// Flag: the receiver sends the header back.
const ECHO: u32 = 1;
/// Flag: another message of the same frame follows.
const MORE: u32 = 2;

/// Filler starts at one of this many places in the random bytes, in steps of 8.
const SHIFTS: usize = 256;

/// Small messages are cut from blocks of this size, to allocate once for many.
const BLOCK: usize = 64 * 1024;

/// Makes messages of up to one size.
pub(crate) struct Builder {
    size: usize,
    random: Vec<u8>,
    block: BytesMut,
}

impl Builder {
    /// `size` is at least [`HEADER_LEN`].
    pub(crate) fn new(size: usize) -> Builder {
        // An xorshift generator: the filler need not be secret, only varied.
        let mut word = 0x9e37_79b9_7f4a_7c15_u64;
        let random = std::iter::repeat_with(|| {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            word.to_le_bytes()
        });
        let random = random.take(size / 8 + 1 + SHIFTS).flatten().collect();
        Builder { size, random, block: BytesMut::new() }
    }

    /// A message of the full size that belongs to no flow.
    pub(crate) fn build(&mut self, index: u64, sent_at: u64, echo: bool) -> Bytes {
        self.message(&Header { index, sent_at, echo, more: false, flow: 0 }, self.size)
    }

    /// A message of `size` bytes, which is at most the size given to `new`.
    pub(crate) fn message(&mut self, fields: &Header, size: usize) -> Bytes {
        let size = size.clamp(HEADER_LEN, self.size);
        if self.block.capacity() < size {
            self.block = BytesMut::with_capacity(size.max(BLOCK));
        }
        let Header { index, sent_at, echo, more, flow } = *fields;
        let bits = if echo { ECHO } else { 0 } | if more { MORE } else { 0 };
        let flags = u32::from(flow) << 16 | bits;
        let mut header = [0; CRC.start];
        header[..8].copy_from_slice(&index.to_be_bytes());
        header[8..16].copy_from_slice(&sent_at.to_be_bytes());
        header[16..20].copy_from_slice(&flags.to_be_bytes());
        let shift = (index as usize % SHIFTS) * 8;
        let filler = &self.random[shift..shift + size - HEADER_LEN];
        let crc = crc32c::crc32c_append(crc32c::crc32c(&header), filler);
        self.block.extend_from_slice(&header);
        self.block.extend_from_slice(&crc.to_be_bytes());
        self.block.extend_from_slice(filler);
        self.block.split().freeze()
    }
}

/// What a message says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) index: u64,
    pub(crate) sent_at: u64,
    pub(crate) echo: bool,
    /// The next message of the flow belongs to the same frame.
    pub(crate) more: bool,
    /// Place of the flow in the request.
    pub(crate) flow: u16,
}

/// Checks a message; `None` if a single bit is wrong.
pub(crate) fn verify(message: &[u8]) -> Option<Header> {
    let (start, filler) = message.split_at_checked(HEADER_LEN)?;
    let crc = u32::from_be_bytes(start[CRC].try_into().ok()?);
    if crc32c::crc32c_append(crc32c::crc32c(&start[..CRC.start]), filler) != crc {
        return None;
    }
    let number = |at: usize| start[at..at + 8].try_into().map(u64::from_be_bytes).ok();
    let flags = u32::from_be_bytes(start[16..20].try_into().ok()?);
    Some(Header {
        index: number(0)?,
        sent_at: number(8)?,
        echo: flags & ECHO != 0,
        more: flags & MORE != 0,
        flow: (flags >> 16) as u16,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_noticed() {
        for size in [HEADER_LEN, 25, 50, 1_200] {
            let mut builder = Builder::new(size);
            for index in [0, 1, 77, u64::MAX] {
                let message = builder.build(index, 1 << 40, index == 1);
                assert_eq!(message.len(), size);
                let echo = index == 1;
                let header = Header { index, sent_at: 1 << 40, echo, more: false, flow: 0 };
                assert_eq!(verify(&message), Some(header));
                for bit in 0..size * 8 {
                    let mut wrong = message.to_vec();
                    wrong[bit / 8] ^= 1 << (bit % 8);
                    assert_eq!(verify(&wrong), None);
                }
                assert_eq!(verify(&message[..size - 1]), None);
            }
        }
        assert_eq!(verify(&[]), None);
    }

    #[test]
    fn messages_of_flows_have_their_own_sizes() {
        let mut builder = Builder::new(1_000);
        let header = Header { index: 7, sent_at: 3, echo: true, more: true, flow: u16::MAX };
        for (size, length) in [(0, HEADER_LEN), (500, 500), (9_999, 1_000)] {
            let message = builder.message(&header, size);
            assert_eq!((message.len(), verify(&message)), (length, Some(header)));
        }
    }

    #[test]
    fn neighbours_differ_in_their_filler() {
        let mut builder = Builder::new(100_000);
        assert_ne!(builder.build(1, 0, false)[24..], builder.build(2, 0, false)[24..]);
    }
}
