//! Authentication (AUTH, 15), RFC 4895 §5.1.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Type = 0x0F   |   Flags=0     |             Length            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Shared Key Identifier      |        HMAC Identifier        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \                             HMAC                              /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::{CHUNK_HEADER_LEN, ChunkError, ChunkType, HmacIdentifier, RawChunk, padded};

/// Bytes of an AUTH chunk in front of its HMAC.
pub const AUTH_HEADER_LEN: usize = 8;

/// An AUTH chunk: it authenticates all chunks behind it in its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Auth<'a> {
    /// Shared Key Identifier.
    pub key: u16,
    /// HMAC Identifier.
    pub algorithm: HmacIdentifier,
    /// The HMAC; of the right length if the algorithm is known here.
    pub hmac: &'a [u8],
}

impl<'a> Auth<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let Some((&[k0, k1, h0, h1], hmac)) = raw.value.split_first_chunk() else {
            return Err(raw.invalid_length());
        };
        let algorithm = HmacIdentifier(u16::from_be_bytes([h0, h1]));
        if algorithm.hmac_len().is_some_and(|len| len != hmac.len()) {
            return Err(raw.invalid_length());
        }
        Ok(Self { key: u16::from_be_bytes([k0, k1]), algorithm, hmac })
    }

    //= RFC 4895 5.1-2
    /// The chunk up to its HMAC as an HMAC covers it (RFC 4895 §6.2, figure 6): with flags 0, whatever came.
    #[must_use]
    pub fn header(&self) -> [u8; AUTH_HEADER_LEN] {
        let length = u16::try_from(AUTH_HEADER_LEN + self.hmac.len()).unwrap_or(u16::MAX);
        let ([l0, l1], [k0, k1]) = (length.to_be_bytes(), self.key.to_be_bytes());
        let [h0, h1] = self.algorithm.0.to_be_bytes();
        [ChunkType::AUTH.0, 0, l0, l1, k0, k1, h0, h1]
    }

    //= RFC 4895 5.1-1 5.1-2 5.1-3 5.1-4
    /// Appends the chunk.
    pub(crate) fn emit(&self, buffer: &mut Vec<u8>) {
        let fixed = &self.header()[CHUNK_HEADER_LEN..];
        super::emit(buffer, ChunkType::AUTH, 0, fixed, self.hmac);
    }
}

/// Bytes that an AUTH chunk with this algorithm takes, 0 if it is not known here.
#[must_use]
pub const fn auth_chunk_len(algorithm: HmacIdentifier) -> usize {
    match algorithm.hmac_len() {
        Some(len) => padded(AUTH_HEADER_LEN + len),
        None => 0,
    }
}

