//! Messages that are given up: the sender's half of PR-SCTP (RFC 3758 §3.5, §4.1; RFC 7496).

mod again;
mod farthest;
mod gaps;
mod room;

use tresse_wire::{Chunk, SkippedStream};

use super::*;
use crate::reliability::{AbandonPolicy, AbandonedMessages, Reliability};
use crate::{SendError, SendFailure};
use script::{FULL, PMDCS, RWND, peer_fields, write_sack};
use sent::{only, types};

/// `rfc9260` without Nagle's algorithm, that offers partial reliability.
pub(super) fn offering() -> AssociationConfig {
    AssociationConfig { extensions: Extensions::default(), ..standard() }
}

/// The same without Max.Burst.
fn unlimited() -> AssociationConfig {
    AssociationConfig { extensions: Extensions::default(), ..bursty() }
}

/// An association whose ends have agreed on it.
pub(super) fn agreed(config: &AssociationConfig) -> Script {
    let mut script = Script::connecting(config);
    agree(&mut script);
    script
}

fn agree(script: &mut Script) {
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").forward_tsn_supported();
    script.init_ack_with(&peer_fields(), &mut parameters);
    script.cookie_ack();
}

const fn policy(reliability: Reliability) -> SendOptions {
    SendOptions {
        ppid: Ppid(0),
        unordered: false,
        sack_immediately: false,
        lifetime: None,
        reliability: Some(reliability),
        context: 9,
        key: None,
        destination: None,
    }
}

const ONCE: SendOptions = policy(Reliability::Retransmissions(0));

fn timed(millis: u64) -> SendOptions {
    policy(Reliability::Timed(ms(millis)))
}

impl Script {
    /// The application sends a message on a stream, with a policy.
    fn send_on(&mut self, stream: u16, len: usize, options: SendOptions) -> Vec<Sent> {
        self.try_send(stream, len, options).unwrap();
        self.poll()
    }

    /// Lengths of the messages given up so far, and whether a part of each had been sent.
    fn given_up(&self) -> Vec<(usize, bool)> {
        let given_up = |event: &Event| match event {
            Event::Abandoned(SendFailure { message, context, sent, .. }) => {
                assert_eq!(*context, 9);
                Some((message.payload.len(), *sent))
            }
            _ => None,
        };
        self.events.iter().filter_map(given_up).collect()
    }

    /// The FORWARD TSN chunks in packets: their points as numbers of chunks, and their streams.
    fn forwards(&self, packets: &[Sent]) -> Vec<(u32, Vec<(u16, u16)>)> {
        let pair = |s: SkippedStream| (s.stream.0, s.ssn.0);
        let of = |chunk: Chunk<'_>| match chunk {
            Chunk::ForwardTsn(f) => {
                let point = f.new_cumulative_tsn.0.wrapping_sub(self.first.0);
                Some((point, f.skipped().map(pair).collect()))
            }
            _ => None,
        };
        packets.iter().flat_map(Sent::chunks).filter_map(of).collect()
    }

    fn abandoned(&self, stream: Option<u16>, policy: Option<AbandonPolicy>) -> (u64, u64) {
        let counts = self.end.abandoned(self.id, stream.map(StreamId), policy);
        let AbandonedMessages { unsent, sent } = counts.unwrap();
        (unsent, sent)
    }

    fn t3_runs(&self) -> bool {
        self.end.roll[self.id].paths().iter().any(|path| path.t3.is_running())
    }
}

/// cwnd grows to this many full packets at least; nothing is outstanding then, and chunks are numbered from 0 again.
fn grow(script: &mut Script, packets: usize) {
    let full = script.end.info(script.id).unwrap().fragmentation_point;
    let (mut sent, mut acked) = (0, 0);
    while acked < sent || script.path(0).cwnd < packets * full {
        for _ in 0..2 {
            script
                .try_send(0, full, SendOptions { unordered: true, ..Default::default() })
                .unwrap();
        }
        sent += 2;
        script.poll();
        acked += 1;
        script.sack(acked, &[]);
        if script.path(0).cwnd >= packets * full {
            while acked < sent {
                script.poll();
                acked += 1;
                script.sack(acked, &[]);
            }
        }
    }
    script.first = script.tsn(acked);
}

