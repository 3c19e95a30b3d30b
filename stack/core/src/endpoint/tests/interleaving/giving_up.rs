//! RFC 8260 §2.3.1: messages that are given up.

use super::*;
use crate::reliability::Reliability;

fn once(unordered: bool) -> SendOptions {
    let reliability = Some(Reliability::Retransmissions(0));
    SendOptions { reliability, unordered, ..SendOptions::default() }
}

/// A point, and streams with their U bits and MIDs.
type Forward = (u32, Vec<(u16, bool, u32)>);

/// I-FORWARD-TSN chunks in packets: their points as numbers of chunks, and what they list.
fn forwards(script: &Script, sent: &[Sent]) -> Vec<Forward> {
    let of = |chunk: Chunk<'_>| match chunk {
        Chunk::IForwardTsn(f) => {
            let skipped = f.skipped().map(|s| (s.stream.0, s.unordered, s.mid.0));
            Some((f.new_cumulative_tsn.0.wrapping_sub(script.first.0), skipped.collect()))
        }
        Chunk::ForwardTsn(_) => panic!("FORWARD TSN beside I-DATA"),
        _ => None,
    };
    sent.iter().flat_map(Sent::chunks).filter_map(of).collect()
}

//= RFC 8260 2-2 2.3.1-1 2.3.1-6 2.3.1-7
#[test]
fn i_forward_tsn_names_ordered_and_unordered_messages() {
    let mut script = agreed(&partial());
    script.say(0, 100, once(false));
    script.say(1, 100, once(true));
    script.say(0, 100, once(true));
    script.say(0, 100, once(false));
    script.poll();
    let sent = script.wait(secs(1));
    assert_eq!(forwards(&script, &sent), [(3, vec![(0, false, 1), (0, true, 0), (1, true, 0)])]);
    assert!(script.sack(4, &[]).is_empty());
    assert_eq!(script.stats().chunks_abandoned, 4);
    // MIDs go on.
    script.say(1, 100, once(true));
    let sent = script.poll();
    assert_eq!(packets(&script, &sent), ["4: 1/1/0 UBE 100"]);
    // With DATA it is the other chunk, of ordered messages alone.
    let mut without = partial();
    without.extensions.interleaving = false;
    let mut script = with_peer(&without, &[ChunkType::FORWARD_TSN]);
    script.say(0, 100, once(true));
    script.poll();
    let sent = script.wait(secs(1));
    let types: Vec<ChunkType> = sent.iter().flat_map(Sent::types).collect();
    assert!(types.contains(&ChunkType::FORWARD_TSN) && !types.contains(&ChunkType::I_FORWARD_TSN));
}

#[test]
fn a_message_between_others_is_given_up_whole_and_alone() {
    let mut script = agreed(&partial());
    script.say(0, 10 * FULL, once(false));
    script.say(1, 10 * FULL, SendOptions::default());
    let mut left = i_data_count(&script.poll());
    // The first fragment of the first message is lost: of that message nothing leaves any more, of the other one all does.
    for end in [2, 3] {
        left += i_data_count(&script.sack(0, &[(2, end)]));
    }
    let sent = script.sack(0, &[(2, 4)]);
    let lines = packets(&script, &sent);
    assert!(lines.iter().all(|line| line.contains(": 1/0/")), "{lines:?}");
    // It passes over the first chunk; the next one is that of the other message, which is there.
    assert_eq!(forwards(&script, &sent), [(0, vec![(0, false, 0)])]);
    let given_up = |event: &Event| matches!(event, Event::Abandoned(f) if f.message.payload.len() == 10 * FULL);
    assert_eq!(script.events.iter().filter(|event| given_up(event)).count(), 1);
    // One TSN more stands for the end of the message.
    let end = left;
    let (mut acked, mut of_other) = (end, Vec::new());
    left = end + 1 + lines.len() as u32;
    let mut points = Vec::new();
    for _ in 0..40 {
        let sent = script.sack(acked, &[]);
        points.extend(forwards(&script, &sent).into_iter().map(|(point, _)| point));
        of_other.extend(packets(&script, &sent));
        left += i_data_count(&sent);
        acked = left;
    }
    assert!(points.contains(&end), "{points:?}");
    assert!(of_other.iter().all(|line| line.contains(": 1/0/")), "{of_other:?}");
    assert!(of_other.last().is_some_and(|line| line.contains(" E ")), "{of_other:?}");
    assert_eq!(script.end.send_space(script.id), partial().send_buffer);
}

