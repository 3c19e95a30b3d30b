//! Tests of packet framing and checksum.

use super::*;
use crate::{Chunk, MAX_CHUNK_LEN, PacketWriter};

/// Ports 5000 → 9899, tag 0x2b5f09a3, one COOKIE ACK; Wireshark agrees with the checksum.
const COOKIE_ACK: [u8; 16] = [
    0x13, 0x88, 0x26, 0xab, 0x2b, 0x5f, 0x09, 0xa3, 0x8d, 0x82, 0xbf, 0xc6, 0x0b, 0x00, 0x00, 0x04,
];

/// CRC32c as RFC 9260 Appendix A defines it, one bit at a time.
fn crc32c_bitwise(bytes: impl Iterator<Item = u8>) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    !crc
}

/// The chunks of a packet whose body is `body`.
fn chunks(body: &[u8]) -> Vec<Result<RawChunk<'_>, ChunkError>> {
    Chunks::new(body).collect()
}

//= RFC 9260 6.8-1 6.8-2
#[test]
fn crc32c_has_its_check_value() {
    assert_eq!(crc32c_bitwise(b"123456789".iter().copied()), 0xe306_9283);
    assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
}

//= RFC 9260 6.8-1 6.8-2
//= RFC 6951 5.3-3
#[test]
fn checksum_skips_its_own_field() {
    for length in [12, 13, 16, 100, 1200] {
        let mut packet: Vec<u8> =
            (0..length).map(|i: u16| (i.wrapping_mul(37) >> 3) as u8).collect();
        let zeroed =
            packet.iter().enumerate().map(|(i, b)| if (8..12).contains(&i) { 0 } else { *b });
        let expected = crc32c_bitwise(zeroed);
        assert_eq!(checksum(&packet), Some(expected));
        write_checksum(&mut packet);
        assert_eq!(packet[8..12], expected.to_le_bytes());
    }
    assert_eq!(checksum(&[0; 11]), None);
}

//= RFC 9260 3-2
#[test]
fn a_packet_is_parsed_without_being_changed() {
    let packet = Packet::parse(&COOKIE_ACK).unwrap();
    let header = CommonHeader {
        source_port: 5000,
        destination_port: 9899,
        verification_tag: VerificationTag(0x2b5f_09a3),
    };
    assert_eq!(packet.header(), header);
    assert_eq!(Some(packet.received_checksum()), checksum(&COOKIE_ACK));
    let chunk = packet.chunks().next().unwrap().unwrap();
    assert_eq!(Chunk::parse(chunk), Ok(Chunk::CookieAck));
}

//= RFC 9260 6.8-3 6.8-4
#[test]
fn every_flipped_bit_is_noticed() {
    for bit in 0..COOKIE_ACK.len() * 8 {
        let mut damaged = COOKIE_ACK;
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(Packet::parse(&damaged), Err(PacketError::Checksum { .. })), "bit {bit}");
        assert!(Packet::parse_unverified(&damaged).is_ok());
    }
}

//= RFC 9260 3.1-1 3.1-2
#[test]
fn short_packets_and_zero_ports_are_refused() {
    for length in 0..COMMON_HEADER_LEN {
        let error = PacketError::TooShort { length };
        assert_eq!(Packet::parse(&COOKIE_ACK[..length]).unwrap_err(), error);
        assert_eq!(Packet::parse_unverified(&COOKIE_ACK[..length]).unwrap_err(), error);
    }
    for port in [0, 2] {
        let mut bytes = COOKIE_ACK;
        bytes[port..port + 2].fill(0);
        write_checksum(&mut bytes);
        assert_eq!(Packet::parse(&bytes).unwrap_err(), PacketError::ZeroPort);
        assert!(Packet::parse_unverified(&bytes).is_ok());
    }
}

//= RFC 9653 5.3-1 5.3-2
#[test]
fn a_checksum_of_zero_is_taken_where_it_may_be() {
    let mut bytes = COOKIE_ACK;
    bytes[8..12].fill(0);
    assert!(matches!(Packet::parse(&bytes), Err(PacketError::Checksum { received: 0, .. })));
    assert_eq!(Packet::parse_zero_checksum(&bytes).unwrap().chunks().count(), 1);
    // The right one is as good, any other one is not.
    assert!(Packet::parse_zero_checksum(&COOKIE_ACK).is_ok());
    bytes[8] = 1;
    let error = Packet::parse_zero_checksum(&bytes).unwrap_err();
    assert!(matches!(error, PacketError::Checksum { received: 1, .. }));
    bytes[8] = 0;
    bytes[..2].fill(0);
    assert_eq!(Packet::parse_zero_checksum(&bytes).unwrap_err(), PacketError::ZeroPort);
    let error = PacketError::TooShort { length: 11 };
    assert_eq!(Packet::parse_zero_checksum(&bytes[..11]).unwrap_err(), error);
}

