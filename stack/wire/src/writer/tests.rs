//! Tests of packet building.

use super::*;
use crate::{Chunk, ChunkError, MAX_CHUNK_LEN, Packet, VerificationTag, data_chunk_len};

const HEADER: CommonHeader = CommonHeader {
    source_port: 5000,
    destination_port: 9899,
    verification_tag: VerificationTag(0x2b5f_09a3),
};

#[test]
fn a_bundle_keeps_its_order() {
    let mut buffer = vec![0xff; 50];
    let mut writer = PacketWriter::new(&mut buffer, HEADER);
    assert!(writer.is_empty());
    assert_eq!(writer.len(), COMMON_HEADER_LEN);
    writer.cookie_echo(b"abc");
    writer.sack(Tsn(1), 2, [].into_iter(), [].into_iter());
    let before = writer.len();
    writer.data(Tsn(5), StreamId(0), Ssn(1), Ppid(2), DataFlags::UNFRAGMENTED, b"payload");
    assert_eq!(writer.len() - before, data_chunk_len(7));
    assert!(!writer.is_empty());
    let length = writer.finish();
    assert_eq!(length, buffer.len());
    assert_eq!(length, 12 + 8 + 16 + 24);

    let packet = Packet::parse(&buffer).unwrap();
    assert_eq!(packet.header(), HEADER);
    let types: Vec<_> =
        packet.chunks().map(|raw| Chunk::parse(raw.unwrap()).unwrap().chunk_type()).collect();
    assert_eq!(types, [ChunkType::COOKIE_ECHO, ChunkType::SACK, ChunkType::DATA]);
}

#[test]
fn raw_bytes_are_taken_as_they_are() {
    let mut buffer = Vec::new();
    let mut writer = PacketWriter::new(&mut buffer, HEADER);
    writer.raw(&[0x7e, 0, 0, 5, 1]);
    writer.raw(&[5, 0, 0, 1]);
    assert_eq!(writer.finish(), 24);
    let found: Vec<_> = Packet::parse(&buffer).unwrap().chunks().collect();
    assert_eq!(found[0].unwrap().bytes, [0x7e, 0, 0, 5, 1]);
    let error = ChunkError::LengthTooSmall { chunk_type: ChunkType::HEARTBEAT_ACK, length: 1 };
    assert_eq!(found[1], Err(error));
}

#[test]
fn the_longest_chunks_are_written() {
    let mut buffer = Vec::new();
    let mut writer = PacketWriter::new(&mut buffer, HEADER);
    writer.cookie_echo(&vec![7; MAX_CHUNK_LEN - 4]);
    writer.heartbeat(&vec![7; MAX_CHUNK_LEN - 8]);
    writer.finish();
    let lengths: Vec<_> = Packet::parse(&buffer)
        .unwrap()
        .chunks()
        .map(|raw| Chunk::parse(raw.unwrap()).map(|_| raw.unwrap().bytes.len()))
        .collect();
    assert_eq!(lengths, [Ok(MAX_CHUNK_LEN), Ok(MAX_CHUNK_LEN)]);
}

/// A chunk that is too long stops a debug build and is left out of a release build; its length
/// never wraps.
#[test]
fn too_long_a_chunk_is_never_written() {
    for extra in [0, 1, 65_536, 131_072] {
        let written = std::panic::catch_unwind(|| {
            let mut buffer = Vec::new();
            let mut writer = PacketWriter::new(&mut buffer, HEADER);
            writer.heartbeat(&vec![7; MAX_CHUNK_LEN - 7 + extra]);
            writer.cookie_echo(&vec![7; MAX_CHUNK_LEN - 3 + extra]);
            writer.finish()
        });
        if cfg!(debug_assertions) {
            assert!(written.is_err());
        } else {
            assert_eq!(written.ok(), Some(COMMON_HEADER_LEN));
        }
    }
}
