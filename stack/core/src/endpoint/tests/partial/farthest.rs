//! More is given up at once than a receiver passes over.

use super::*;

/// The reach of a Gap Ack Block, and of what a receiver takes.
const REACH: usize = 65_535;

/// As much as may be outstanding is lost in an outage, and one more TSN stands for the end of each message that has begun to leave:
/// the peer passes over all of it in two steps.
//= RFC 3758 3.5-9 3.5-10 3.5-12
#[test]
fn what_lies_farther_than_a_receiver_takes_follows() {
    for (interleaving, streams) in [(false, 1), (true, 10)] {
        let config = AssociationConfig {
            extensions: Extensions { partial_reliability: true, interleaving, ..Extensions::NONE },
            send_buffer: 16 << 20,
            receive_buffer: 16 << 20,
            max_segment: Some(64),
            no_delay: true,
            ..profile("rfc9260+stream-round-robin", "[limits]\nmax_burst = 0")
        };
        let (mut pair, a, z) = Pair::connected(&config, 1);
        let now = pair.now;
        let path = &mut pair.end(Side::A).roll[a].paths_mut()[PathId(0)];
        path.window.control_mut().set_window(1 << 30, usize::MAX);
        pair.drop = Box::new(|p| p.from == Side::A && p.carries(ChunkType::DATA));
        if interleaving {
            pair.drop = Box::new(|p| p.from == Side::A && p.carries(ChunkType::I_DATA));
        }
        for stream in 0..streams {
            let long = Bytes::from(vec![1; 64 * (REACH / usize::from(streams) + 2)]);
            pair.end(Side::A).send(now, a, StreamId(stream), long, timed(50)).unwrap();
        }
        pair.run(secs(2));
        pair.drop = Box::new(|_| false);
        assert_eq!(pair.end(Side::A).stats(a).unwrap().chunks_abandoned, REACH as u64);
        pair.send(Side::A, a, 2, b"reliable".to_vec());
        pair.run(secs(10));
        let read = pair.recv_all(Side::Z, z);
        assert_eq!(read.len(), 1, "{:?}", pair.end(Side::A).stats(a));
        let kind = if interleaving { ChunkType::I_FORWARD_TSN } else { ChunkType::FORWARD_TSN };
        let ends: Vec<Tsn> = pair.sent(Side::A, kind).iter().flat_map(|p| points(p)).collect();
        let first = ends[0];
        let rest: Vec<i32> =
            ends.iter().map(|end| end.distance(first)).filter(|d| *d > 0).collect();
        assert_eq!(rest, [i32::from(streams)]);
    }
}

/// How far FORWARD TSN chunks go.
fn points(sent: &Sent) -> Vec<Tsn> {
    let of = |chunk: Chunk<'_>| match chunk {
        Chunk::ForwardTsn(f) => Some(f.new_cumulative_tsn),
        Chunk::IForwardTsn(f) => Some(f.new_cumulative_tsn),
        _ => None,
    };
    sent.chunks().filter_map(of).collect()
}
