//! What a capture of a busy server costs: memory for the associations that live or have just ended,
//! and not much for each.

use std::io::{self, Read};

use tresse_trace::capture::Capture;
use tresse_trace::{Options, Trace};
use tresse_wire::{
    CommonHeader, DataFlags, InitFields, PacketWriter, Ppid, Ssn, StreamId, Tsn, VerificationTag,
};

/// A capture as it comes from a pipe: short associations, one after the other.
struct Short {
    /// So many are still to come.
    left: u32,
    /// From the begin of one to the begin of the next.
    interval_us: u64,
    now_us: u64,
    ready: Vec<u8>,
    read: usize,
}

impl Short {
    fn new(count: u32, interval_us: u64) -> Short {
        // pcap, version 2.4, microseconds, raw IP.
        let head = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101];
        let ready = head.iter().flat_map(|word| word.to_le_bytes()).collect();
        Short { left: count, interval_us, now_us: 1_700_000_000_000_000, ready, read: 0 }
    }

    fn packet(&mut self, from_a: bool, tag: u32, write: impl FnOnce(&mut PacketWriter<'_>)) {
        let header = CommonHeader {
            source_port: 5000,
            destination_port: 5000,
            verification_tag: VerificationTag(tag),
        };
        let mut packet = Vec::new();
        let mut writer = PacketWriter::new(&mut packet, header);
        write(&mut writer);
        let length = writer.finish() + 20;
        self.now_us += 10;
        let (seconds, micros) = (self.now_us / 1_000_000, self.now_us % 1_000_000);
        for word in [seconds as u32, micros as u32, length as u32, length as u32] {
            self.ready.extend(word.to_le_bytes());
        }
        let [high, low] = (length as u16).to_be_bytes();
        let (from, to) = if from_a { (1, 2) } else { (2, 1) };
        let ip = [0x45, 0, high, low, 0, 0, 0, 0, 64, 132, 0, 0, 10, 0, 0, from, 10, 0, 0, to];
        self.ready.extend(ip);
        self.ready.extend(packet);
    }

    /// Ten messages each way, one of them sent twice; then an ABORT.
    fn association(&mut self) {
        let begin = self.now_us;
        let [a, b] = [2 * self.left, 2 * self.left + 1];
        let fields = |tag| InitFields {
            initiate_tag: VerificationTag(tag),
            a_rwnd: 65_536,
            outbound_streams: 1,
            inbound_streams: 1,
            initial_tsn: Tsn(1),
        };
        self.packet(true, 0, |packet| packet.init(&fields(a), &[]));
        self.packet(false, a, |packet| packet.init_ack(&fields(b), &[]));
        for tsn in (1..=10).chain([10]) {
            for (from_a, to, back) in [(true, b, a), (false, a, b)] {
                let (stream, ssn) = (StreamId(0), Ssn(tsn as u16 - 1));
                self.packet(from_a, to, |packet| {
                    packet.data(Tsn(tsn), stream, ssn, Ppid(0), DataFlags::UNFRAGMENTED, &[0; 100]);
                });
                let acknowledged = Tsn(tsn.min(9));
                self.packet(!from_a, back, |packet| {
                    packet.sack(acknowledged, 65_536, [].into_iter(), [].into_iter());
                });
            }
        }
        self.packet(true, b, |packet| packet.abort(false, &[]));
        self.now_us = begin + self.interval_us;
    }
}

impl Read for Short {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.ready.len() && self.left > 0 {
            self.left -= 1;
            self.ready.clear();
            self.read = 0;
            self.association();
        }
        let length = buffer.len().min(self.ready.len() - self.read);
        buffer[..length].copy_from_slice(&self.ready[self.read..][..length]);
        self.read += length;
        Ok(length)
    }
}

/// The most bytes that were ever allocated at the same time.
fn peak(count: u32, interval_us: u64) -> u64 {
    let info = allocation_counter::measure(|| {
        let mut trace = Trace::new(Options::default());
        trace.read(
            Capture::read("test", Short::new(count, interval_us)).expect("a capture"),
            &mut (),
        );
        trace.finish(&mut ());
        let totals = trace.totals();
        assert_eq!((totals.associations, totals.sctp.data), (count.into(), 22 * u64::from(count)));
        assert_eq!(totals.sctp.retransmitted, 2 * u64::from(count));
    });
    info.bytes_max
}

#[test]
fn associations_cost_little_and_what_has_ended_is_forgotten() {
    let few = peak(500, 1000);
    let each = (peak(2500, 1000) - few) / 2000;
    assert!(each < 20_000, "{each} bytes for a short association");
    // 1000 s, in which an association lingers for 60 s, found every 10 s.
    let forgotten = peak(2500, 400_000);
    assert!(
        forgotten < few,
        "{forgotten} bytes for 2500 one after the other, {few} for 500 at once"
    );
}