#[test]
fn a_packet_without_checksum_gets_one_later() {
    let header =
        CommonHeader { source_port: 1, destination_port: 2, verification_tag: VerificationTag(3) };
    let (mut early, mut late) = (Vec::new(), Vec::new());
    let mut writer = PacketWriter::new(&mut early, header);
    writer.cookie_ack();
    assert_eq!(writer.finish(), 16);
    let mut writer = PacketWriter::new(&mut late, header);
    writer.cookie_ack();
    assert_eq!(writer.finish_without_checksum(), 16);
    assert_eq!(late[8..12], [0; 4]);
    write_checksum(&mut late);
    assert_eq!(late, early);
}

#[test]
fn a_packet_may_be_empty() {
    let header =
        CommonHeader { source_port: 1, destination_port: 2, verification_tag: VerificationTag(3) };
    let mut buffer = Vec::new();
    assert_eq!(PacketWriter::new(&mut buffer, header).finish(), COMMON_HEADER_LEN);
    assert_eq!(Packet::parse(&buffer).unwrap().chunks().count(), 0);
}

#[test]
fn chunks_are_walked_over_their_padding() {
    let body = [0, 3, 0, 5, 9, 0xff, 0xff, 0xff, 11, 0, 0, 4, 0x7e, 1, 0, 6, 1, 2];
    let found: Vec<_> = chunks(&body).into_iter().map(Result::unwrap).collect();
    let [data, ack, unknown] = found[..] else { panic!("{found:?}") };
    assert_eq!((data.chunk_type, data.flags, data.value), (ChunkType::DATA, 3, &[9][..]));
    assert_eq!(data.bytes, [0, 3, 0, 5, 9]);
    assert_eq!((ack.chunk_type, ack.value), (ChunkType::COOKIE_ACK, &[][..]));
    assert_eq!((unknown.chunk_type, unknown.value), (ChunkType(0x7e), &[1, 2][..]));
    assert_eq!(Chunk::parse(unknown), Ok(Chunk::Unknown(unknown)));
}

#[test]
fn lengths_below_the_header_end_the_walk() {
    for length in 0..4 {
        let body = [11, 0, 0, 4, 5, 0, 0, length, 11, 0, 0, 4];
        let found = chunks(&body);
        assert_eq!(found.len(), 2);
        let error = ChunkError::LengthTooSmall {
            chunk_type: ChunkType::HEARTBEAT_ACK,
            length: u16::from(length),
        };
        assert_eq!(found[1], Err(error));
    }
}

#[test]
fn lengths_beyond_the_packet_end_the_walk() {
    for length in [9, 12, 255, 65_535] {
        let [high, low] = u16::to_be_bytes(length);
        let body = [5, 0, high, low, 11, 0, 0, 4];
        let error = ChunkError::LengthBeyondEnd {
            chunk_type: ChunkType::HEARTBEAT_ACK,
            length,
            available: 8,
        };
        assert_eq!(chunks(&body), [Err(error)]);
    }
}

#[test]
fn a_partial_header_ends_the_walk() {
    for rest in 1..4 {
        let mut body = vec![11, 0, 0, 4];
        body.extend_from_slice(&[11, 0, 0][..rest]);
        let found = chunks(&body);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1], Err(ChunkError::PartialHeader { available: rest }));
    }
}

#[test]
fn the_longest_chunk_is_read() {
    let mut body = vec![0x80, 0, 0xff, 0xff];
    body.resize(MAX_CHUNK_LEN, 0xee);
    let found = chunks(&body);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].unwrap().bytes.len(), MAX_CHUNK_LEN);
}

#[test]
fn errors_read_as_sentences() {
    let error =
        ChunkError::LengthBeyondEnd { chunk_type: ChunkType::SACK, length: 40, available: 16 };
    assert_eq!(error.to_string(), "SACK chunk: length 40, but 16 bytes are left");
    assert_eq!(PacketError::ZeroPort.to_string(), "port number 0");
}
