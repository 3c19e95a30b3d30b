//! Bytes that no honest peer sends.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tresse_wire::{ChunkType, ParameterType, checksum};

use crate::reemit::check_packet;
use crate::spec::{chunk, encode, header};

/// One way to damage a packet.
#[derive(Clone, Debug)]
enum Damage {
    Byte(Index, u8),
    Length(Index, u16),
    Truncate(Index),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let lengths = select(&[0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 20, 0x7fff, 0xfffc, 0xffff][..]);
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        (any::<Index>(), lengths).prop_map(|(at, length)| Damage::Length(at, length)),
        any::<Index>().prop_map(Damage::Truncate),
        (any::<Index>(), vec(any::<u8>(), 1..9)).prop_map(|(at, new)| Damage::Insert(at, new)),
        (any::<Index>(), 1..9_usize).prop_map(|(at, count)| Damage::Remove(at, count)),
        (any::<Index>(), 1..60_usize).prop_map(|(at, count)| Damage::Repeat(at, count)),
    ]
}

impl Damage {
    fn apply(&self, packet: &mut Vec<u8>) {
        if packet.len() < 4 {
            return;
        }
        match self {
            Self::Byte(at, byte) => {
                let at = at.index(packet.len());
                packet[at] = *byte;
            }
            Self::Length(at, length) => {
                // Length fields stand in the second half of a word.
                let at = at.index(packet.len() / 4) * 4 + 2;
                packet[at..at + 2].copy_from_slice(&length.to_be_bytes());
            }
            Self::Truncate(at) => packet.truncate(at.index(packet.len())),
            Self::Insert(at, new) => {
                let at = at.index(packet.len());
                packet.splice(at..at, new.iter().copied());
            }
            Self::Remove(at, count) => {
                let at = at.index(packet.len());
                packet.drain(at..packet.len().min(at + count));
            }
            Self::Repeat(at, count) => {
                let at = at.index(packet.len());
                packet.extend_from_within(at..packet.len().min(at + count));
            }
        }
    }
}

/// Writes the right checksum, as an attacker would.
fn sign(packet: &mut [u8]) {
    if let Some(crc) = checksum(packet) {
        packet[8..12].copy_from_slice(&crc.to_le_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1024) })]

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in vec(any::<u8>(), 0..600)) {
        check_packet(&bytes);
    }

    #[test]
    fn arbitrary_small_numbers_do_no_harm(bytes in vec(0..16_u8, 0..200)) {
        check_packet(&bytes);
    }

    #[test]
    fn damaged_packets_do_no_harm(
        header in header(),
        chunks in vec(chunk(), 1..4),
        damage in vec(damage(), 1..5),
        signed in any::<bool>(),
    ) {
        let mut bytes = encode(header, &chunks);
        for damage in damage {
            damage.apply(&mut bytes);
        }
        if signed {
            sign(&mut bytes);
        }
        check_packet(&bytes);
    }
}

/// Every length field of every chunk, parameter and cause takes every small and some large values.
#[test]
fn every_length_takes_every_value() {
    let chunk_kinds: BTreeSet<u8> =
        ChunkType::NAMED.iter().map(|kind| kind.0).chain(0..=15).chain([0xff]).collect();
    let parameters = ParameterType::NAMED.iter().map(|kind| kind.0);
    let inner_kinds: BTreeSet<u16> = parameters.chain(0..=14).chain([0x8fff, 0xcfff]).collect();
    for kind in chunk_kinds {
        for chunk_length in (0..=44).chain([0x7fff, 0xffff_u16]) {
            for inner_length in (0..=24).chain([0xffff_u16]) {
                for inner_kind in &inner_kinds {
                    let mut packet = vec![0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, kind, 0];
                    packet.extend_from_slice(&chunk_length.to_be_bytes());
                    // Behind the fixed fields of an INIT chunk and at the start of the value.
                    let inner = [inner_kind.to_be_bytes(), inner_length.to_be_bytes()].concat();
                    packet.extend_from_slice(&inner);
                    packet.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]);
                    packet.extend_from_slice(&inner);
                    packet.extend_from_slice(&[0, 0, 0, 1, 0, 8, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0]);
                    check_packet(&packet);
                }
            }
        }
    }
}
