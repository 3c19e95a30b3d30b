//! Whose packets are whose.

use tresse_wire::{CommonHeader, VerificationTag};

/// What the tag of the receiver and the ports identify: the packets that one side sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) tag: VerificationTag,
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
}

impl Key {
    /// That of a packet.
    pub(crate) fn of(header: &CommonHeader) -> Key {
        Key {
            tag: header.verification_tag,
            source_port: header.source_port,
            destination_port: header.destination_port,
        }
    }

    /// With the ports exchanged, and the same tag.
    pub(crate) fn reversed(self) -> Key {
        Key { source_port: self.destination_port, destination_port: self.source_port, ..self }
    }
}
