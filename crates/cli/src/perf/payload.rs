//! The messages that carry the load: each can be verified to the last byte.
//!
//! ```text
//!  index (8 bytes)                 counted from 0
//!  time of the send call (8)       nanoseconds of the sender's monotonic clock
//!  flags (4)                       bit 0: echo the header
//!  CRC32c (4)                      over everything else in the message
//!  filler                          pseudo-random, different from message to message
//! ```

use bytes::{Bytes, BytesMut};

/// Bytes before the filler: the smallest message.
pub(crate) const HEADER_LEN: usize = 24;

const CRC: std::ops::Range<usize> = 20..24;

/// Flag: the receiver sends the header back.
const ECHO: u32 = 1;

/// Filler starts at one of this many places in the random bytes, in steps of 8.
const SHIFTS: usize = 256;

/// Small messages are cut from blocks of this size, to allocate once for many.
const BLOCK: usize = 64 * 1024;

/// Makes messages of one size.
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

    pub(crate) fn build(&mut self, index: u64, sent_at: u64, echo: bool) -> Bytes {
        if self.block.capacity() < self.size {
            self.block = BytesMut::with_capacity(self.size.max(BLOCK));
        }
        let mut header = [0; CRC.start];
        header[..8].copy_from_slice(&index.to_be_bytes());
        header[8..16].copy_from_slice(&sent_at.to_be_bytes());
        header[16..20].copy_from_slice(&(if echo { ECHO } else { 0 }).to_be_bytes());
        let shift = (index as usize % SHIFTS) * 8;
        let filler = &self.random[shift..shift + self.size - HEADER_LEN];
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
}

/// Checks a message; `None` if a single bit is wrong.
pub(crate) fn verify(message: &[u8]) -> Option<Header> {
    let (start, filler) = message.split_at_checked(HEADER_LEN)?;
    let crc = u32::from_be_bytes(start[CRC].try_into().ok()?);
    if crc32c::crc32c_append(crc32c::crc32c(&start[..CRC.start]), filler) != crc {
        return None;
    }
    let number = |at: usize| start[at..at + 8].try_into().map(u64::from_be_bytes).ok();
    Some(Header { index: number(0)?, sent_at: number(8)?, echo: start[19] & ECHO as u8 != 0 })
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
                let header = Header { index, sent_at: 1 << 40, echo: index == 1 };
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
    fn neighbours_differ_in_their_filler() {
        let mut builder = Builder::new(100_000);
        assert_ne!(builder.build(1, 0, false)[24..], builder.build(2, 0, false)[24..]);
    }
}