/// The peer acknowledges the first `count` chunks and what follows the next one, of which `behind` are in flight: three
/// SACKs, upon which that one is lost.
fn lose(script: &mut Script, count: u32, behind: u16) -> Vec<Sent> {
    let sacks = (2..2 + behind).map(|end| script.sack(count, &[(2, end)]));
    sacks.collect::<Vec<_>>().concat()
}

//= RFC 3758 3.3.2-4 3.3.2-5 3.3.2-6 3.3.3-1 3.3.3-2 3.3.3-3 4.1-1
#[test]
fn it_needs_both_ends() {
    for (ours, theirs) in [(true, true), (true, false), (false, true), (false, false)] {
        let extensions = if ours { Extensions::default() } else { Extensions::NONE };
        let config = AssociationConfig { extensions, ..standard() };
        let mut script = Script::listening(&config);
        script.id = script.end.connect(script.now, &addresses(Side::Z, 1), PORT, config).unwrap();
        let init = script.poll();
        let (fields, parameters) = init[0].init();
        (script.tag, script.first) = (fields.initiate_tag, fields.initial_tsn);
        let offered = parameters.contains(&tresse_wire::Parameter::ForwardTsnSupported);
        let listed = parameters.iter().any(|p| {
            matches!(p, tresse_wire::Parameter::SupportedExtensions(types) if types.contains(&192))
        });
        assert_eq!((offered, listed), (ours, ours));
        let mut parameters = ParameterWriter::new();
        parameters.state_cookie(b"cookie");
        if theirs {
            parameters.forward_tsn_supported();
        } else if ours {
            // The peer reports what it does not know.
            parameters.unrecognized(&[0xc0, 0, 0, 4]);
        }
        let echo = script.init_ack_with(&peer_fields(), &mut parameters);
        let reported = !only(&echo).cause_codes().is_empty();
        assert_eq!(reported, theirs && !ours, "what is switched off is unknown");
        script.cookie_ack();
        let both = ours && theirs;
        let info = script.end.info(script.id).unwrap();
        assert_eq!(info.extensions.partial_reliability, both);
        for len in [100, 101, 102, 103] {
            script.send_on(0, len, ONCE);
        }
        let sent = lose(&mut script, 0, 3);
        assert_eq!(script.given_up().len(), usize::from(both), "{ours} {theirs}");
        assert_eq!(script.forwards(&sent).len(), usize::from(both));
        assert_eq!(script.numbers(&sent).len(), usize::from(!both), "reliable then");
    }
}

