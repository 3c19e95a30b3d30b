//! The SCTP packet: common header and the chunks behind it (RFC 9260 §3, §3.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |      Source Port Number       |    Destination Port Number    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                       Verification Tag                        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                           Checksum                            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::chunk::{CHUNK_HEADER_LEN, ChunkType, RawChunk};
use crate::{ChunkError, PacketError, VerificationTag, padded};

/// Length of the common header in bytes (RFC 9260 §3.1).
pub const COMMON_HEADER_LEN: usize = 12;

//= RFC 9260 3.3.3-18
/// The largest SCTP packet that an IP packet without jumbo payload can carry, in bytes: the Payload
/// Length of IPv6 is a 16-bit number. IPv4 and UDP encapsulation carry a little less.
pub const MAX_PACKET_LEN: usize = 65_535;

/// Where the checksum stands in the common header.
const CHECKSUM_OFFSET: usize = 8;

/// The fields of the common header except the checksum (RFC 9260 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommonHeader {
    /// Port number of the sender.
    pub source_port: u16,
    /// Port number the packet is destined to.
    pub destination_port: u16,
    /// Validates the sender (RFC 9260 §8.5): the Initiate Tag the receiver chose, 0 with an INIT.
    pub verification_tag: VerificationTag,
}

impl CommonHeader {
    //= RFC 9260 3-2
    /// The header on the wire with a checksum of zero.
    pub(crate) fn to_bytes(self) -> [u8; COMMON_HEADER_LEN] {
        let [s0, s1] = self.source_port.to_be_bytes();
        let [d0, d1] = self.destination_port.to_be_bytes();
        let [v0, v1, v2, v3] = self.verification_tag.0.to_be_bytes();
        [s0, s1, d0, d1, v0, v1, v2, v3, 0, 0, 0, 0]
    }
}

/// The CRC32c of a packet (RFC 9260 §6.8, Appendix A), computed as if its checksum field were zero.
///
/// The result is the number that stands in the packet in *little*-endian byte order. `None` when
/// the bytes are shorter than a common header.
#[must_use]
pub fn checksum(packet: &[u8]) -> Option<u32> {
    // With the first four bytes behind the header, the rest lies as words do.
    if let Some((head, rest)) = packet.split_first_chunk::<{ COMMON_HEADER_LEN + 4 }>() {
        return Some(with_zero_checksum(*head, rest));
    }
    let (header, rest) = packet.split_first_chunk::<COMMON_HEADER_LEN>()?;
    Some(with_zero_checksum(*header, rest))
}

#[inline]
fn with_zero_checksum<const N: usize>(mut head: [u8; N], rest: &[u8]) -> u32 {
    head[CHECKSUM_OFFSET..COMMON_HEADER_LEN].fill(0);
    crc32c::crc32c_append(crc32c::crc32c(&head), rest)
}

//= RFC 9260 6.8-1 6.8-2
/// Writes the checksum into a complete packet, as [`PacketWriter::finish`](crate::PacketWriter::finish) does; nothing happens
/// to bytes shorter than a header.
pub fn write_checksum(packet: &mut [u8]) {
    if let Some(field) = packet.get_mut(CHECKSUM_OFFSET..COMMON_HEADER_LEN) {
        field.fill(0);
        let crc = crc32c::crc32c(packet);
        packet[CHECKSUM_OFFSET..COMMON_HEADER_LEN].copy_from_slice(&crc.to_le_bytes());
    }
}

/// A received packet whose common header has been checked.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: CommonHeader,
    checksum: u32,
    body: &'a [u8],
}

impl<'a> Packet<'a> {
    //= RFC 9260 3.1-1 3.1-2 6.8-3 6.8-4
    /// Checks length, CRC32c and port numbers of a received packet, in this order.
    ///
    /// # Errors
    /// [`PacketError::TooShort`], [`PacketError::Checksum`], [`PacketError::ZeroPort`]; such a
    /// packet is discarded without an answer (RFC 9260 §6.8).
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PacketError> {
        let packet = Self::parse_unverified(bytes)?;
        let computed = checksum(bytes).ok_or(PacketError::TooShort { length: bytes.len() })?;
        // RFC 9260 §6.8: an invalid checksum is "an invalid SCTP packet", silently discarded.
        if packet.checksum != computed {
            return Err(PacketError::Checksum { received: packet.checksum, computed });
        }
        packet.with_ports()
    }

