//! Captures that are written packet by packet.

use tresse_wire::{CommonHeader, InitFields, PacketWriter, Tsn, VerificationTag};

/// The head of a pcap file: version 2.4, microseconds, raw IP.
pub(crate) fn pcap_head() -> Vec<u8> {
    let head = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101];
    head.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Appends a packet that 10.0.0.`from` sent to 10.0.0.`to` at `micros`, from port 5000 to port 5000.
pub(crate) fn pcap_packet(
    file: &mut Vec<u8>,
    micros: u64,
    [from, to]: [u8; 2],
    tag: u32,
    write: impl FnOnce(&mut PacketWriter<'_>),
) {
    let header = CommonHeader {
        source_port: 5000,
        destination_port: 5000,
        verification_tag: VerificationTag(tag),
    };
    let mut packet = Vec::new();
    let mut writer = PacketWriter::new(&mut packet, header);
    write(&mut writer);
    let length = writer.finish() + 20;
    let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
    for word in [seconds as u32, rest as u32, length as u32, length as u32] {
        file.extend(word.to_le_bytes());
    }
    let [high, low] = (length as u16).to_be_bytes();
    file.extend([0x45, 0, high, low, 0, 0, 0, 0, 64, 132, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    file.extend(packet);
}

/// One stream each way, TSNs from 1.
pub(crate) fn init(tag: u32) -> InitFields {
    InitFields {
        initiate_tag: VerificationTag(tag),
        a_rwnd: 65_536,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn(1),
    }
}