//= RFC 4895 6.2-3 6.2-6 6.2-7
/// Puts an AUTH chunk into a finished packet, in front of the chunks that begin at byte `at`. The checksum is left as it
/// was: [`write_checksum`](crate::write_checksum) is for the caller. `hmac` gets the chunk with its HMAC set to zero and all that follows it (RFC 4895 §6.2, figure 6), and returns the
/// HMAC.
///
/// Nothing happens if the algorithm is not known here, or if `at` is beyond the packet.
///
/// ```
/// use tresse_wire::{
///     Chunk, CommonHeader, HmacIdentifier, Packet, PacketWriter, VerificationTag, authenticate, write_checksum,
/// };
///
/// let header =
///     CommonHeader { source_port: 1, destination_port: 2, verification_tag: VerificationTag(3) };
/// let mut packet = Vec::new();
/// let mut writer = PacketWriter::new(&mut packet, header);
/// writer.cookie_ack();
/// writer.shutdown_ack();
/// writer.finish_without_checksum();
/// authenticate(&mut packet, 16, 7, HmacIdentifier::SHA_1, |bytes| {
///     assert_eq!(bytes.len(), 8 + 20 + 4);
///     [0xab; 20]
/// });
/// write_checksum(&mut packet);
/// let parsed = Packet::parse(&packet)?;
/// let chunks: Result<Vec<_>, _> = parsed.chunks().map(|raw| Chunk::parse(raw?)).collect();
/// let Chunk::Auth(auth) = chunks?[1] else { panic!("AUTH stands behind COOKIE ACK") };
/// assert_eq!((auth.key, auth.hmac), (7, &[0xab; 20][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn authenticate<H: AsRef<[u8]>>(
    packet: &mut Vec<u8>,
    at: usize,
    key: u16,
    algorithm: HmacIdentifier,
    hmac: impl FnOnce(&[u8]) -> H,
) {
    let (old, len) = (packet.len(), auth_chunk_len(algorithm));
    if len == 0 || at > old {
        return;
    }
    packet.resize(old + len, 0);
    packet.copy_within(at..old, at + len);
    let zeros = [0; 32];
    let chunk = Auth { key, algorithm, hmac: &zeros[..algorithm.hmac_len().unwrap_or(0)] };
    let (before, signed) = packet.split_at_mut(at);
    let (header, rest) = signed.split_at_mut(AUTH_HEADER_LEN);
    header.copy_from_slice(&chunk.header());
    rest[..len - AUTH_HEADER_LEN].fill(0);
    let result = hmac(signed);
    debug_assert_eq!(result.as_ref().len(), chunk.hmac.len());
    for (to, from) in signed[AUTH_HEADER_LEN..].iter_mut().zip(result.as_ref()) {
        *to = *from;
    }
    debug_assert_eq!(before.len(), at);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::test_support::{emitted, parse};
    use crate::{Chunk, UnknownAction};

    fn bytes(algorithm: u8, hmac: usize) -> Vec<u8> {
        let mut bytes = vec![15, 0, 0, 8 + hmac as u8, 0, 5, 0, algorithm];
        bytes.resize(8 + hmac, 9);
        bytes
    }

    //= RFC 4895 5.1-1 5.1-2
    #[test]
    fn reads_and_writes_its_bytes() {
        for (number, len) in [(1, 20), (3, 32), (2, 4), (7, 0)] {
            let bytes = bytes(number, len);
            let Ok(Chunk::Auth(auth)) = parse(&bytes) else { panic!("an AUTH chunk") };
            let algorithm = HmacIdentifier(number.into());
            assert_eq!(auth, Auth { key: 5, algorithm, hmac: &vec![9; len] });
            assert_eq!(emitted(|w| w.auth(&auth)), bytes);
        }
        // "SHOULD be set to zero on transmit and MUST be ignored on receipt."
        let mut flags = bytes(1, 20);
        flags[1] = 0xff;
        assert_eq!(parse(&flags), parse(&bytes(1, 20)));
    }

    //= RFC 4895 5.1-3 5.1-4
    #[test]
    fn the_padding_is_zero_short_and_ignored() {
        let auth = Auth { key: 5, algorithm: HmacIdentifier(9), hmac: &[1; 5] };
        let written = emitted(|w| w.auth(&auth));
        assert_eq!(written, [15, 0, 0, 13, 0, 5, 0, 9, 1, 1, 1, 1, 1, 0, 0, 0]);
        let mut other = written.clone();
        other[13..].fill(7);
        assert_eq!(parse(&other), parse(&written));
    }

    #[test]
    fn what_is_too_short_or_does_not_suit_the_algorithm_is_an_error() {
        for bytes in [bytes(1, 19), bytes(1, 21), bytes(3, 20), bytes(1, 0), vec![15, 0, 0, 4]] {
            assert!(matches!(parse(&bytes), Err(ChunkError::InvalidLength { .. })), "{bytes:?}");
        }
        assert!(matches!(parse(&[15, 0, 0, 7, 0, 5, 0]), Err(ChunkError::InvalidLength { .. })));
    }

    /// RFC 4895 §5: "ignore the chunk if it is not understood and silently discard all chunks that follow".
    #[test]
    fn who_does_not_know_it_stops_there() {
        assert_eq!(ChunkType::AUTH.unknown_action(), UnknownAction::Stop);
    }

    //= RFC 4895 6.2-3 6.2-6 6.2-7
    #[test]
    fn it_covers_itself_and_what_follows() {
        let mut packet = vec![0; 12];
        packet.extend([11, 0, 0, 4, 10, 0, 0, 5, 7, 0, 0, 0]);
        let before = packet.clone();
        let mut seen = Vec::new();
        authenticate(&mut packet, 16, 2, HmacIdentifier::SHA_256, |bytes| {
            seen = bytes.to_vec();
            [3; 32]
        });
        let mut expected = vec![15, 0, 0, 40, 0, 2, 0, 3];
        expected.resize(40, 0);
        expected.extend(&before[16..]); // The padding, too.
        assert_eq!(seen, expected);
        expected[8..40].fill(3);
        assert_eq!((&packet[12..16], &packet[16..]), (&before[12..16], &expected[..]));
        assert_eq!(packet.len(), before.len() + auth_chunk_len(HmacIdentifier::SHA_256));

        let whole = packet.clone();
        authenticate(&mut packet, 1000, 2, HmacIdentifier::SHA_256, |_| [0; 32]);
        authenticate(&mut packet, 12, 2, HmacIdentifier(2), |_| [0; 32]);
        assert_eq!(packet, whole);
    }
}
