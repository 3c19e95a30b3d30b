//! How many bytes chunks take, as DATA or as I-DATA (RFC 9260 §3.3.1, RFC 8260 §2.1).

use tresse_wire::{DATA_HEADER_LEN, I_DATA_HEADER_LEN, padded};

use super::{Outstanding, Scoreboard};

impl Outstanding {
    //= RFC 9260 7.2-4
    /// Bytes it takes in a packet: header, data and padding (RFC 9260 §7.2.1).
    pub fn size(&self) -> usize {
        usize::from(self.header) + padded(self.chunk.payload.len())
    }
}

impl Scoreboard {
    /// Whether what is in flight counts with chunk headers and padding, as at first, or user data alone. For
    /// a board on which nothing is outstanding.
    pub fn set_counts_headers(&mut self, counts_headers: bool) {
        self.counts_headers = counts_headers;
    }

    /// Whether chunks are I-DATA (RFC 8260), with 4 bytes more each, and not DATA, as at first. For a board on which nothing
    /// is outstanding.
    pub fn set_interleaved(&mut self, interleaved: bool) {
        self.interleaved = interleaved;
    }

    /// Whether chunks are I-DATA.
    #[inline]
    pub fn is_interleaved(&self) -> bool {
        self.interleaved
    }

    /// Bytes of a chunk in front of its user data.
    #[inline]
    pub fn header_len(&self) -> usize {
        if self.interleaved { I_DATA_HEADER_LEN } else { DATA_HEADER_LEN }
    }

    //= RFC 9260 7.2-4
    /// Bytes that a chunk with so much user data takes in a packet, padding included.
    #[inline]
    pub fn chunk_len(&self, payload: usize) -> usize {
        self.header_len() + padded(payload)
    }
}