    //= RFC 9653 5.3-1
    /// Checks length and port numbers of a packet whose errors are found otherwise, as by DTLS (RFC 9653 §3). Its checksum must
    /// be zero, and is not computed.
    ///
    /// # Errors
    /// [`PacketError::TooShort`], [`PacketError::ZeroPort`], and what [`parse`](Self::parse) says where the checksum is not
    /// zero.
    pub fn parse_zero_checksum(bytes: &'a [u8]) -> Result<Self, PacketError> {
        let packet = Self::parse_unverified(bytes)?;
        if packet.checksum == 0 { packet.with_ports() } else { Self::parse(bytes) }
    }

    fn with_ports(self) -> Result<Self, PacketError> {
        let packet = self;
        // RFC 9260 §3.1: "The Source Port Number 0 MUST NOT be used", nor the destination's.
        if packet.header.source_port == 0 || packet.header.destination_port == 0 {
            return Err(PacketError::ZeroPort);
        }
        Ok(packet)
    }

    /// Checks only that a common header is there: neither checksum nor ports. Meant for analysers
    /// of captured traffic, where checksum offload leaves wrong values and snapshots cut packets.
    ///
    /// # Errors
    /// [`PacketError::TooShort`].
    pub fn parse_unverified(bytes: &'a [u8]) -> Result<Self, PacketError> {
        let Some((head, body)) = bytes.split_first_chunk::<COMMON_HEADER_LEN>() else {
            return Err(PacketError::TooShort { length: bytes.len() });
        };
        let [s0, s1, d0, d1, v0, v1, v2, v3, c0, c1, c2, c3] = *head;
        let header = CommonHeader {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            verification_tag: VerificationTag(u32::from_be_bytes([v0, v1, v2, v3])),
        };
        Ok(Self { header, checksum: u32::from_le_bytes([c0, c1, c2, c3]), body })
    }

    /// The fields of the common header.
    #[must_use]
    pub const fn header(&self) -> CommonHeader {
        self.header
    }

    /// The checksum the packet carries, comparable with [`checksum`].
    #[must_use]
    pub const fn received_checksum(&self) -> u32 {
        self.checksum
    }

    /// Walks the chunks in the order of the packet.
    #[must_use]
    pub const fn chunks(&self) -> Chunks<'a> {
        Chunks::new(self.body)
    }
}

/// Iterator over the chunks of a packet, made by [`Packet::chunks`].
///
/// Yields an error where the framing breaks and then ends: what follows cannot be told apart.
#[derive(Clone, Copy, Debug)]
pub struct Chunks<'a> {
    rest: &'a [u8],
}

impl<'a> Chunks<'a> {
    /// Walks bytes that begin behind the common header.
    pub(crate) const fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// The bytes that were not walked yet, padding included.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn step(&mut self) -> Result<RawChunk<'a>, ChunkError> {
        let available = self.rest.len();
        let Some(&[chunk_type, flags, l0, l1]) = self.rest.first_chunk() else {
            return Err(ChunkError::PartialHeader { available });
        };
        let chunk_type = ChunkType(chunk_type);
        let length = u16::from_be_bytes([l0, l1]);
        let Some((bytes, rest)) = self.rest.split_at_checked(usize::from(length)) else {
            return Err(ChunkError::LengthBeyondEnd { chunk_type, length, available });
        };
        let Some(value) = bytes.get(CHUNK_HEADER_LEN..) else {
            return Err(ChunkError::LengthTooSmall { chunk_type, length });
        };
        //= RFC 9260 3.2-4
        // RFC 9260 §3.2: the receiver ignores padding; a last chunk without it is accepted as well.
        let padding = padded(bytes.len()) - bytes.len();
        self.rest = rest.get(padding..).unwrap_or_default();
        Ok(RawChunk { chunk_type, flags, value, bytes })
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<RawChunk<'a>, ChunkError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let item = self.step();
        if item.is_err() {
            self.rest = &[];
        }
        Some(item)
    }
}

impl std::iter::FusedIterator for Chunks<'_> {}

#[cfg(test)]
mod tests;
