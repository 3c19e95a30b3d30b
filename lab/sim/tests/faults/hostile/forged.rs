//! What costs the other end most in AUTH chunks (RFC 4895): hashes, answers, events.

use tresse_core::wire::{Auth, ChunkType, HmacIdentifier, PacketWriter, ParameterWriter};
use tresse_sim::Draw;

/// Bytes of an HMAC that is known to nobody.
const UNKNOWN: usize = 16;

/// Everything that the other end sends is to be authenticated.
pub(super) fn offer(draw: &mut Draw) -> Vec<u8> {
    let random: Vec<u8> = (0..32).map(|_| draw.next() as u8).collect();
    let chunks = [
        ChunkType::DATA,
        ChunkType::SACK,
        ChunkType::HEARTBEAT,
        ChunkType::HEARTBEAT_ACK,
        ChunkType::ERROR,
        ChunkType::COOKIE_ACK,
        ChunkType::ABORT,
    ];
    ParameterWriter::new()
        .supported_extensions(&[ChunkType::AUTH.0])
        .random(&random)
        .chunk_list(&chunks.map(|kind| kind.0))
        .hmac_algo(&[HmacIdentifier::SHA_256, HmacIdentifier::SHA_1])
        .finish()
}

/// An AUTH chunk with a key that is not there, an HMAC that is wrong, or that nobody has asked for; or none at all.
pub(super) fn auth(draw: &mut Draw, w: &mut PacketWriter<'_>) {
    let hmac: Vec<u8> = (0..32).map(|_| draw.next() as u8).collect();
    let key = draw.next() as u16;
    match draw.between(0, 9) {
        0..=3 => w.auth(&Auth { key, algorithm: HmacIdentifier::SHA_256, hmac: &hmac }),
        4..=6 => w.auth(&Auth { key: 0, algorithm: HmacIdentifier::SHA_1, hmac: &hmac[..20] }),
        7 | 8 => {
            let algorithm = HmacIdentifier(draw.between(4, 99) as u16);
            w.auth(&Auth { key, algorithm, hmac: &hmac[..UNKNOWN] });
        }
        _ => w.raw(&[ChunkType::AUTH.0, 0, 0, 10, 0, 0, 0, 1, 7, 7]),
    }
}
