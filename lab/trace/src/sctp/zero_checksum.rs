//! Checksums of zero (RFC 9653): whether a packet may have one.

use std::collections::HashMap;

use tresse_wire::{ChunkType, ErrorDetectionMethod, Packet, Parameter, Parameters};

use crate::key::Key;

/// Whose INIT or INIT ACK was seen, and whether it says that packets need no checksum.
#[derive(Debug, Default)]
pub(super) struct ZeroChecksums(HashMap<Key, bool>);

impl ZeroChecksums {
    /// Who has sent these parameters receives packets with that key.
    pub(super) fn offer(&mut self, to_it: Key, parameters: Parameters<'_>) {
        let offered = Parameter::ZeroChecksumAcceptable(ErrorDetectionMethod::DTLS);
        let takes =
            parameters.iter().map_while(Result::ok).any(|raw| Parameter::parse(raw) == Ok(offered));
        self.0.insert(to_it, takes);
    }

    pub(super) fn forget(&mut self, key: Key) {
        self.0.remove(&key);
    }

    /// Of a packet with a checksum of zero that is not its CRC32c: `Some(false)` if that is wrong. Otherwise it tells nothing:
    /// such a packet may be damaged, too, and DTLS would have found it.
    pub(super) fn judge(&self, packet: &Packet<'_>) -> Option<bool> {
        // RFC 9653 §5.2: packets with these have a checksum.
        const CHECKED: [ChunkType; 3] =
            [ChunkType::INIT, ChunkType::COOKIE_ECHO, ChunkType::ASCONF];
        if packet.chunks().map_while(Result::ok).any(|raw| CHECKED.contains(&raw.chunk_type)) {
            return Some(false);
        }
        match self.0.get(&Key::of(&packet.header())) {
            Some(false) => Some(false),
            // It was agreed on, or nobody knows.
            Some(true) | None => None,
        }
    }
}
