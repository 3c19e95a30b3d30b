//! Captures written again, for what is to be inferred from them with less.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use pcap_file::Endianness;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};

/// Writes a capture to `file`, with the numbers that its packets have or without, and something else long after it, so that
/// nothing may still be under way.
pub(crate) fn write(file: &Path, capture: &[u8], numbered: bool) {
    let mut reader = PcapNgReader::new(capture).expect("a capture");
    let mut writer = PcapNgWriter::with_endianness(Vec::new(), Endianness::Little).expect("memory");
    let mut last = None;
    while let Some(block) = reader.next_block() {
        let mut block = block.expect("a block").into_owned();
        if let Block::EnhancedPacket(packet) = &mut block {
            if !numbered {
                packet.options.clear();
            }
            last = Some(EnhancedPacketBlock {
                timestamp: packet.timestamp + Duration::from_secs(600),
                data: Cow::Borrowed(b"none"),
                options: Vec::new(),
                ..packet.clone()
            });
        }
        writer.write_block(&block).expect("memory");
    }
    writer.write_pcapng_block(last.expect("packets")).expect("memory");
    std::fs::write(file, writer.into_inner()).expect("a file");
}
