//! What a capture of a busy server costs: memory for the associations that live or have just ended,
//! and not much for each.

mod common;

use std::io::{self, Read};

use tresse_trace::capture::Capture;
use tresse_trace::{Options, Trace};
use tresse_wire::{DataFlags, PacketWriter, Ppid, Ssn, StreamId, Tsn};

/// A capture as it comes from a pipe: short associations, one after the other.
struct Short {
    /// This many are still to come.
    left: u32,
    /// From the begin of one to the begin of the next.
    interval_us: u64,
    now_us: u64,
    ready: Vec<u8>,
    read: usize,
}

impl Short {
    fn new(count: u32, interval_us: u64) -> Short {
        let ready = common::pcap_head();
        Short { left: count, interval_us, now_us: 1_700_000_000_000_000, ready, read: 0 }
    }

    fn packet(&mut self, from_a: bool, tag: u32, write: impl FnOnce(&mut PacketWriter<'_>)) {
        self.now_us += 10;
        let ends = if from_a { [1, 2] } else { [2, 1] };
        common::pcap_packet(&mut self.ready, self.now_us, ends, tag, write);
    }

    /// Ten messages each way, one of them sent twice; then an ABORT.
    fn association(&mut self) {
        let begin = self.now_us;
        let [a, b] = [2 * self.left, 2 * self.left + 1];
        self.packet(true, 0, |packet| packet.init(&common::init(a), &[]));
        self.packet(false, a, |packet| packet.init_ack(&common::init(b), &[]));
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
