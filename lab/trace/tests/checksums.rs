//! Packets without a checksum (RFC 9653).

mod common;

use std::io::Cursor;

use tresse_trace::capture::Capture;
use tresse_trace::{Observer, Options, Summary, Trace};
use tresse_wire::{
    DataFlags, ErrorDetectionMethod, PacketWriter, ParameterWriter, Ppid, Ssn, StreamId, Tsn,
};

#[derive(Default)]
struct Ended(Vec<Summary>);

impl Observer for Ended {
    fn ends(&mut self, summary: &Summary) {
        self.0.push(summary.clone());
    }
}

/// A capture in which checksums are taken away.
struct Written(Vec<u8>);

impl Written {
    fn packet(
        &mut self,
        ms: u64,
        ends: [u8; 2],
        tag: u32,
        summed: bool,
        write: impl FnOnce(&mut PacketWriter<'_>),
    ) {
        /// Of a record in the file and of IPv4.
        const HEADERS: usize = 16 + 20;
        let sum = self.0.len() + HEADERS + 8;
        common::pcap_packet(&mut self.0, ms * 1000, ends, tag, write);
        if !summed {
            self.0[sum..sum + 4].fill(0);
        }
    }
}

/// Two chunks without a checksum go to whoever answers the INIT, and one with: how many are seen, and how many
/// packets have a wrong checksum. `None` is a capture that begins after the handshake.
fn seen(answer: Option<&[u8]>) -> (u64, u64) {
    let mut file = Written(common::pcap_head());
    if let Some(parameters) = answer {
        file.packet(0, [1, 2], 0, true, |w| w.init(&common::init(7), &[]));
        file.packet(10, [2, 1], 7, true, |w| w.init_ack(&common::init(8), parameters));
    }
    for (tsn, summed) in [(1, true), (2, false), (3, false)] {
        file.packet(20, [1, 2], 8, summed, |w| {
            let (tsn, ssn) = (Tsn(tsn), Ssn(tsn as u16));
            w.data(tsn, StreamId(0), ssn, Ppid(0), DataFlags::UNFRAGMENTED, &[0; 100]);
        });
    }
    // Such a packet always has one.
    file.packet(30, [1, 2], 8, false, |w| w.cookie_echo(b"cookie"));
    let mut ended = Ended::default();
    let mut trace = Trace::new(Options::default());
    trace.read(Capture::read("test", Cursor::new(file.0)).expect("a capture"), &mut ended);
    trace.finish(&mut ended);
    let totals = trace.totals();
    (totals.sctp.data, totals.skipped.count("SCTP packets with a wrong checksum"))
}

#[test]
fn a_checksum_of_zero_is_wrong_unless_it_was_offered() {
    let mut parameters = ParameterWriter::new();
    parameters.zero_checksum_acceptable(ErrorDetectionMethod::DTLS);
    assert_eq!(seen(Some(&parameters.finish())), (3, 1));
    assert_eq!(seen(Some(&[])), (1, 3));
    // Nobody knows.
    assert_eq!(seen(None), (3, 1));
}
