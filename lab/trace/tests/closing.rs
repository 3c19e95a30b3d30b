//! What the end of an association acknowledges.

mod common;

use std::io::Cursor;

use tresse_trace::capture::Capture;
use tresse_trace::{Observer, Options, Summary, Trace};
use tresse_wire::{DataFlags, PacketWriter, Ppid, Ssn, StreamId, Tsn};

#[derive(Default)]
struct Ended(Vec<Summary>);

impl Observer for Ended {
    fn ends(&mut self, summary: &Summary) {
        self.0.push(summary.clone());
    }
}

fn data(writer: &mut PacketWriter<'_>, tsn: u32) {
    writer.data(
        Tsn(tsn),
        StreamId(0),
        Ssn(tsn as u16),
        Ppid(0),
        DataFlags::UNFRAGMENTED,
        &[0; 100],
    );
}

/// Two messages of which a SACK acknowledges the first; then a SHUTDOWN with this TSN.
fn closed_with(cumulative: u32) -> Summary {
    let mut file = common::pcap_head();
    let mut packet = |ms: u64, ends: [u8; 2], tag: u32, write: &dyn Fn(&mut PacketWriter<'_>)| {
        common::pcap_packet(&mut file, ms * 1000, ends, tag, write);
    };
    packet(0, [1, 2], 0, &|w| w.init(&common::init(7), &[]));
    packet(10, [2, 1], 7, &|w| w.init_ack(&common::init(8), &[]));
    packet(20, [1, 2], 8, &|w| data(w, 1));
    packet(25, [1, 2], 8, &|w| data(w, 2));
    packet(30, [2, 1], 7, &|w| w.sack(Tsn(1), 65_536, [].into_iter(), [].into_iter()));
    packet(40, [2, 1], 7, &|w| w.shutdown(Tsn(cumulative)));
    packet(50, [1, 2], 8, &|w| w.shutdown_ack());
    packet(60, [2, 1], 7, &|w| w.shutdown_complete(false));
    let mut ended = Ended::default();
    let mut trace = Trace::new(Options::default());
    trace.read(Capture::read("test", Cursor::new(file)).expect("a capture"), &mut ended);
    trace.finish(&mut ended);
    ended.0.pop().expect("an association")
}

#[test]
fn shutdown_acknowledges_as_a_sack_does() {
    // RFC 9260 §3.3.8: the SACK of the last chunk may be lost, and SHUTDOWN has its TSN.
    let [there, _] = closed_with(2).directions;
    assert_eq!((there.acknowledged_bytes, there.outstanding), (200, 0));
    let [there, _] = closed_with(1).directions;
    assert_eq!((there.acknowledged_bytes, there.outstanding), (100, 1));
    // What was not sent is acknowledged by nobody.
    let [there, _] = closed_with(9).directions;
    assert_eq!((there.acknowledged_bytes, there.outstanding), (100, 1));
}
