//! What a capture of TCP says: which end it was taken near, what is in flight, which retransmissions were
//! unnecessary.

use std::io::Cursor;

use tresse_trace::capture::Capture;
use tresse_trace::{Event, Head, Observer, Options, Proof, Side, Summary, Trace};

const SYN: u8 = 2;
const ACK: u8 = 16;

/// A pcap file of raw IP, put together packet by packet.
struct File(Vec<u8>);

/// A segment. Sequence numbers of A begin at 1000, those of B at 5000.
#[derive(Clone, Copy)]
struct Segment<'a> {
    from: Side,
    flags: u8,
    sequence: u32,
    acknowledgement: u32,
    /// TSval and TSecr.
    times: (u32, u32),
    blocks: &'a [(u32, u32)],
    length: usize,
}

const A: Segment<'_> = Segment {
    from: Side::A,
    flags: ACK,
    sequence: 1001,
    acknowledgement: 5001,
    times: (0, 0),
    blocks: &[],
    length: 0,
};
const B: Segment<'_> = Segment { from: Side::B, sequence: 5001, acknowledgement: 1001, ..A };

impl File {
    fn new() -> File {
        let words = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 101];
        File(words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }

    fn push(&mut self, ms: u32, segment: Segment<'_>) {
        let mut options = vec![1, 1, 8, 10];
        options.extend(segment.times.0.to_be_bytes());
        options.extend(segment.times.1.to_be_bytes());
        if !segment.blocks.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * segment.blocks.len() as u8]);
            for (left, right) in segment.blocks {
                options.extend([left.to_be_bytes(), right.to_be_bytes()].concat());
            }
        }
        let mut tcp = if segment.from == Side::A { vec![0, 80, 1, 1] } else { vec![1, 1, 0, 80] };
        tcp.extend(segment.sequence.to_be_bytes());
        tcp.extend(segment.acknowledgement.to_be_bytes());
        tcp.extend([(5 + options.len() as u8 / 4) << 4, segment.flags, 16, 0, 0, 0, 0, 0]);
        tcp.extend(options);
        tcp.resize(tcp.len() + segment.length, 0);
        let length = tcp.len() + 20;
        for word in [ms / 1000, ms % 1000 * 1000, length as u32, length as u32] {
            self.0.extend(word.to_le_bytes());
        }
        let (from, to) = if segment.from == Side::A { (1, 2) } else { (2, 1) };
        self.0.extend([0x45, 0, 0, length as u8, 0, 0, 0, 0, 64, 6, 0, 0]);
        self.0.extend([10, 0, 0, from, 10, 0, 0, to]);
        self.0.extend(tcp);
    }

    /// Three-way handshake, seen at A.
    fn connected() -> File {
        let mut file = File::new();
        file.push(0, Segment { flags: SYN, sequence: 1000, acknowledgement: 0, ..A });
        file.push(100, Segment { flags: SYN | ACK, sequence: 5000, ..B });
        file.push(101, A);
        file
    }
}

#[derive(Default)]
struct Seen {
    spurious: Vec<(i64, Proof)>,
    flight: Vec<u64>,
    ended: Option<Summary>,
}

impl Observer for Seen {
    fn event(&mut self, _head: &Head, event: &Event<'_>) {
        match event {
            Event::Spurious { number, proof, .. } => self.spurious.push((*number, *proof)),
            Event::Sack { flight, .. } | Event::Data { flight, .. } => self.flight.push(*flight),
            _ => {}
        }
    }

    fn ends(&mut self, summary: &Summary) {
        self.ended = Some(summary.clone());
    }
}

fn trace(file: File) -> (Seen, Summary) {
    let mut seen = Seen::default();
    let mut trace = Trace::new(Options::default());
    trace.read(Capture::read("test", Cursor::new(file.0)).expect("a capture"), &mut seen);
    trace.finish(&mut seen);
    assert_eq!(trace.totals().skipped.iter().collect::<Vec<_>>(), []);
    let summary = seen.ended.take().expect("a connection");
    (seen, summary)
}

#[test]
fn timestamps_prove_spurious_retransmissions() {
    let mut file = File::connected();
    let data = Segment { length: 10, ..A };
    // The first acknowledgement is late: it echoes the first transmission.
    file.push(200, Segment { times: (200, 100), ..data });
    file.push(500, Segment { times: (500, 100), ..data });
    file.push(510, Segment { acknowledgement: 1011, times: (600, 200), ..B });
    // The second one answers what was sent again.
    let data = Segment { sequence: 1011, ..data };
    file.push(600, Segment { times: (600, 600), ..data });
    file.push(900, Segment { times: (900, 600), ..data });
    file.push(1000, Segment { acknowledgement: 1021, times: (990, 900), ..B });
    let (seen, summary) = trace(file);
    assert_eq!(seen.spurious, [(0, Proof::Timestamp)]);
    assert_eq!(summary.directions[0].retransmitted, 2);
    assert_eq!(summary.near, Some(Side::A));
}

#[test]
fn what_is_reported_is_not_in_flight_and_duplicates_are_proof() {
    let mut file = File::connected();
    for n in 0..4 {
        file.push(200 + n, Segment { sequence: 1001 + 10 * n, length: 10, times: (200, 0), ..A });
    }
    // The second one is missing, then it is not, then it is there twice.
    file.push(300, Segment { acknowledgement: 1011, blocks: &[(1021, 1041)], ..B });
    file.push(310, Segment { sequence: 1011, length: 10, times: (310, 0), ..A });
    file.push(320, Segment { acknowledgement: 1041, times: (0, 200), ..B });
    file.push(410, Segment { acknowledgement: 1041, blocks: &[(1011, 1021)], ..B });
    let (seen, summary) = trace(file);
    // Nothing after the handshake; then of 30 bytes, 20 are reported, and what is sent again is not in flight twice.
    assert_eq!(seen.flight, [0, 10, 20, 30, 40, 10, 10, 0, 0]);
    let proofs = [(10, Proof::Timestamp), (10, Proof::DuplicateReport)];
    assert_eq!(seen.spurious, proofs);
    assert_eq!(summary.directions[0].acknowledged_bytes, 40);
}
