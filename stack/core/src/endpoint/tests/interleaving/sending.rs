//! RFC 8260 §2.1, §2.2.2, §3: what leaves.

use super::*;
use crate::stats::PathStats;

const UNORDERED: SendOptions = SendOptions {
    ppid: Ppid(7),
    unordered: true,
    sack_immediately: false,
    lifetime: None,
    reliability: None,
    context: 0,
    key: None,
    destination: None,
};

//= RFC 8260 2.1-8 2.2.2-1 2.2.2-2 2.2.2-3 2.2.2-6
#[test]
fn fragments_are_numbered_and_interleaved() {
    let mut script = agreed(&config("round-robin"));
    script.say(0, 2 * FULL + 5, SendOptions::default());
    script.say(1, 10, SendOptions::default());
    script.say(2, FULL + 1, UNORDERED);
    script.say(2, 10, SendOptions::default());
    script.say(2, 10, UNORDERED);
    let mut lines = Vec::new();
    for acked in [3, 4, 6, 8] {
        let sent = script.poll();
        lines.extend(packets(&script, &sent));
        let more = script.sack(acked, &[]);
        lines.extend(packets(&script, &more));
    }
    let expected = [
        format!("0: 0/0/0 B {FULL}"),
        "1: 1/0/0 BE 10".into(),
        format!("2: 2/0/0 UB {FULL}"),
        format!("3: 0/0/1  {FULL}"),
        "4: 2/0/1 UE 1, 5: 0/0/2 E 5, 6: 2/0/0 BE 10, 7: 2/1/0 UBE 10".into(),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_first_fragment_has_the_ppid() {
    let mut script = agreed(&config("first-come-first-served"));
    script.say(0, FULL + 1, SendOptions { ppid: Ppid(99), ..SendOptions::default() });
    let sent = script.poll();
    let told: Vec<_> = sent.iter().flat_map(i_data).map(|d| (d.ppid.0, d.fsn.0)).collect();
    assert_eq!(told, [(99, 0), (0, 1)]);
}

/// RFC 8260 §2.2.2: congestion control and the receiver's window hold as for DATA.
//= RFC 8260 2.2.2-4
#[test]
fn windows_count_20_bytes_of_header() {
    let mut script = agreed(&config("round-robin"));
    let window = script.path(0).cwnd;
    script.say(0, 100 * FULL, SendOptions::default());
    let sent = script.poll();
    let PathStats { flight, .. } = script.path(0);
    assert_eq!(flight, sent.len() * PMDCS);
    assert!(flight >= window && flight < window + PMDCS);
    assert!(sent.iter().all(|packet| packet.bytes.len() == 12 + PMDCS));
    // The peer's window counts user data.
    let mut script = agreed(&config("round-robin"));
    script.say(0, 10, SendOptions::default());
    script.poll();
    script.sack_with(1, &[], 2000);
    script.say(0, 5 * FULL, SendOptions::default());
    assert_eq!(script.poll().len(), 1);
}

#[test]
fn what_is_lost_leaves_again_as_it_was() {
    let mut script = agreed(&config("round-robin"));
    script.say(0, 2 * FULL, SendOptions::default());
    script.say(1, 2 * FULL, SendOptions::default());
    script.poll();
    let sent = script.wait(secs(1));
    assert_eq!(packets(&script, &sent), [format!("0: 0/0/0 B {FULL}")]);
    let sent = script.sack(1, &[]);
    assert_eq!(
        packets(&script, &sent)[..2],
        [format!("1: 1/0/0 B {FULL}"), format!("2: 0/0/1 E {FULL}")]
    );
}

#[test]
fn what_failed_is_told_message_by_message() {
    let mut script = agreed(&config("round-robin"));
    script.say(0, 2 * FULL, SendOptions { context: 1, ..SendOptions::default() });
    script.say(1, 40 * FULL, SendOptions { context: 2, ..SendOptions::default() });
    script.say(2, 10, SendOptions { context: 3, ..SendOptions::default() });
    script.say(2, 11, SendOptions { context: 4, ..SendOptions::default() });
    let sent = script.poll();
    assert!(packets(&script, &sent).len() >= 3);
    // The message of stream 2 is there; the first fragment of stream 1 is, too.
    script.sack(3, &[]);
    script.end.abort(script.now, script.id, &[]).unwrap();
    script.poll();
    let failed = |event: &Event| match event {
        Event::SendFailed(f) => Some((f.context, f.sent, f.message.payload.len())),
        _ => None,
    };
    let failed: Vec<_> = script.events.iter().filter_map(failed).collect();
    // Of the first one what is not acknowledged; of the second one, which was leaving, all.
    assert_eq!(failed, [(1, true, FULL), (4, true, 11), (2, true, 40 * FULL)]);
}

/// RFC 8260 §3.4: "the sending of large, lower-priority user messages will not delay the sending of higher-priority user
/// messages".
#[test]
fn a_thin_stream_waits_for_one_packet_at_most() {
    for scheduler in [
        "priority",
        "round-robin",
        "round-robin-per-packet",
        "fair-capacity",
        "weighted-fair-queueing",
    ] {
        let mut script = agreed(&config(scheduler));
        script.end.set_stream_value(script.now, script.id, StreamId(0), 3).unwrap();
        script.say(0, 1 << 20, SendOptions::default());
        let mut acked = script.poll().iter().map(|p| i_data(p).len() as u32).sum::<u32>();
        for _ in 0..20 {
            script.say(1, 100, SendOptions::default());
            let sent = script.sack(acked, &[]);
            acked += sent.iter().map(|p| i_data(p).len() as u32).sum::<u32>();
            let thin = sent.iter().position(|p| i_data(p).iter().any(|d| d.stream == StreamId(1)));
            assert!(thin.is_some_and(|before| before <= 1), "{scheduler}: {thin:?}");
        }
    }
}

/// An association whose windows hold back nothing.
fn unlimited(mtu: usize) -> Script {
    let config = AssociationConfig {
        send_buffer: 64 << 20,
        max_message_size: 64 << 20,
        mtu,
        ..config("round-robin")
    };
    let mut script = agreed(&config);
    script.say(9, 1, UNORDERED);
    script.poll();
    script.sack_with(1, &[], u32::MAX);
    let path = &mut script.end.roll[script.id].paths_mut()[PathId(0)];
    path.window.control_mut().set_window(1 << 30, usize::MAX);
    script
}

impl Script {
    /// How many I-DATA chunks leave now.
    fn count_chunks(&mut self) -> usize {
        let (mut count, mut buffer) = (0, Vec::new());
        while self.end.poll_transmit(self.now, &mut buffer).is_some() {
            let packet = tresse_wire::Packet::parse(&buffer).unwrap();
            count += packet
                .chunks()
                .filter(|c| c.is_ok_and(|c| c.chunk_type == ChunkType::I_DATA))
                .count();
        }
        count
    }
}

//= RFC 8260 2.1-6 2.1-7 2.1-9
#[test]
fn numbers_in_flight_are_never_ambiguous() {
    // RFC 8260 §2.1 allows 2^31 - 1 messages or fragments; a SACK can name 65 535 chunks (RFC 9260 §3.3.4).
    for (options, most) in [(UNORDERED, 65_535), (SendOptions::default(), 32_767)] {
        let mut script = unlimited(1500);
        (0..70_000).for_each(|_| script.say(0, 1, options));
        assert_eq!(script.count_chunks(), most);
    }
    let mut script = unlimited(512);
    script.say(0, 70_000 * (512 - 20 - 12 - 20), SendOptions::default());
    assert_eq!(script.count_chunks(), 65_535);
}

/// What has left goes on when the handshake is gone through once more, as after calls that cross.
#[test]
fn an_agreement_that_is_repeated_begins_nothing_again() {
    let mut script = agreed(&config("round-robin"));
    script.say(0, 40 * FULL, UNORDERED);
    script.say(1, 40 * FULL, SendOptions::default());
    let sent = script.poll();
    assert_eq!(packets(&script, &sent).len(), 3);
    script.end.roll[script.id].agree_again();
    let sent = script.sack(2, &[]);
    let lines = packets(&script, &sent);
    assert!(lines[0].contains(": 1/0/1 ") && lines[1].contains(": 0/0/2 U "), "{lines:?}");
}