fn i_data_count(sent: &[Sent]) -> u32 {
    sent.iter().map(|packet| i_data(packet).len() as u32).sum()
}

/// Many small messages come and go while a large one leaves: what is kept of them does not grow.
#[test]
fn what_was_sent_beside_a_large_message_is_forgotten() {
    let mut config = partial();
    config.send_buffer = 8 << 20;
    let mut script = agreed(&config);
    let timed =
        SendOptions { reliability: Some(Reliability::Timed(secs(1000))), ..SendOptions::default() };
    script.say(0, 4 << 20, timed);
    let mut acked = 0;
    let mut memory = Vec::new();
    for _ in 0..1000 {
        script.say(1, 10, timed);
        let sent = script.poll();
        acked += sent.iter().map(|p| i_data(p).len() as u32).sum::<u32>();
        let more = script.sack(acked, &[]);
        acked += more.iter().map(|p| i_data(p).len() as u32).sum::<u32>();
        memory.push(script.end.roll[script.id].memory());
    }
    let unsent = |script: &Script| (8 << 20) - script.end.send_space(script.id);
    assert!(memory[999] < unsent(&script) + (1 << 20), "{} {}", memory[999], unsent(&script));
}

/// RFC 8260 §2.3.1, for the receiver.
#[test]
fn what_the_peer_gives_up_is_passed_over() {
    let mut script = agreed(&partial());
    script.fragment(1, 'B', 0, 0, 0);
    script.fragment(2, 'W', 0, 1, 0);
    script.fragment(3, 'B', 1, 0, 0);
    assert_eq!(script.read_numbers(), Vec::<Vec<u8>>::new());
    let sent = script.skip(0, &[(0, false, 0)]);
    assert_eq!(
        sent.iter().find_map(Sent::sack).unwrap().cumulative_tsn_ack,
        PEER_TSN.wrapping_add(3)
    );
    assert_eq!(script.read_numbers(), [[2]]);
    let stats = script.stats();
    assert_eq!((stats.forward_tsns_received, stats.chunks_passed_over), (1, 1));
    // What comes late of it is dropped, what comes of others is not.
    script.fragment(4, 'E', 0, 0, 1);
    script.fragment(5, 'E', 1, 0, 1);
    assert_eq!(script.read_numbers(), [[3, 5]]);
}

//= RFC 8260 2.3.1-8
#[test]
fn the_other_chunk_is_a_violation() {
    let forward = |script: &mut Script| script.give(|w| w.forward_tsn(PEER_TSN, [].into_iter()));
    let mut script = agreed(&partial());
    let sent = forward(&mut script);
    assert!(is_violation(&script, &sent));
    let mut script = agreed(&config("round-robin"));
    let sent = forward(&mut script);
    assert!(is_violation(&script, &sent));
    for (interleaving, partial_reliability) in [(true, false), (false, true), (false, false)] {
        let mut config = partial();
        config.extensions = Extensions { interleaving, partial_reliability, ..Extensions::NONE };
        let types = [ChunkType::I_DATA, ChunkType::I_FORWARD_TSN, ChunkType::FORWARD_TSN];
        let mut script = with_peer(&config, &types);
        let sent = script.skip(0, &[]);
        assert!(is_violation(&script, &sent));
    }
}
