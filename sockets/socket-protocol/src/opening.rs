//! What a message says of the association that it opens, if there is none yet.

use std::net::SocketAddr;

use crate::protocol::{decode_addresses, encode_addresses};

/// Bytes of `struct sctp_initmsg`.
const INIT: usize = 8;

/// What stands beside the head of a message in a question about it; nothing if all is as the socket has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// SCTP_INIT (RFC 6458 §5.3.1): `struct sctp_initmsg`, in which 0 is the socket's value.
    pub init: [u8; INIT],
    /// Addresses of the peer besides that of the head.
    pub more: Vec<SocketAddr>,
}

impl Opening {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.init == [0; INIT] && self.more.is_empty()
    }

    /// As it is sent.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        if self.is_empty() {
            return Vec::new();
        }
        [&self.init[..], &encode_addresses(&self.more)].concat()
    }

    /// Reads it.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Opening> {
        if bytes.is_empty() {
            return Some(Opening::default());
        }
        let (init, more) = bytes.split_first_chunk()?;
        Some(Opening { init: *init, more: decode_addresses(more)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let more = vec!["192.0.2.1:9".parse().unwrap()];
        for (init, more, len) in [
            ([0; 8], Vec::new(), 0),
            ([1; 8], Vec::new(), 8),
            ([0; 8], more.clone(), 32),
            ([2; 8], more, 32),
        ] {
            let opening = Opening { init, more };
            let bytes = opening.encode();
            assert_eq!((bytes.len(), Opening::decode(&bytes)), (len, Some(opening)));
        }
        for len in 1..8 {
            assert_eq!(Opening::decode(&[0; 9][..len]), None);
        }
    }
}