//= RFC 3758 3.3.2-1 3.3.2-2
#[test]
fn an_init_is_answered_as_it_asks() {
    for (ours, offers) in [(true, true), (true, false), (false, true)] {
        let extensions = if ours { Extensions::default() } else { Extensions::NONE };
        let mut script = Script::listening(&AssociationConfig { extensions, ..standard() });
        let mut parameters = ParameterWriter::new();
        if offers {
            parameters.forward_tsn_supported();
        }
        let init = script::init_packet(&peer_fields(), &parameters.finish());
        let ack = script.give_bytes(init);
        let (_, parameters) = only(&ack).init();
        let is = |found: &dyn Fn(&tresse_wire::Parameter<'_>) -> bool| parameters.iter().any(found);
        assert_eq!(is(&|p| *p == tresse_wire::Parameter::ForwardTsnSupported), ours);
        let reported = is(&|p| {
            matches!(p, tresse_wire::Parameter::UnrecognizedParameter(raw)
                if raw.bytes == [0xc0, 0, 0, 4])
        });
        assert_eq!(reported, offers && !ours);
    }
}

/// RFC 5061 §4.2.7: "The sender MUST support both the sending and the receiving of any chunk types listed within the
/// Supported Extensions Parameter." Stacks for WebRTC offer it in this way alone.
#[test]
fn the_chunk_among_the_supported_extensions_is_an_offer() {
    for ours in [true, false] {
        let extensions = if ours { Extensions::default() } else { Extensions::NONE };
        let config = AssociationConfig { extensions, ..standard() };
        let mut listed = ParameterWriter::new();
        listed.supported_extensions(&[ChunkType::FORWARD_TSN.0]);
        let listed = listed.finish();

        let mut script = Script::listening(&config);
        let ack = script.give_bytes(script::init_packet(&peer_fields(), &listed));
        let (_, parameters) = only(&ack).init();
        let reported = parameters
            .iter()
            .any(|p| matches!(p, tresse_wire::Parameter::UnrecognizedParameter(_)));
        assert!(!reported, "there is no parameter to report");

        let mut script = Script::connecting(&config);
        let mut parameters = ParameterWriter::new();
        parameters.state_cookie(b"cookie").supported_extensions(&[ChunkType::FORWARD_TSN.0]);
        let echo = script.init_ack_with(&peer_fields(), &mut parameters);
        assert!(only(&echo).cause_codes().is_empty());
        script.cookie_ack();
        assert_eq!(script.end.info(script.id).unwrap().extensions.partial_reliability, ours);
    }
}

//= RFC 3758 3.3.1-1 3.3.2-3
#[test]
fn without_agreement_a_forward_tsn_is_an_error() {
    let mut script = Script::connected(&offering());
    script.data(10);
    let next = script.next;
    let sent = script.give(|w| w.forward_tsn(next, [].into_iter()));
    let (code, value) = only(&sent).causes().swap_remove(0);
    assert_eq!(code, CauseCode::UNRECOGNIZED_CHUNK_TYPE);
    assert_eq!(value[..4], [192, 0, 0, 8]);
    // And moves nothing.
    script.data(10);
    let sent = script.wait(ms(200));
    assert_eq!(sent.iter().find_map(Sent::sack).unwrap().cumulative_tsn_ack, next);
}

//= RFC 3758 3.2-1 3.4-1 3.5-1 3.5-4 3.5-5 3.5-6 3.5-7 3.5-9 3.5-10 3.5-13 3.5-17 3.5-18 4.3-2
//= RFC 7496 3.1-1 3.1-2 3-1
#[test]
fn what_may_be_sent_once_is_passed_over_when_it_is_lost() {
    let mut script = agreed(&offering());
    script.send_on(3, 100, ONCE);
    for _ in 0..3 {
        script.send_on(3, 200, policy(Reliability::Full));
    }
    let sent = lose(&mut script, 0, 3);
    // At once, without delay.
    assert_eq!(types(&sent), [[ChunkType::FORWARD_TSN]]);
    assert_eq!(script.forwards(&sent), [(0, vec![(3, 0)])]);
    assert_eq!(script.given_up(), [(100, true)]);
    assert_eq!(script.abandoned(None, None), (0, 1));
    assert_eq!(script.abandoned(Some(3), Some(AbandonPolicy::Retransmissions)), (0, 1));
    assert_eq!(script.abandoned(Some(3), Some(AbandonPolicy::Timed)), (0, 0));
    assert_eq!(script.abandoned(Some(2), None), (0, 0));
    // It is congestion all the same.
    assert_eq!(script.path(0).ssthresh, 4 * PMDCS);
    assert!(script.t3_runs());
    // The peer has moved on: all is over.
    assert_eq!(script.sack(4, &[]).len(), 0);
    assert_eq!((script.stats().send_buffered, script.path(0).flight), (0, 0));
    assert!(!script.t3_runs());
    let stats = script.stats();
    assert_eq!((stats.chunks_abandoned, stats.forward_tsns_sent), (1, 1));
    assert_eq!((stats.messages_abandoned_sent, stats.messages_abandoned_unsent), (1, 0));
}

//= RFC 7496 3.1-1
#[test]
fn retransmissions_of_all_kinds_are_counted() {
    let mut script = agreed(&offering());
    script.send_on(0, 100, policy(Reliability::Retransmissions(2)));
    for _ in 0..3 {
        script.send_on(0, 100, SendOptions::default());
    }
    // The first one is a fast retransmission, the second one T3-rtx brings.
    let sent = lose(&mut script, 0, 3);
    assert_eq!(script.numbers(&sent), [[0]]);
    let again = script.wait_for_data();
    assert_eq!(script.numbers(&again), [[0]]);
    let sent = script.wait(secs(10));
    assert_eq!(script.given_up(), [(100, true)]);
    assert_eq!(script.numbers(&sent).len(), 0);
    assert_eq!(script.forwards(&sent)[0], (0, vec![(0, 0)]));
}

//= RFC 3758 4.1-2 4.1-3 4.1-4 4.1-7
#[test]
fn what_waits_too_long_is_never_sent_and_takes_no_number() {
    let mut script = agreed(&offering());
    script.send(100);
    script.sack_with(1, &[], 0);
    script.send_on(0, 300, timed(100));
    script.send_on(0, 400, policy(Reliability::Full));
    script.wait(ms(99));
    assert_eq!(script.given_up(), []);
    let sent = script.wait(ms(1));
    assert_eq!((script.given_up(), sent.len()), (vec![(300, false)], 0));
    assert_eq!(script.abandoned(None, Some(AbandonPolicy::Timed)), (1, 0));
    let sent = script.sack_with(1, &[], 10_000);
    let data = only(&sent).data()[0];
    assert_eq!((data.payload.len(), data.tsn, data.ssn), (400, script.tsn(1), Ssn(1)));
}

//= RFC 3758 4.1-2 4.1-5 4.1-6
#[test]
fn what_is_lost_is_sent_again_while_its_time_lasts() {
    let mut script = agreed(&offering());
    script.send_on(0, 100, timed(500));
    for _ in 0..3 {
        script.send_on(0, 100, SendOptions::default());
    }
    let sent = lose(&mut script, 0, 3);
    assert_eq!((script.numbers(&sent), script.given_up()), (vec![vec![0]], vec![]));
    // It is in flight when its time is over, and may arrive.
    script.wait(ms(600));
    assert_eq!(script.given_up(), []);
    // T3-rtx: it would be sent again.
    let sent = script.wait(secs(2));
    assert_eq!(script.given_up(), [(100, true)]);
    assert_eq!((script.numbers(&sent).len(), script.forwards(&sent).len()), (0, 1));
}

//= RFC 3758 4.1-5 4.1-6
#[test]
fn what_is_lost_and_waits_is_given_up_in_time() {
    let mut script = agreed(&offering());
    for len in [100, 101] {
        script.send_on(0, len, timed(3500));
    }
    // T3-rtx declares both lost. Only one packet leaves again, and none of its copies arrives.
    script.wait(secs(3));
    for _ in 0..2 {
        script.try_send(0, FULL, timed(400)).unwrap();
    }
    let sent = script.wait(ms(490));
    assert_eq!(script.given_up(), [(FULL, false), (FULL, false)], "behind what is lost");
    let lost = script.numbers(&sent).concat();
    assert!(!lost.contains(&2), "{lost:?}");
}

//= RFC 3758 3.5-2 3.5-3 3.5-20
#[test]
fn a_message_is_given_up_as_a_whole_and_its_end_is_told() {
    let config = AssociationConfig { bundling: false, ..offering() };
    let mut script = agreed(&config);
    // cwnd has room for three or four of ten fragments.
    script.try_send(5, 10 * FULL, timed(100)).unwrap();
    let sent = script.poll();
    let count = script.numbers(&sent).len() as u32;
    assert!((3..9).contains(&count), "{count}");
    let (cwnd, flight) = (script.path(0).cwnd, script.path(0).flight);
    script.send_on(6, 100, SendOptions::default());
    let sent = script.wait(ms(100));
    // The whole message comes back, and its end has a number of its own: the peer may have all the rest.
    assert_eq!(script.given_up(), [(10 * FULL, true)]);
    assert_eq!(script.forwards(&sent), [(count, vec![(5, 0)])]);
    assert_eq!(script.stats().send_buffered, 100);
    // What is on the way still counts, as no SACK has said anything of it.
    assert_eq!((script.path(0).cwnd, script.path(0).flight), (cwnd, flight));
    assert!(script.numbers(&sent).concat().is_empty(), "no room in cwnd");
    // All of it arrives. That is no credit, and no round trip is measured.
    let measured = script.path(0).last_rtt;
    script.now += ms(50);
    let sent = script.sack(count + 1, &[]);
    assert_eq!(script.numbers(&sent), [[count + 1]]);
    assert_eq!((script.path(0).cwnd, script.path(0).last_rtt), (cwnd, measured));
    assert_eq!(script.stats().chunks_abandoned, u64::from(count));
}

//= RFC 3758 3.5-20
#[test]
fn what_is_lost_of_a_message_that_was_given_up_is_congestion() {
    let config = AssociationConfig { bundling: false, ..unlimited() };
    let mut script = agreed(&config);
    grow(&mut script, 12);
    script.try_send(5, 40 * FULL, timed(100)).unwrap();
    let count = script.poll().len() as u16;
    assert!(count > 8, "{count}");
    let (cwnd, ssthresh) = (script.path(0).cwnd, script.path(0).ssthresh);
    script.wait(ms(100));
    assert_eq!(script.given_up().len(), 1);
    // FORWARD TSN is lost; SACKs for the fragments show that the first one is, too.
    let again: Vec<Sent> = (2..=count).flat_map(|end| script.sack(0, &[(2, end)])).collect();
    assert!(script.numbers(&again).is_empty(), "nothing of it leaves again");
    let after = (script.path(0).cwnd, script.path(0).ssthresh);
    assert!(after.0 < cwnd && after.1 < ssthresh, "{after:?} {cwnd} {ssthresh}");
    assert_eq!(script.path(0).flight, 0);
}

//= RFC 3758 3.2-3 3.2-4 3.5-9 3.5-10 3.5-11
#[test]
fn each_stream_is_listed_once_and_unordered_ones_are_not() {
    let mut script = agreed(&AssociationConfig { bundling: false, ..offering() });
    let unordered = SendOptions { unordered: true, ..ONCE };
    for (stream, options) in [(1, ONCE), (2, ONCE), (7, unordered), (1, ONCE)] {
        script.try_send(stream, 50, options).unwrap();
    }
    script.poll();
    let sent = script.wait(secs(4));
    let all = (3, vec![(1, 1), (2, 0)]);
    assert_eq!(script.forwards(&sent)[0], all);
    assert_eq!(script.given_up().len(), 4);
}

//= RFC 3758 3.5-12
#[test]
fn what_does_not_fit_one_packet_waits() {
    let config = AssociationConfig { outbound_streams: 1000, mtu: 600, ..unlimited() };
    let mut script = Script::connecting(&config);
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").forward_tsn_supported();
    let fields = InitFields { inbound_streams: 1000, ..peer_fields() };
    script.init_ack_with(&fields, &mut parameters);
    script.cookie_ack();
    grow(&mut script, 20);
    for stream in 0..400 {
        script.try_send(stream, 10, ONCE).unwrap();
    }
    let sent = script.poll();
    let left = script.numbers(&sent).concat().len() as u32;
    assert!(left > 150, "{left}");
    let sent = script.wait(secs(4));
    let (point, streams) = script.forwards(&sent).swap_remove(0);
    // 568 bytes for chunks, of which 8 are the header.
    assert_eq!((point, streams.len()), (139, 140));
    let sent = script.sack(140, &[]);
    let (point, streams) = script.forwards(&sent).swap_remove(0);
    assert_eq!((point, streams.len()), ((left - 1).min(279), left.min(280) as usize - 140));
}

//= RFC 3758 3.5-7 3.5-13 3.5-14
#[test]
fn a_forward_tsn_is_sent_again_until_it_is_answered() {
    let mut script = agreed(&offering());
    script.send(100);
    script.now += ms(200);
    script.sack(1, &[]);
    script.first = script.tsn(1);
    script.send_on(0, 100, ONCE);
    for _ in 0..6 {
        script.send_on(0, 200, SendOptions::default());
    }
    let sent = lose(&mut script, 0, 3);
    assert_eq!(script.forwards(&sent).len(), 1);
    // SACKs within a round trip may have left before it arrived.
    let sent = script.sack(0, &[(2, 5)]);
    assert_eq!(script.forwards(&sent).len(), 0);
    script.now += script.path(0).srtt.unwrap_or(secs(1));
    let sent = script.sack(0, &[(2, 6)]);
    assert_eq!(script.forwards(&sent), [(0, vec![(0, 1)])]);
    script.sack(0, &[(2, 7)]);
    // Nobody says anything any more: T3-rtx, again and again, until the peer is given up.
    let sent = script.wait(secs(30));
    let times = script.forwards(&sent).len();
    assert!((2..6).contains(&times), "{times}");
    let sent = script.wait(secs(1000));
    assert!(script.forwards(&sent).len() < 12);
    assert_eq!(script.closed(), Some(&CloseReason::Unreachable));
    let failed = script.events.iter().filter(|e| matches!(e, Event::SendFailed(_))).count();
    assert_eq!((failed, script.given_up().len()), (6, 1), "each is reported once");
}

/// A peer that has nothing to acknowledge but what is passed over is there.
#[test]
fn what_is_passed_over_shows_that_the_peer_lives() {
    let mut script = agreed(&offering());
    let mut passed = 0;
    // All data is lost, and every FORWARD TSN arrives.
    for _ in 0..40 {
        script.send_on(0, 100, ONCE);
        let sent = script.wait(secs(70));
        for (point, _) in script.forwards(&sent) {
            passed = passed.max(point + 1);
        }
        script.sack(passed, &[]);
    }
    assert_eq!((passed, script.closed()), (40, None));
    assert_eq!((script.path(0).errors, script.path(0).state), (0, crate::PathState::Active));
}

//= RFC 3758 3.5-19
#[test]
fn a_late_sack_is_compared_with_what_was_acknowledged() {
    let mut script = agreed(&offering());
    for len in [100, 101, 102] {
        script.send_on(0, len, ONCE);
    }
    script.wait(secs(4));
    assert_eq!(script.given_up().len(), 3);
    // The Advanced.Peer.Ack.Point is 2. A SACK for the first one is no late one.
    let now = script.now;
    script.sack(1, &[]);
    assert_eq!((script.now, script.end.info(script.id).unwrap().unacknowledged_chunks), (now, 2));
    script.sack(3, &[]);
    let sacks = script.stats().sacks_received;
    script.sack_with(1, &[], 77);
    assert_eq!(script.stats().sacks_received, sacks + 1);
    assert_ne!(script.stats().peer_rwnd, 77, "this one came late");
}

/// An association with a peer that has two addresses and knows FORWARD TSN.
fn with_two_ways(config: &AssociationConfig) -> Script {
    let mut script = Script::connecting_to(config, &addresses(Side::Z, 2));
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").forward_tsn_supported();
    script::write_addresses(&mut parameters, &addresses(Side::Z, 2));
    script.init_ack_with(&peer_fields(), &mut parameters);
    script.cookie_ack();
    script
}

//= RFC 3758 3.5-8
#[test]
fn it_goes_another_way_when_nobody_answers() {
    let mut script = with_two_ways(&offering());
    script.send_on(0, 100, ONCE);
    let sent = script.wait(secs(20));
    let ways: Vec<IpAddr> = sent
        .iter()
        .filter(|p| p.carries(ChunkType::FORWARD_TSN))
        .map(|p| p.to.destination)
        .collect();
    assert!(addresses(Side::Z, 2).iter().all(|way| ways.contains(way)), "{ways:?}");
}

//= RFC 3758 3.5-15
#[test]
fn nothing_is_passed_over_that_is_reliable() {
    let mut script = agreed(&offering());
    for options in [SendOptions::default(), ONCE, SendOptions::default(), ONCE] {
        script.send_on(0, 100, options);
    }
    // All are lost; the first one holds up the rest.
    let sent = script.wait(secs(20));
    assert_eq!(script.forwards(&sent), []);
    assert_eq!(script.given_up().len(), 2);
    let sent = script.sack(1, &[]);
    assert_eq!(script.forwards(&sent), [(1, vec![(0, 1)])]);
}

#[test]
fn the_default_of_the_association_holds_for_who_says_nothing() {
    let reliability = Reliability::Retransmissions(0);
    let mut script = agreed(&AssociationConfig { reliability, ..offering() });
    script.send(100);
    script.try_send(0, 200, policy(Reliability::Full)).unwrap();
    script.poll();
    script.wait(secs(4));
    assert_eq!(script.stats().messages_abandoned_sent, 1);
}

#[test]
fn what_matters_less_makes_room() {
    let config = AssociationConfig { send_buffer: 5000, ..offering() };
    let mut script = agreed(&config);
    script.send(100);
    script.sack_with(1, &[], 0);
    let priority = |value| policy(Reliability::Priority(value));
    for (len, value) in [(1000, 3), (1001, 7), (1002, 7), (1003, 5)] {
        script.try_send(0, len, priority(value)).unwrap();
    }
    // No room, and nothing that matters less than 7.
    assert_eq!(script.try_send(0, 2000, priority(7)), Err(SendError::WouldBlock));
    assert_eq!(script.try_send(0, 4900, priority(4)), Err(SendError::WouldBlock));
    script.poll();
    assert_eq!(script.given_up(), [], "in vain nothing is given up");
    script.try_send(0, 2500, priority(6)).unwrap();
    script.poll();
    assert_eq!(script.given_up(), [(1001, false), (1002, false)], "the oldest of equal ones first");
    script.try_send(0, 4900, SendOptions::default()).unwrap();
    script.poll();
    assert_eq!(script.given_up()[2..], [(2500, false), (1003, false), (1000, false)]);
    assert_eq!(script.abandoned(None, Some(AbandonPolicy::Priority)), (5, 0));
}

#[test]
fn what_was_sent_makes_room_too() {
    let config = AssociationConfig { send_buffer: 4000, bundling: false, ..offering() };
    let mut script = agreed(&config);
    let priority = |value| policy(Reliability::Priority(value));
    for value in [1, 9, 8] {
        script.try_send(0, 1200, priority(value)).unwrap();
    }
    let sent = script.poll();
    assert_eq!(script.numbers(&sent).concat(), [0, 1, 2]);
    script.try_send(0, 2000, SendOptions::default()).unwrap();
    script.poll();
    assert_eq!(script.given_up(), [(1200, true), (1200, true)]);
    assert_eq!(script.stats().send_buffered, 3200);
    // The peer hears of it when what lies before is there.
    let sent = script.sack(1, &[]);
    assert_eq!(script.forwards(&sent), [(2, vec![(0, 2)])]);
}

//= RFC 9260 9.2-1
#[test]
fn a_shutdown_waits_until_the_peer_has_passed_over() {
    let mut script = agreed(&offering());
    script.send_on(0, 100, ONCE);
    script.shutdown();
    let sent = script.wait(ms(1500));
    assert_eq!(script.given_up().len(), 1);
    assert_eq!(script.forwards(&sent).len(), 1);
    assert_eq!(script.state(), State::ShutdownPending);
    let sent = script.sack(1, &[]);
    assert_eq!(types(&sent), [[ChunkType::SHUTDOWN]]);
}

#[test]
fn in_shutdown_received_a_repeated_shutdown_brings_it_out_again() {
    let mut script = agreed(&offering());
    script.send_on(0, 100, ONCE);
    let before = script.first.wrapping_sub(1);
    script.give(|w| w.shutdown(before));
    script.wait(ms(3100));
    assert_eq!(script.state(), State::ShutdownReceived);
    script.wait(ms(1100));
    let sent = script.give(|w| w.shutdown(before));
    assert_eq!(script.forwards(&sent).len(), 1);
    // Then the SHUTDOWN acknowledges it.
    let point = script.first;
    let sent = script.give(|w| w.shutdown(point));
    assert_eq!(types(&sent), [[ChunkType::SHUTDOWN_ACK]]);
}

/// The only chunk was given up while the window is closed, and the peer was told once; the TSN before it.
fn closed_behind_a_given_up_chunk() -> (Script, Tsn) {
    let mut script = agreed(&offering());
    script.send_on(0, 100, ONCE);
    let none = script.tsn(0).wrapping_sub(1);
    script.give(|w| write_sack(w, none, &[], 0));
    let sent = script.wait(ms(1500));
    assert_eq!(script.forwards(&sent).len(), 1);
    (script, none)
}

#[test]
fn a_closed_window_does_not_keep_it() {
    let (mut script, _) = closed_behind_a_given_up_chunk();
    script.sack_with(1, &[], RWND);
    let sent = script.send(200);
    assert_eq!(script.numbers(&sent), [[1]]);
}

#[test]
fn what_was_lost_with_a_cookie_echo_is_passed_over_later() {
    let mut script = Script::connecting(&offering());
    script.try_send(0, 100, ONCE).unwrap();
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").forward_tsn_supported();
    let sent = script.init_ack_with(&peer_fields(), &mut parameters);
    assert_eq!(types(&sent), [[ChunkType::COOKIE_ECHO, ChunkType::DATA]]);
    let sent = script.wait(secs(2));
    assert_eq!(types(&sent), [[ChunkType::COOKIE_ECHO]]);
    assert_eq!(script.given_up().len(), 1);
    let sent = script.cookie_ack();
    assert_eq!(script.forwards(&sent), [(0, vec![(0, 0)])]);
}

#[test]
fn memory_is_given_back() {
    let mut script = agreed(&AssociationConfig { send_buffer: 1 << 20, ..offering() });
    for _ in 0..200 {
        script.try_send(0, 4000, policy(Reliability::Timed(ms(5000)))).unwrap();
    }
    let full = script.stats().memory;
    script.wait(secs(6));
    // Nobody has polled the events, which hold the messages.
    script.events.clear();
    let left = script.stats();
    assert_eq!(left.send_buffered, 0);
    assert!(left.memory < full / 4, "{} {full}", left.memory);
}
